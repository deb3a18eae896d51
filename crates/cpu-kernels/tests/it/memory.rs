//! Memory between two pages that nobody may touch.

use std::ptr;

/// Bytes that end where a page ends which may be touched, so that a read beyond them ends the test.
pub(crate) struct Guarded {
    mapping: *mut u8,
    mapped: usize,
    start: *mut u8,
    length: usize,
}

impl Guarded {
    /// So many bytes, all of them 0.
    pub(crate) fn new(length: usize) -> Guarded {
        // SAFETY: it asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let usable = length.next_multiple_of(page);
        let mapped = usable + 2 * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, from wherever the system has some.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(mapping, libc::MAP_FAILED, "the system has memory");
        let mapping: *mut u8 = mapping.cast();
        // SAFETY: the pages are within the mapping.
        let start = unsafe {
            let pages = mapping.add(page);
            let changed = libc::mprotect(pages.cast(), usable, libc::PROT_READ | libc::PROT_WRITE);
            assert!(usable == 0 || changed == 0, "the system permits it");
            pages.add(usable - length)
        };
        Guarded { mapping, mapped, start, length }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: they are mapped, and were 0 or written since.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.mapping.cast(), self.mapped) };
    }
}
