//! Memory that ends where the process may not read on.

use std::ptr;

/// Bytes that end at the end of a page, before one that cannot be touched.
pub(crate) struct Guarded {
    map: *mut u8,
    size: usize,
    len: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    /// A copy of some bytes at the end of a page.
    pub(crate) fn new(bytes: &[u8]) -> Guarded {
        let size = bytes.len().next_multiple_of(PAGE).max(PAGE) + PAGE;
        // SAFETY: the mapping is new, at an address of the system's choice; its last page is made
        // inaccessible before anybody knows it.
        let map = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let map = libc::mmap(ptr::null_mut(), size, access, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(map.byte_add(size - PAGE), PAGE, libc::PROT_NONE), 0);
            map.cast::<u8>()
        };
        let guarded = Guarded { map, size, len: bytes.len() };
        // SAFETY: the mapping has room for the bytes before its last page.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), guarded.start(), bytes.len()) };
        guarded
    }

    /// The first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        // SAFETY: the bytes lie before the last page of the mapping.
        unsafe { self.map.add(self.size - PAGE - self.len) }
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: they are readable, and nobody writes them while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own.
        unsafe { libc::munmap(self.map.cast(), self.size) };
    }
}
