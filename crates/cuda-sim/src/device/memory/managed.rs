//! What a program says of its managed memory: advice and prefetches, page by page.
//!
//! The host and all devices reach managed memory at the same addresses at any time, so nothing of
//! it changes what a program reads. It is kept to be asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use parking_lot::{Mutex, MutexGuard};

/// A processor near which memory can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Processor {
    Host,
    /// The host's NUMA node of that number.
    HostNode(i32),
    /// The device of that ordinal.
    Device(i32),
}

/// The advice that holds for a page (`cuMemAdvise`), and where it was last prefetched to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemoryAdvice {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Option<Processor>,
    pub(crate) accessed_by: BTreeSet<Processor>,
    pub(crate) prefetched: Option<Processor>,
}

/// The advice for an allocation.
#[derive(Debug)]
pub(crate) struct Managed {
    /// By offset: each holds up to the next, the last one to the end.
    pages: Mutex<BTreeMap<u64, MemoryAdvice>>,
    bytes: u64,
}

/// The size of the host's pages.
const PAGE: u64 = 4096;

impl Managed {
    pub(in crate::device) fn new(bytes: u64) -> Managed {
        let pages = Mutex::new(BTreeMap::from([(0, MemoryAdvice::default())]));
        Managed { pages, bytes: bytes.next_multiple_of(PAGE) }
    }

    /// Changes the advice for the pages that a range of offsets touches.
    pub(crate) fn advise(&self, range: Range<u64>, change: impl Fn(&mut MemoryAdvice)) {
        let start = range.start - range.start % PAGE;
        let end = range.end.next_multiple_of(PAGE).min(self.bytes);
        let mut pages = self.lock();
        for border in [start, end] {
            let Some((_, advice)) = pages.range(..=border).next_back() else { continue };
            let advice = advice.clone();
            if border < self.bytes {
                pages.insert(border, advice);
            }
        }
        pages.range_mut(start..end).for_each(|(_, advice)| change(advice));
        let mut last = None;
        pages.retain(|_, advice| {
            let is_new = last.as_ref() != Some(advice);
            last = Some(advice.clone());
            is_new
        });
    }

    /// The advice that all pages have in common which a range of offsets touches.
    pub(crate) fn common(&self, range: Range<u64>) -> MemoryAdvice {
        let pages = self.lock();
        let first = pages.range(..=range.start).next_back().map(|(_, advice)| advice.clone());
        let mut common = first.unwrap_or_default();
        for (_, advice) in pages.range(range) {
            common.read_mostly &= advice.read_mostly;
            common.preferred = common.preferred.filter(|_| common.preferred == advice.preferred);
            common.prefetched =
                common.prefetched.filter(|_| common.prefetched == advice.prefetched);
            common.accessed_by.retain(|processor| advice.accessed_by.contains(processor));
        }
        common
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, MemoryAdvice>> {
        self.pages.lock()
    }
}
