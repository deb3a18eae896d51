//! The last uses of memory that is free: on its own stream, where order protects whoever comes
//! next, and on others.

use smallvec::SmallVec;

use super::StreamName;

/// The last work on each stream that used a range of memory.
#[derive(Debug, Clone)]
pub(super) struct LastUses<K> {
    /// The last use on the stream that the memory belongs to; 0 if there was none.
    pub(super) own: u64,
    /// The last uses on other streams. Boxed, as there are nearly always none.
    others: Option<Box<Others<K>>>,
}

type Others<K> = SmallVec<[(K, u64); 4]>;

impl<K: StreamName> LastUses<K> {
    pub(super) const fn none() -> Self {
        LastUses { own: 0, others: None }
    }

    /// One on the memory's own stream, after which nobody need know of any before.
    #[inline]
    pub(super) const fn of_own(last: u64) -> Self {
        LastUses { own: last, others: None }
    }

    pub(super) fn others(&self) -> impl Iterator<Item = (K, u64)> {
        self.others.iter().flat_map(|others| others.iter().copied())
    }

    /// Whether there are any on other streams.
    #[inline]
    pub(super) fn has_others(&self) -> bool {
        self.others.is_some()
    }

    /// All of them, for memory that belongs to `own`.
    pub(super) fn all(&self, own: K) -> impl Iterator<Item = (K, u64)> {
        (self.own > 0).then_some((own, self.own)).into_iter().chain(self.others())
    }

    /// The last use on a stream; 0 if there was none.
    pub(super) fn on(&self, own: K, stream: K) -> u64 {
        if stream == own {
            return self.own;
        }
        self.others().find(|(other, _)| *other == stream).map_or(0, |(_, sequence)| sequence)
    }

    /// Adds a use on another stream.
    fn add_other(&mut self, stream: K, sequence: u64) {
        let others = self.others.get_or_insert_default();
        match others.iter_mut().find(|(other, _)| *other == stream) {
            Some((_, last)) => *last = sequence.max(*last),
            None => others.push((stream, sequence)),
        }
    }

    /// Adds a use on any stream.
    pub(super) fn add(&mut self, own: K, stream: K, sequence: u64) {
        if stream == own {
            self.own = self.own.max(sequence);
        } else {
            self.add_other(stream, sequence);
        }
    }

    /// Forgets those on a stream, which are over.
    pub(super) fn forget(&mut self, own: K, stream: K) {
        if stream == own {
            self.own = 0;
        }
        if let Some(others) = &mut self.others {
            others.retain(|(other, _)| *other != stream);
            if others.is_empty() {
                self.others = None;
            }
        }
    }

    /// Makes them those of memory that passes from one stream to another.
    pub(super) fn pass(&mut self, from: K, to: K) {
        let before = std::mem::replace(self, LastUses::none());
        self.join_from(to, &before, from);
    }

    /// Adds all uses of other memory of the same stream.
    pub(super) fn join(&mut self, other: &LastUses<K>) {
        self.own = self.own.max(other.own);
        other.others().for_each(|(stream, sequence)| self.add_other(stream, sequence));
    }

    /// Adds all uses of memory of `theirs` to those of memory of `ours`.
    pub(super) fn join_from(&mut self, ours: K, other: &LastUses<K>, theirs: K) {
        other.all(theirs).for_each(|(stream, sequence)| self.add(ours, stream, sequence));
    }

    /// Adds the uses that a holder on a stream made. Its work there came after all uses before it,
    /// so those need not be known any more if there was any.
    pub(super) fn renew(&mut self, own: K, holder: K, uses: &[(K, u64)]) {
        // The holder's first work waited for all uses before, so its last use follows them, too.
        if uses.iter().any(|(stream, _)| *stream == holder) {
            *self = LastUses::none();
        }
        uses.iter().for_each(|(stream, sequence)| self.add(own, *stream, *sequence));
    }
}
