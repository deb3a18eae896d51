//! Memory for native code: one stretch of addresses for the whole process, reserved once.
//!
//! Functions call each other by distances of 31 bits, so all code of a kernel has to lie close
//! together, wherever else the process has its memory. Pages are writable while code is put into
//! them and executable afterwards, never both; and what belongs to a kernel is given back with it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::{ModuleError, ModuleResult};
use parking_lot::{Mutex, MutexGuard};

/// The arena's size in bytes. It takes addresses, and memory only for what is in use; half of the
/// distance that a call reaches, so that it may lie anywhere in itself.
const ADDRESSES: usize = 1 << 30;

/// The least that the arena takes where the process may have few addresses (`ulimit -v`).
const MIN_ADDRESSES: usize = 16 << 20;

/// One in so many of a process's addresses are for code.
const SHARE: usize = 16;

/// A kernel takes so many bytes at a time, or as many as one function needs: most kernels fit, and each
/// step costs a call of `mprotect` when it is taken and one when it is finished.
const STEP: usize = 32 << 10;

/// The addresses for code, of which those in `free` have no memory.
struct Arena {
    addresses: Range<usize>,
    page: usize,
    free: Mutex<AddressGaps>,
}

/// The free addresses of the arena: the length of each gap by where it begins. Gaps do not touch, for
/// those that would are joined.
struct AddressGaps {
    gaps: BTreeMap<usize, usize>,
}

impl Arena {
    /// The process's arena.
    fn get() -> io::Result<&'static Arena> {
        static ARENA: OnceLock<Result<Arena, i32>> = OnceLock::new();
        let arena = ARENA.get_or_init(|| {
            Arena::reserve().map_err(|error| error.raw_os_error().unwrap_or(libc::ENOMEM))
        });
        arena.as_ref().map_err(|&error| io::Error::from_raw_os_error(error))
    }

    fn reserve() -> io::Result<Arena> {
        // SAFETY: it asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).unwrap_or(4096);
        let mut bytes = ADDRESSES.min(ration() / SHARE).max(MIN_ADDRESSES);
        // Whole pages, and so are its halves.
        bytes = 1 << bytes.ilog2();
        loop {
            match map(None, bytes) {
                Ok(start) => {
                    let addresses = start..start + bytes;
                    let free = Mutex::new(AddressGaps { gaps: BTreeMap::from([(start, bytes)]) });
                    return Ok(Arena { addresses, page, free });
                }
                Err(error) if bytes == MIN_ADDRESSES => return Err(error),
                Err(_) => bytes /= 2,
            }
        }
    }

    /// Takes pages for so many bytes, which can be written.
    fn take(&self, bytes: usize) -> io::Result<Range<usize>> {
        let bytes = bytes.checked_next_multiple_of(self.page).ok_or(io::ErrorKind::OutOfMemory)?;
        let taken = self.free().take(bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        protect(&taken, libc::PROT_READ | libc::PROT_WRITE).inspect_err(|_| {
            self.free().give_back(taken.clone());
        })?;
        Ok(taken)
    }

    /// Takes pages back, and their memory.
    ///
    /// # Safety
    ///
    /// They came from [`Arena::take`], and nobody will read, write or run what is in them.
    unsafe fn give_back(&self, pages: Range<usize>) {
        debug_assert!(self.addresses.start <= pages.start && pages.end <= self.addresses.end);
        // Without new pages in their place the old ones stay taken, which harms nobody.
        if map(Some(pages.start), pages.len()).is_ok() {
            self.free().give_back(pages);
        }
    }

    fn free(&self) -> MutexGuard<'_, AddressGaps> {
        self.free.lock()
    }
}

impl AddressGaps {
    /// The first gap's beginning in which there is room for so many bytes.
    fn take(&mut self, bytes: usize) -> Option<Range<usize>> {
        let (&start, &length) = self.gaps.iter().find(|&(_, &length)| length >= bytes)?;
        self.gaps.remove(&start);
        if length > bytes {
            self.gaps.insert(start + bytes, length - bytes);
        }
        Some(start..start + bytes)
    }

