//! What a model knows of memory, by ranges of bytes.

use std::collections::BTreeMap;
use std::ops::Range;

/// What is known of several pieces of memory, each with a name: the same for all bytes of a range.
pub(crate) struct RangeMap<N, V> {
    /// The end of each range and what is known of it, by where it begins.
    ranges: BTreeMap<(N, u64), (u64, V)>,
}

impl<N: Copy + Ord, V: Copy> RangeMap<N, V> {
    pub(crate) fn new() -> RangeMap<N, V> {
        RangeMap { ranges: BTreeMap::new() }
    }

    /// All ranges of which something is known, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (N, Range<u64>, V)> {
        self.ranges.iter().map(|(&(name, start), &(end, known))| (name, start..end, known))
    }

    /// What is known of parts of a range.
    pub(crate) fn within(&self, name: N, bytes: &Range<u64>) -> impl Iterator<Item = V> {
        let &Range { start, end } = bytes;
        let before = self.ranges.range(..(name, start)).next_back();
        let before = before.filter(move |((of, _), (to, _))| *of == name && *to > start);
        let inside = self.ranges.range((name, start)..(name, end));
        before.into_iter().chain(inside).map(|(_, (_, known))| *known)
    }

    /// Notes for each part of a range what `change` makes of what is known, or of nothing.
    pub(crate) fn update(
        &mut self,
        name: N,
        bytes: &Range<u64>,
        mut change: impl FnMut(Option<V>) -> V,
    ) {
        self.split(name, bytes);
        let mut at = bytes.start;
        while at < bytes.end {
            let next = self.ranges.range_mut((name, at)..(name, bytes.end)).next();
            match next {
                Some(((_, begin), (to, known))) if *begin == at => {
                    *known = change(Some(*known));
                    at = *to;
                }
                next => {
                    let to = next.map_or(bytes.end, |((_, begin), _)| *begin);
                    self.ranges.insert((name, at), (to, change(None)));
                    at = to;
                }
            }
        }
    }

    /// Forgets a range; what was known of parts of it.
    pub(crate) fn remove(&mut self, name: N, bytes: &Range<u64>) -> impl Iterator<Item = V> {
        self.split(name, bytes);
        let removed = self.ranges.extract_if((name, bytes.start)..(name, bytes.end), |_, _| true);
        removed.map(|(_, (_, known))| known)
    }

    /// Lets no range go over either end of another one.
    fn split(&mut self, name: N, bytes: &Range<u64>) {
        for at in [bytes.start, bytes.end] {
            let before = self.ranges.range_mut(..(name, at)).next_back();
            if let Some(((of, _), (to, known))) = before
                && *of == name
                && *to > at
            {
                let rest = (std::mem::replace(to, at), *known);
                self.ranges.insert((name, at), rest);
            }
        }
    }
}
