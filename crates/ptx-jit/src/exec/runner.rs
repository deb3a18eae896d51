//! The Rust side of a running block: what the functions called by native code need.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::block::position;
use super::checker::{AccessContext, BlockChecker, Violation};
use super::fault::{Fault, FaultKind};
use super::launch::Launch;
use super::print;
use crate::abi::{
    AccessInfo, AccessKind, CheckLevel, FAULTED, KernelContext, ThreadEntry, ThreadRecord,
};
use crate::stack::Stack;
use crate::trap;

/// The most bytes of a text that a kernel hands over.
const MAX_TEXT_BYTES: u64 = 1 << 16;

/// The launch, the memory and the checker of a running block, for the functions that native code
/// calls.
pub(crate) struct Runner<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) interrupted: &'a AtomicBool,
    /// The stack that native code runs on.
    pub(super) stack: &'a Stack,
    /// The index of the running block; between blocks of the last one, and before all of the first.
    pub(super) block: Cell<u64>,
    /// The host addresses of the block's shared memory.
    pub(super) shared: Range<u64>,
    /// The host addresses of the kernel parameters.
    pub(super) parameters: Range<u64>,
    pub(super) fault: RefCell<Option<Fault>>,
    /// The checker of the block, in checked mode.
    pub(super) check: Option<RefCell<Box<dyn BlockChecker + 'a>>>,
}

impl<'a> Runner<'a> {
    /// The runner of a context.
    ///
    /// # Safety
    ///
    /// The context is one that [`ThreadBlock`](super::block::ThreadBlock) made, and the block is running.
    pub(crate) unsafe fn of<'c>(context: *const KernelContext) -> &'c Runner<'c> {
        // SAFETY: a block keeps its runner where its context says for as long as it lives.
        unsafe { &*(*context).runner.cast::<Runner<'c>>() }
    }

    /// The code for one thread at a time, which is about to be called.
    pub(super) fn threads_entry(
        &self,
        context: &mut KernelContext,
    ) -> Result<ThreadEntry, FaultKind> {
        let native = self.launch.kernel.threads();
        let native = native.map_err(|reason| FaultKind::NotCompiled(reason.to_owned()))?;
        if !self.stack.has_room(native.stack_use.all) {
            return Err(FaultKind::StackOverflow { local: self.local_bytes() });
        }
        let limit = self.stack.limit() + native.stack_use.largest_callee as u64;
        context.stack_limit = context.stack_limit.max(limit);
        Ok(native.entry())
    }

    /// Calls native code. Returns its status, or [`FAULTED`] if it made a wild access, which is
    /// then `thread`'s fault.
    ///
    /// # Safety
    /// The code is that of the launch's kernel, the arguments are the running block's, and so is the
    /// thread.
    pub(super) unsafe fn call<T>(
        &self,
        thread: *const ThreadRecord,
        code: unsafe extern "C" fn(*mut KernelContext, *mut T) -> u32,
        (context, place): (*mut KernelContext, *mut T),
    ) -> u32 {
        // SAFETY: native code has nothing to drop and holds no lock, nor do functions that it calls
        // where they touch memory of a device: `text` makes attempts of its own, and all others do
        // nothing else there.
        unsafe { self.stack.call(code, context, place) }.unwrap_or_else(|wild| {
            // SAFETY: the block's threads live as long as it does, and native code does not run.
            self.stop(unsafe { &*thread }, 0, FaultKind::Wild(wild));
            FAULTED
        })
    }