    fn give_back(&mut self, range: Range<usize>) {
        let Range { mut start, mut end } = range;
        if let Some((&before, &length)) = self.gaps.range(..start).next_back()
            && before + length == start
        {
            self.gaps.remove(&before);
            start = before;
        }
        if let Some(length) = self.gaps.remove(&end) {
            end += length;
        }
        self.gaps.insert(start, end - start);
    }
}

/// The number of addresses that the process may have.
fn ration() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: it writes to the limit, which is a local variable.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    if told { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { usize::MAX }
}

/// Reserves addresses without memory: anywhere, or in the place of what is mapped at an address.
fn map(at: Option<usize>, bytes: usize) -> io::Result<usize> {
    let fixed = at.map_or(0, |_| libc::MAP_FIXED);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    let place = ptr::without_provenance_mut(at.unwrap_or(0));
    // SAFETY: new addresses belong to nobody else, and given ones are pages of the arena that its
    // caller gives up (`Arena::give_back`).
    let start = unsafe { libc::mmap(place, bytes, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(start.expose_provenance())
}

fn protect(pages: &Range<usize>, protection: i32) -> io::Result<()> {
    let start = ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: they are pages of the arena that one kernel has taken, which no reference points to.
    match unsafe { libc::mprotect(start, pages.len(), protection) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A kernel's part of the arena.
pub(super) struct CodeMemory {
    arena: &'static Arena,
    chunks: Vec<CodePages>,
}

/// Pages for one kind of contents.
struct CodePages {
    pages: Range<usize>,
    /// The address for the next function.
    end: usize,
    executable: bool,
    /// Whether it can be run, or read, and no more be written.
    finished: bool,
}

impl CodeMemory {
    /// No memory yet.
    ///
    /// # Errors
    ///
    /// The process has no addresses left.
    pub(super) fn new() -> io::Result<CodeMemory> {
        Ok(CodeMemory { arena: Arena::get()?, chunks: Vec::new() })
    }

    /// Gives all pages back.
    ///
    /// # Safety
    ///
    /// Nobody will run or read what is in them.
    unsafe fn give_back(&mut self) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: nobody will run or read what is in them, as this function's caller promises, and
            // each chunk came from the arena and is given once.
            unsafe { self.arena.give_back(chunk.pages) };
        }
    }
}

impl JITMemoryProvider for CodeMemory {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let executable = match kind {
            JITMemoryKind::Executable => true,
            JITMemoryKind::ReadOnly => false,
            JITMemoryKind::Writable => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "kernels have no variables",
                ));
            }
        };
        let align = usize::try_from(align).map_err(|_| io::ErrorKind::InvalidInput)?;
        let place = |chunk: &CodePages| {
            let start = chunk.end.checked_next_multiple_of(align)?;
            (start.checked_add(size)? <= chunk.pages.end).then_some(start)
        };
        let open = self.chunks.last_mut();
        let open = open.filter(|chunk| chunk.executable == executable && !chunk.finished);
        if let Some((chunk, start)) = open.and_then(|chunk| place(chunk).map(|at| (chunk, at))) {
            chunk.end = start + size;
            return Ok(ptr::with_exposed_provenance_mut(start));
        }
        let pages = self.arena.take(size.max(STEP))?;
        let (start, end) = (pages.start, pages.start + size);
        debug_assert!(start.is_multiple_of(align), "no function asks for more than a page");
        self.chunks.push(CodePages { pages, end, executable, finished: false });
        Ok(ptr::with_exposed_provenance_mut(start))
    }

    unsafe fn free_memory(&mut self) {
        // SAFETY: none of the module's functions runs or will be called: `JITModule::free_memory` asks
        // that of its caller.
        unsafe { self.give_back() };
    }

    fn finalize(&mut self, _: BranchProtection) -> ModuleResult<()> {
        for chunk in self.chunks.iter_mut().filter(|chunk| !chunk.finished) {
            finish(chunk).map_err(|err| ModuleError::Allocation { err })?;
            chunk.finished = true;
        }
        let flushed = wasmtime_internal_jit_icache_coherence::pipeline_flush_mt();
        flushed.map_err(|err| ModuleError::Allocation { err })
    }
}

