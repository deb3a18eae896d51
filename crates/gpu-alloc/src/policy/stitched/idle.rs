//! Since when pages are idle.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::StreamName;

/// The pages of an arena that were free at a tick and handed out to nobody since. There are none
/// where nobody makes ticks.
#[derive(Debug)]
pub(super) struct IdlePages<K>(BTreeMap<u64, IdlePage<K>>);

/// An idle page: since when it is, and the work that used it before.
#[derive(Debug)]
struct IdlePage<K> {
    since: Duration,
    /// The work before that tick that may have used it. Its free block knows of later work as well, by
    /// whoever held other parts of the free block since.
    uses: Arc<[(K, u64)]>,
}

impl<K> IdlePages<K> {
    /// Notes that pages are handed out, or other memory than before.
    #[inline]
    pub(super) fn forget(&mut self, pages: Range<u64>) {
        if !self.0.is_empty() {
            self.0.extract_if(pages, |_, _| true).for_each(drop);
        }
    }
}

impl<K: StreamName> IdlePages<K> {
    /// Notes that pages are free at a tick, after work that may have used them.
    pub(super) fn note(&mut self, pages: Range<u64>, now: Duration, uses: &Arc<[(K, u64)]>) {
        for page in pages {
            self.0.entry(page).or_insert_with(|| IdlePage { since: now, uses: Arc::clone(uses) });
        }
    }

    /// Whether a page was idle for as long as `idle`, and all work that may have used it before is
    /// over.
    pub(super) fn is_old(
        &self,
        page: u64,
        (now, idle): (Duration, Duration),
        is_over: impl Fn(&(K, u64)) -> bool,
    ) -> bool {
        self.0.get(&page).is_some_and(|page| {
            now.saturating_sub(page.since) >= idle && page.uses.iter().all(is_over)
        })
    }

    /// Forgets the uses on a stream, which are over.
    pub(super) fn forget_stream(&mut self, stream: K) {
        for page in self.0.values_mut() {
            if page.uses.iter().any(|(other, _)| *other == stream) {
                page.uses =
                    page.uses.iter().copied().filter(|(other, _)| *other != stream).collect();
            }
        }
    }
}

impl<K> Default for IdlePages<K> {
    fn default() -> Self {
        IdlePages(BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_old_when_it_was_idle_long_enough_and_its_uses_are_over() {
        let at = Duration::from_secs;
        let mut idle = IdlePages::<u8>::default();
        idle.note(3..5, at(10), &[(7, 1)].into());
        idle.note(4..6, at(20), &[(8, 1)].into());
        let is_old = |idle: &IdlePages<u8>, page| idle.is_old(page, (at(25), at(10)), |_| true);
        assert_eq!([3, 4, 5, 6].map(|page| is_old(&idle, page)), [true, true, false, false]);
        assert!(!idle.is_old(3, (at(25), at(10)), |(stream, _)| *stream != 7));
        idle.forget(4..9);
        assert_eq!([3, 4].map(|page| is_old(&idle, page)), [true, false]);
    }
}
