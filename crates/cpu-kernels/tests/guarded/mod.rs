//! Memory between two pages that nobody may touch, for all tests of kernels.

use std::cell::RefCell;
use std::ptr;

/// Bytes that end where a page ends which may be touched, so that a read beyond them ends the test.
pub(crate) struct Guarded {
    /// There until this is dropped.
    pages: Option<GuardedPages>,
    start: *mut u8,
    len: usize,
}

impl Guarded {
    /// A copy of some bytes.
    pub(crate) fn new(bytes: &[u8]) -> Guarded {
        let pages = GuardedPages::take(bytes.len().next_multiple_of(page()));
        // SAFETY: the bytes are the last ones of the pages.
        let start = unsafe { pages.start().add(pages.usable - bytes.len()) };
        let mut guarded = Guarded { pages: Some(pages), start, len: bytes.len() };
        guarded.bytes_mut().copy_from_slice(bytes);
        guarded
    }

    /// The first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: they are mapped and were written, and nobody writes them while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: they are mapped, any contents are bytes, and the borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(pages) = self.pages.take() {
            pages.give_back();
        }
    }
}

/// The bytes of a page.
fn page() -> usize {
    // SAFETY: it asks for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Pages that may be touched, between two that may not.
struct GuardedPages {
    map: *mut u8,
    /// The bytes that may be touched.
    usable: usize,
}

/// The pages that a thread keeps, so that not each operand of each case is mapped anew: with that tests
/// would spend half of their time.
const MAX_KEPT: usize = 16;

thread_local! {
    static KEPT: RefCell<Vec<GuardedPages>> = const { RefCell::new(Vec::new()) };
}

impl GuardedPages {
    /// Pages with so many bytes, which have any contents.
    fn take(usable: usize) -> GuardedPages {
        let kept = KEPT.with_borrow_mut(|kept| {
            let place = kept.iter().position(|pages| pages.usable == usable)?;
            Some(kept.remove(place))
        });
        kept.unwrap_or_else(|| GuardedPages::map(usable))
    }

    fn map(usable: usize) -> GuardedPages {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let size = usable + 2 * page();
        // SAFETY: new memory, from wherever the system has some.
        let map = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(map, libc::MAP_FAILED, "the system has memory");
        let pages = GuardedPages { map: map.cast(), usable };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the pages are within the mapping.
        let changed = unsafe { libc::mprotect(pages.start().cast(), usable, access) };
        assert!(usable == 0 || changed == 0, "the system permits it");
        pages
    }

    /// The first byte that may be touched.
    fn start(&self) -> *mut u8 {
        self.map.wrapping_add(page())
    }

    /// Keeps the pages for whoever takes such next; those that were kept for the longest time go.
    fn give_back(self) {
        // A thread that ends keeps nothing any more: the pages are dropped with the closure.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            kept.push(self);
            if kept.len() > MAX_KEPT {
                kept.remove(0);
            }
        });
    }
}

impl Drop for GuardedPages {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.map.cast(), self.usable + 2 * page()) };
    }
}