/// Makes what was written ready to run, or to be read.
fn finish(chunk: &CodePages) -> io::Result<()> {
    if !chunk.executable {
        return protect(&chunk.pages, libc::PROT_READ);
    }
    let start = ptr::with_exposed_provenance(chunk.pages.start);
    // SAFETY: the pages are mapped, and `finalize` flushes the pipeline before anybody runs them.
    unsafe { wasmtime_internal_jit_icache_coherence::clear_cache(start, chunk.pages.len()) }?;
    protect(&chunk.pages, libc::PROT_READ | libc::PROT_EXEC)
}

impl Drop for CodeMemory {
    /// Code that was never made ready goes; other code may be running, and stays until
    /// [`JITMemoryProvider::free_memory`].
    fn drop(&mut self) {
        if self.chunks.iter().all(|chunk| !chunk.finished) {
            // SAFETY: nobody was given the address of unfinished code.
            unsafe { self.give_back() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(memory: &mut CodeMemory, bytes: usize) -> usize {
        let place = memory.allocate(bytes, 16, JITMemoryKind::Executable).expect("there is room");
        place.addr()
    }

    #[test]
    fn all_code_lies_within_the_reach_of_a_call() {
        let mut memories = [(); 2].map(|()| CodeMemory::new().expect("addresses"));
        for memory in &mut memories {
            for bytes in [1, 100, STEP - 100, STEP, 5 * STEP + 1, 3, 1 << 20] {
                let start = executable(memory, bytes);
                assert_eq!(start % 16, 0);
                let arena = &memory.arena.addresses;
                assert!(
                    arena.start <= start && start + bytes <= arena.end && arena.len() < 1 << 31
                );
            }
        }
    }

    #[test]
    fn functions_of_one_kernel_share_pages_and_those_of_two_do_not() {
        let [mut one, mut other] = [(); 2].map(|()| CodeMemory::new().expect("addresses"));
        let page = one.arena.page;
        let [a, b] = [executable(&mut one, 20), executable(&mut one, 20)];
        assert_eq!(b - a, 32);
        assert_ne!(executable(&mut other, 20) / page, a / page);
    }

    #[test]
    fn pages_are_writable_or_executable_but_never_both() {
        let access = |address: usize| {
            let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
            let line = maps.lines().find(|line| {
                let (start, end) = line.split(' ').next().unwrap_or("").split_once('-').unwrap();
                let [start, end] = [start, end].map(|at| usize::from_str_radix(at, 16).unwrap());
                (start..end).contains(&address)
            });
            line.map(|line| line.split(' ').nth(1).unwrap().to_owned())
        };
        let mut memory = CodeMemory::new().expect("addresses");
        let code = executable(&mut memory, 100);
        assert_eq!(access(code).as_deref(), Some("rw-p"));
        memory.finalize(BranchProtection::None).expect("it can be protected");
        assert_eq!(access(code).as_deref(), Some("r-xp"));
        // SAFETY: nothing was ever put there.
        unsafe { memory.free_memory() };
        // Another thread's kernel may have got the page since.
        assert_ne!(memory.arena.free().gaps.len(), 0);
    }

    #[test]
    fn gaps_that_touch_become_one() {
        let mut free = AddressGaps { gaps: BTreeMap::from([(0, 10)]) };
        let taken: Vec<_> = std::iter::from_fn(|| free.take(2)).collect();
        assert_eq!(taken, [0..2, 2..4, 4..6, 6..8, 8..10]);
        for index in [1, 4, 0, 3] {
            free.give_back(taken[index].clone());
        }
        assert_eq!(free.gaps, BTreeMap::from([(0, 4), (6, 4)]));
        assert_eq!(free.take(5), None);
        free.give_back(taken[2].clone());
        assert_eq!(free.take(10), Some(0..10));
    }
}
