//! Vector clocks over streams.

use smallvec::SmallVec;

/// A vector clock: for each stream, by its number, how many of its operations are known to come
/// before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock {
    /// Pairs of stream and count, in ascending order of the streams' numbers.
    entries: SmallVec<[(u64, u64); 4]>,
}

impl VectorClock {
    /// The number of operations of a stream that come before.
    pub(crate) fn of(&self, stream: u64) -> u64 {
        let found = self.entries.binary_search_by_key(&stream, |&(stream, _)| stream);
        found.map_or(0, |place| self.entries[place].1)
    }

    /// Raises the count of a stream, if it is lower.
    pub(crate) fn raise(&mut self, stream: u64, count: u64) {
        match self.entries.binary_search_by_key(&stream, |&(stream, _)| stream) {
            Ok(place) => self.entries[place].1 = self.entries[place].1.max(count),
            Err(place) => self.entries.insert(place, (stream, count)),
        }
    }

    /// Adds what came before the other.
    pub(crate) fn join(&mut self, other: &VectorClock) {
        other.entries.iter().for_each(|&(stream, count)| self.raise(stream, count));
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(u64, u64) -> bool) {
        self.entries.retain(|&mut (stream, count)| keep(stream, count));
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.entries.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_knows_what_either_knew() {
        let (mut a, mut b) = (VectorClock::default(), VectorClock::default());
        a.raise(3, 7);
        a.raise(1, 2);
        b.raise(3, 5);
        b.raise(9, 1);
        a.join(&b);
        assert_eq!([1, 2, 3, 9].map(|stream| a.of(stream)), [2, 0, 7, 1]);
    }
}
