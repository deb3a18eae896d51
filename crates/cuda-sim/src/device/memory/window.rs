//! The address range of a device: reserved once, backed by memory where something is allocated.

use std::io;
use std::ops::Range;
use std::ptr;

use libc::{MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE};
use libc::{PROT_NONE, PROT_READ, PROT_WRITE};
use ptx_jit::trap;

use super::protection::Protection;

/// The unit in which memory is given to and taken from a window: the size of a huge page.
pub(in crate::device) const GRANULE: u64 = 2 << 20;

/// A range of addresses that nothing else in the process uses. Never given back: pointers into it
/// may be anywhere.
#[derive(Debug)]
pub(in crate::device) struct Window {
    range: Range<u64>,
}

impl Window {
    /// Reserves `bytes` of address space, which costs neither memory nor swap.
    ///
    /// # Errors
    /// The process may not have that much address space.
    pub(in crate::device) fn reserve(bytes: u64) -> io::Result<Window> {
        let length = usize::try_from(bytes + GRANULE).map_err(io::Error::other)?;
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing.
        let address = unsafe { libc::mmap(ptr::null_mut(), length, PROT_NONE, flags, -1, 0) };
        if address == MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = (address.expose_provenance() as u64).next_multiple_of(GRANULE);
        trap::watch(start..start + bytes);
        Ok(Window { range: start..start + bytes })
    }

    /// All addresses of the window.
    pub(in crate::device) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Backs a part of the window with memory, which reads as zero.
    ///
    /// # Errors
    /// The machine has no memory left.
    pub(in crate::device) fn commit(&self, part: Range<u64>) -> io::Result<()> {
        let (address, length) = self.place(&part);
        // SAFETY: the part lies in the window, which belongs to the driver, and is unused.
        if unsafe { libc::mprotect(address, length, PROT_READ | PROT_WRITE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if part.end - part.start > GRANULE {
            // Only a hint: without huge pages the first touches are slower.
            // SAFETY: the part lies in the window, and the advice changes no contents.
            let _ = unsafe { libc::madvise(address, length, MADV_HUGEPAGE) };
        }
        Ok(())
    }

    /// Sets what may be done with the memory of a part.
    ///
    /// # Errors
    /// The kernel may have no room for another mapping.
    pub(in crate::device) fn protect(
        &self,
        part: &Range<u64>,
        protection: Protection,
    ) -> io::Result<()> {
        let (address, length) = self.place(part);
        let pages = match protection {
            Protection::None => PROT_NONE,
            Protection::Read => PROT_READ,
            Protection::ReadWrite => PROT_READ | PROT_WRITE,
        };
        // SAFETY: the part lies in the window, where the driver alone decides what is there.
        let result = unsafe { libc::mprotect(address, length, pages) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Takes the memory of a part back; touching it is a fault from now on.
    pub(in crate::device) fn release(&self, part: Range<u64>) {
        let (address, length) = self.place(&part);
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
        // SAFETY: the part lies in the window, which belongs to the driver, and nothing uses it.
        let mapped = unsafe { libc::mmap(address, length, PROT_NONE, flags, -1, 0) };
        if mapped == MAP_FAILED {
            // The memory stays where it is, until it is committed again.
            tracing::warn!(error = %io::Error::last_os_error(), "device memory was not returned");
        }
    }

    fn place(&self, part: &Range<u64>) -> (*mut libc::c_void, usize) {
        debug_assert!(self.range.start <= part.start && part.end <= self.range.end);
        let length = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        (ptr::with_exposed_provenance_mut(part.start as usize), length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_memory_reads_as_zero_again_after_it_was_returned() {
        let window = Window::reserve(16 * GRANULE).expect("a small window");
        let start = window.range().start;
        assert_eq!(start % GRANULE, 0);
        let pointer: *mut u8 = ptr::with_exposed_provenance_mut(start as usize);
        for _ in 0..2 {
            window.commit(start..start + GRANULE).expect("one granule");
            // SAFETY: the granule is committed and belongs to this test.
            unsafe {
                assert_eq!(pointer.read(), 0);
                pointer.write(7);
            }
            window.release(start..start + GRANULE);
        }
    }
}
