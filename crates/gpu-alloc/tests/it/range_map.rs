//! What a model knows of memory, by ranges of bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use proptest::prelude::*;

use crate::effort;

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
    pub(crate) fn remove(&mut self, name: N, bytes: &Range<u64>) -> Vec<V> {
        self.split(name, bytes);
        let removed = self.ranges.extract_if((name, bytes.start)..(name, bytes.end), |_, _| true);
        removed.map(|(_, (_, known))| known).collect()
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

/// Memory of the test, in bytes.
const BYTES: usize = 32;

proptest! {
    #![proptest_config(effort::cases(256))]

    #[test]
    fn ranges_are_known_as_their_bytes_are(
        steps in prop::collection::vec((0..2_u8, 0..BYTES, 1..BYTES, any::<bool>()), effort::steps(40)),
    ) {
        let mut map = RangeMap::new();
        let mut bytes = [[None; BYTES]; 2];
        for (number, (name, start, len, removes)) in steps.into_iter().enumerate() {
            let range = start..BYTES.min(start + len);
            let of_map = range.start as u64..range.end as u64;
            let known = &mut bytes[usize::from(name)][range];
            let mut expected: Vec<_> = known.iter().flatten().copied().collect();
            let mut within: Vec<(usize, u64)> = map.within(name, &of_map).collect();
            // What is known of a range is told once for all of its bytes.
            for all in [&mut expected, &mut within] {
                all.sort_unstable();
                all.dedup();
            }
            prop_assert_eq!(within, expected);
            if removes {
                map.remove(name, &of_map);
                known.fill(None);
                continue;
            }
            let change = |old: Option<(usize, u64)>| (number, old.map_or(0, |(_, times)| times + 1));
            map.update(name, &of_map, change);
            known.iter_mut().for_each(|byte| *byte = Some(change(*byte)));
        }
        for (name, bytes) in (0..).zip(bytes) {
            let mut found = [None; BYTES];
            for (_, range, known) in map.iter().filter(|(of, _, _)| *of == name) {
                found[range.start as usize..range.end as usize].fill(Some(known));
            }
            prop_assert_eq!(found, bytes);
        }
    }
}
