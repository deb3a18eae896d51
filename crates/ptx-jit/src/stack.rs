//! Stacks for kernels and for what translates them, whatever the stack of the calling thread is
//! like.

use std::cell::Cell;
use std::io;
use std::ptr;

use libc::{
    MAP_ANONYMOUS, MAP_FAILED, MAP_NORESERVE, MAP_PRIVATE, MAP_STACK, PROT_NONE, PROT_READ,
    PROT_WRITE, c_void,
};

use crate::trap::{self, NativeFunction, OwnSlot, Wild};

/// The size of a stack that needs no more. Pages that are never touched take no memory.
const USUAL: usize = 8 << 20;

/// So much of a stack is left to the functions of the runtime that kernels call, and to handlers of
/// signals.
const RESERVE: usize = 512 << 10;

/// Behind the end of each stack there is nothing: a multiple of all sizes that pages have.
const GUARD: usize = 64 << 10;

/// A stack on which one thread at a time calls native code. It goes back to its thread, which uses
/// it again.
pub(crate) struct Stack {
    memory: Option<StackMemory>,
    /// Whether something runs on it.
    busy: Cell<bool>,
    place: OwnSlot,
}

impl Stack {
    /// A stack with room for so many bytes of native code's frames.
    ///
    /// # Errors
    /// The machine has no memory for it.
    pub(crate) fn take(frames: usize) -> io::Result<Stack> {
        let bytes = frames.saturating_add(RESERVE).max(USUAL);
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        let memory = match spare.filter(|spare| spare.bytes >= bytes) {
            Some(spare) => spare,
            None => StackMemory::new(bytes)?,
        };
        Ok(Stack { memory: Some(memory), busy: Cell::new(false), place: OwnSlot::own() })
    }

    /// The lowest address that frames of native code may reach.
    pub(crate) fn limit(&self) -> u64 {
        self.memory.as_ref().map_or(u64::MAX, |memory| memory.low() as u64 + RESERVE as u64)
    }

    /// Calls native code, up to its end or to its first wild access: on this stack, or further down
    /// if that is in use.
    ///
    /// # Safety
    /// The code may be called with the arguments, and is as [`trap::attempt`] wants it.
    pub(crate) unsafe fn call<A, B>(
        &self,
        code: unsafe extern "C" fn(*mut A, *mut B) -> u32,
        first: *mut A,
        second: *mut B,
    ) -> Result<u32, Wild> {
        // SAFETY: pointers are passed in the same way whatever they point to.
        let code = unsafe {
            std::mem::transmute::<unsafe extern "C" fn(*mut A, *mut B) -> u32, NativeFunction>(code)
        };
        let is_inside = self.busy.replace(true);
        let top = if is_inside { ptr::null_mut() } else { self.top() };
        // SAFETY: the caller knows that the code takes the arguments and may be left. Nothing runs
        // on the stack yet, and the place is this thread's, for a stack is not `Send`.
        let result = unsafe { self.place.enter(code, [first.cast(), second.cast()], top) };
        self.busy.set(is_inside);
        result
    }

    /// Whether there is room for frames of so many bytes, behind those that are there.
    pub(crate) fn has_room(&self, frames: usize) -> bool {
        let end = if self.busy.get() { trap::stack_pointer() } else { self.top() as u64 };
        end.checked_sub(self.limit()).is_some_and(|left| frames as u64 <= left)
    }

    fn top(&self) -> *mut u8 {
        self.memory.as_ref().map_or(ptr::null_mut(), StackMemory::top)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // At the end of its thread, the stack goes too.
        let _ = SPARE.try_with(|spare| spare.set(self.memory.take()));
    }
}

/// Runs code with a stack that is large enough for the compiler.
///
/// # Errors
/// The machine has no memory for a stack.
pub fn with_room<R>(run: impl FnOnce() -> R) -> io::Result<R> {
    let stack = Stack::take(0)?;
    // SAFETY: the stack was just taken, so nothing runs on it.
    Ok(unsafe { trap::run_on(stack.top(), run) })
}

thread_local! {
    static SPARE: Cell<Option<StackMemory>> = const { Cell::new(None) };
}

/// A guard, and so many bytes behind it.
struct StackMemory {
    start: *mut c_void,
    bytes: usize,
}

impl StackMemory {
    fn new(bytes: usize) -> io::Result<StackMemory> {
        let bytes = bytes.next_multiple_of(GUARD);
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing.
        let start = unsafe { libc::mmap(ptr::null_mut(), GUARD + bytes, PROT_NONE, flags, -1, 0) };
        if start == MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = StackMemory { start, bytes };
        // SAFETY: it is inside the mapping above.
        let opened =
            unsafe { libc::mprotect(memory.low().cast(), bytes, PROT_READ | PROT_WRITE) } == 0;
        if opened { Ok(memory) } else { Err(io::Error::last_os_error()) }
    }

    fn low(&self) -> *mut u8 {
        self.start.cast::<u8>().wrapping_add(GUARD)
    }

    fn top(&self) -> *mut u8 {
        self.low().wrapping_add(self.bytes)
    }
}

impl Drop for StackMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is of these bytes, and nothing runs there any more.
        unsafe { libc::munmap(self.start, GUARD + self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_room_whatever_the_stack_of_its_thread() {
        fn descend(levels: u64) -> u64 {
            let page = std::hint::black_box([levels; 512]);
            if levels == 0 { 0 } else { descend(levels - 1) + page[7] }
        }
        let thread = std::thread::Builder::new().stack_size(128 << 10);
        let sum = thread.spawn(|| with_room(|| descend(1000)).expect("a stack"));
        assert_eq!(sum.expect("a thread").join().expect("no panic"), 1000 * 1001 / 2);
    }

    #[test]
    fn a_stack_that_is_in_use_is_not_handed_out_again() {
        let inner = with_room(|| with_room(trap::stack_pointer).expect("a second stack"));
        let outer = with_room(trap::stack_pointer).expect("a stack");
        assert!(inner.expect("a stack").abs_diff(outer) > 1 << 20);
    }

    #[test]
    fn frames_have_the_room_that_was_asked_for() {
        let (small, large) = (Stack::take(0).expect("a stack"), Stack::take(USUAL));
        let large = large.expect("a large stack");
        assert!(small.has_room(USUAL - RESERVE) && !small.has_room(USUAL));
        assert!(large.has_room(USUAL) && !large.has_room(3 * USUAL));
    }
}