    /// Stops the launch. The first fault is kept.
    pub(crate) fn stop(&self, thread: &ThreadRecord, line: u32, kind: FaultKind) {
        let mut fault = self.fault.borrow_mut();
        if fault.is_none() {
            let kernel = self.launch.kernel.name.to_string();
            let block = position(self.block.get(), self.launch.grid);
            let thread = thread.index;
            *fault = Some(Fault { kernel, block, thread, line, kind });
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn local_bytes(&self) -> usize {
        self.launch.kernel.local_bytes
    }

    /// Checks an access in all ways that were asked for. `value` is what a small write writes.
    pub(crate) fn check_access(
        &self,
        thread: &ThreadRecord,
        address: u64,
        what: AccessInfo,
        value: Option<u64>,
        line: u32,
    ) -> Result<(), FaultKind> {
        let (bytes, access) = (what.bytes, what.access);
        // A power of two, by which a general division takes long.
        let aligned = address & (u64::from(bytes) - 1) == 0;
        let Some(check) = &self.check else {
            return if !aligned {
                Err(FaultKind::MisalignedAddress { address, bytes, access })
            } else if self.permits(thread, address, u64::from(bytes), access) {
                Ok(())
            } else {
                Err(FaultKind::IllegalAddress { address, bytes, access })
            };
        };
        let mut check = check.borrow_mut();
        let around = self.access_context(thread, line);
        let end = address.saturating_add(u64::from(bytes));
        let within = |range: &Range<u64>| range.contains(&address) && end <= range.end;
        let local = thread.local as u64;
        let checked = if !aligned {
            Err(check.refuse(Violation::Misaligned, address, what, &around))
        } else if within(&self.shared) {
            check.shared(address, self.shared.start, what, value, &around)
        } else if within(&(local..local + self.local_bytes() as u64)) {
            check.local(address - local..end - local, what, &around)
        } else if within(&self.parameters) {
            match access {
                AccessKind::Read => Ok(()),
                _ => Err(check.refuse(Violation::ReadOnly, address, what, &around)),
            }
        } else {
            check.global(address, what, value, &around)
        };
        checked.map_err(FaultKind::Refused)
    }

    /// The fault of an access that left shared, local or parameter memory, or is misaligned in it.
    pub(crate) fn denied(
        &self,
        thread: &ThreadRecord,
        address: u64,
        what: AccessInfo,
        line: u32,
    ) -> FaultKind {
        let (bytes, access) = (what.bytes, what.access);
        let aligned = address.is_multiple_of(u64::from(bytes));
        match (&self.check, aligned) {
            (Some(check), _) => {
                let violation =
                    if aligned { Violation::OutOfBounds } else { Violation::Misaligned };
                let around = self.access_context(thread, line);
                FaultKind::Refused(check.borrow().refuse(violation, address, what, &around))
            }
            (None, true) => FaultKind::IllegalAddress { address, bytes, access },
            (None, false) => FaultKind::MisalignedAddress { address, bytes, access },
        }
    }

    /// The thread that makes an access, and its line, for reports.
    pub(crate) fn access_context(&self, thread: &ThreadRecord, line: u32) -> AccessContext<'_> {
        AccessContext {
            kernel: &self.launch.kernel.name,
            linear: thread.linear,
            thread: thread.index,
            line,
            memory: self.launch.memory,
        }
    }

    /// Calls `change` with the block's checker, if there is one.
    pub(crate) fn with_check(&self, change: impl FnOnce(&mut dyn BlockChecker)) {
        if let Some(check) = &self.check {
            change(&mut **check.borrow_mut());
        }
    }

    /// Whether a generic address points into the block's shared memory.
    pub(crate) fn is_shared(&self, address: u64) -> bool {
        self.shared.contains(&address)
    }

    /// Whether a thread may make an access at a generic address that is not known to be in the
    /// device's window.
    pub(crate) fn permits(
        &self,
        thread: &ThreadRecord,
        address: u64,
        bytes: u64,
        access: AccessKind,
    ) -> bool {
        let within = |range: &Range<u64>| {
            range.start <= address && address <= range.end && bytes <= range.end - address
        };
        let local = thread.local as u64;
        within(&self.shared)
            || within(&(local..local + self.local_bytes() as u64))
            || access == AccessKind::Read && within(&self.parameters)
            || self.launch.memory.permits(address, bytes, access)
    }

    /// Allocates memory for a thread's `malloc`. Returns its address, or 0.
    pub(crate) fn allocate(&self, bytes: u64) -> u64 {
        self.launch.memory.heap_allocate(bytes).unwrap_or(0)
    }

    /// Frees memory that `malloc` gave; `false` if it gave none there.
    pub(crate) fn release(&self, address: u64) -> bool {
        self.launch.memory.heap_release(address)
    }

    /// Prints for a thread. Returns the number of arguments that were printed.
    pub(crate) fn print(
        &self,
        thread: &ThreadRecord,
        format: u64,
        arguments: u64,
    ) -> Result<i32, FaultKind> {
        let format = self.text(thread, format)?;
        let mut next = arguments;
        let (text, count) = print::format(&format, |argument| {
            let bytes = argument.bytes();
            let place = u64::next_multiple_of(next, bytes);
            next = place + bytes;
            let mut raw = [0; 8];
            for (index, byte) in raw[..bytes as usize].iter_mut().enumerate() {
                *byte = self.byte(thread, place + index as u64)?;
            }
            let value = u64::from_le_bytes(raw);
            match argument {
                print::ArgumentKind::Text => {
                    self.text(thread, value).map(print::ArgumentValue::Text)
                }
                _ => Ok(print::ArgumentValue::Bits(value)),
            }
        })?;
        self.launch.memory.print(&text);
        Ok(count)
    }

    /// Reads a text that ends in a NUL from a thread's memory.
    pub(crate) fn text(&self, thread: &ThreadRecord, address: u64) -> Result<String, FaultKind> {
        let mut bytes = Vec::new();
        for place in address..address.saturating_add(MAX_TEXT_BYTES) {
            match self.byte(thread, place)? {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn byte(&self, thread: &ThreadRecord, address: u64) -> Result<u8, FaultKind> {
        let in_window = self.launch.kernel.check == CheckLevel::Window
            && self.launch.memory.window().contains(&address);
        if !in_window && !self.permits(thread, address, 1, AccessKind::Read) {
            return Err(FaultKind::IllegalAddress { address, bytes: 1, access: AccessKind::Read });
        }
        // SAFETY: whoever permits an access vouches for the memory, or the attempt finds that there
        // is none; it does nothing else. Other threads may write it, so it is volatile.
        let read = unsafe { trap::attempt(|| std::ptr::read_volatile(address as *const u8)) };
        read.map_err(FaultKind::Wild)
    }
}
