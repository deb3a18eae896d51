//! Copies to shared memory that are not done before somebody has waited for them (`cp.async`).
//!
//! The software driver makes them at once. Until the thread waits for their group, or until the phase of
//! the mbarrier completes that they arrive at, nobody may touch what they write.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use ptx_jit::CopyGroup;

use super::initialized_bits::InitializedBits;

/// The copies of a running block that nobody has waited for.
pub(crate) struct AsyncCopies {
    /// The bytes of shared memory that they write.
    pending: InitializedBits,
    /// The copies of each thread that has made some.
    threads: HashMap<u32, ThreadCopies>,
    /// The copies that arrive at an mbarrier, by its place in shared memory.
    barriers: HashMap<u64, Vec<DoneCopy>>,
}

/// The copies of a thread: those that it has not committed, and its groups.
#[derive(Default)]
struct ThreadCopies {
    open: Vec<PendingCopy>,
    groups: VecDeque<Vec<PendingCopy>>,
}

/// A copy of a few bytes to shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingCopy {
    pub(crate) range: Range<u64>,
    /// The line of the instruction in the PTX text.
    pub(crate) line: u32,
}

/// A copy that has been waited for, with the thread that made it and its clock when it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoneCopy {
    pub(crate) copy: PendingCopy,
    pub(crate) thread: u32,
    pub(crate) clock: u32,
}

impl AsyncCopies {
    /// For blocks with so much shared memory.
    pub(crate) fn new(shared_bytes: usize) -> AsyncCopies {
        let pending = InitializedBits::new(shared_bytes);
        AsyncCopies { pending, threads: HashMap::new(), barriers: HashMap::new() }
    }

    /// Begins another block.
    pub(crate) fn clear(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        self.pending.clear();
        self.threads.clear();
        self.barriers.clear();
    }

    /// Whether a copy writes any byte of a range, which does not cross a multiple of 64.
    pub(crate) fn is_pending(&self, range: &Range<u64>) -> bool {
        !self.threads.is_empty() && self.pending.any(range)
    }

    /// A thread makes a copy.
    pub(crate) fn add(&mut self, thread: u32, copy: PendingCopy) {
        self.pending.set(&copy.range);
        self.threads.entry(thread).or_default().open.push(copy);
    }

    /// A thread commits its copies, or waits for them; those that are done now.
    pub(crate) fn step(&mut self, thread: u32, clock: u32, step: CopyGroup) -> Vec<DoneCopy> {
        let Some(copies) = self.threads.get_mut(&thread) else { return Vec::new() };
        let mut done = Vec::new();
        match step {
            CopyGroup::Commit => copies.groups.push_back(std::mem::take(&mut copies.open)),
            CopyGroup::Wait { pending } => {
                let waited = copies.groups.len().saturating_sub(pending as usize);
                let waited = copies.groups.drain(..waited).flatten();
                done.extend(waited.map(|copy| DoneCopy { copy, thread, clock }));
            }
        }
        self.finish(&done);
        done
    }

    /// The last copies of a thread, or all if it has no more, arrive at an mbarrier when they are done.
    pub(crate) fn arrive(&mut self, thread: u32, clock: u32, barrier: u64, last: usize) {
        let Some(copies) = self.threads.get_mut(&thread) else { return };
        let arriving: Vec<_> = match copies.open.len().checked_sub(last) {
            Some(first) => copies.open.drain(first..).collect(),
            None => copies.groups.drain(..).flatten().chain(copies.open.drain(..)).collect(),
        };
        let arriving = arriving.into_iter().map(|copy| DoneCopy { copy, thread, clock });
        self.barriers.entry(barrier).or_default().extend(arriving);
    }

    /// The phase of an mbarrier completes; the copies that have arrived there.
    pub(crate) fn complete(&mut self, barrier: u64) -> Vec<DoneCopy> {
        let done = self.barriers.remove(&barrier).unwrap_or_default();
        self.finish(&done);
        done
    }

    fn finish(&mut self, done: &[DoneCopy]) {
        for DoneCopy { copy, .. } in done {
            self.pending.unset(&copy.range);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(at: impl IntoIterator<Item = u64>) -> AsyncCopies {
        let mut copies = AsyncCopies::new(256);
        for start in at {
            copies.add(1, PendingCopy { range: start..start + 16, line: 3 });
            assert!(copies.step(1, 1, CopyGroup::Commit).is_empty());
        }
        copies
    }

    #[test]
    fn a_wait_is_for_the_oldest_groups() {
        let mut copies = copies([0, 16, 32]);
        assert_eq!(copies.step(1, 5, CopyGroup::Wait { pending: 1 }).len(), 2);
        assert!(!copies.is_pending(&(0..4)) && !copies.is_pending(&(16..32)));
        assert!(copies.is_pending(&(32..36)));
        assert_eq!(copies.step(1, 6, CopyGroup::Wait { pending: 0 })[0].clock, 6);
        assert!(!copies.is_pending(&(32..36)));
    }

    #[test]
    fn copies_that_were_not_committed_are_not_waited_for() {
        let mut copies = copies([0]);
        copies.add(1, PendingCopy { range: 16..32, line: 4 });
        assert_eq!(copies.step(1, 1, CopyGroup::Wait { pending: 0 }).len(), 1);
        assert!(copies.is_pending(&(16..20)));
    }

    #[test]
    fn copies_that_arrive_at_a_barrier_are_done_with_its_phase() {
        let mut copies = copies([0, 16]);
        copies.add(1, PendingCopy { range: 32..48, line: 4 });
        copies.arrive(1, 2, 128, 1);
        assert_eq!(copies.complete(64), []);
        assert_eq!(copies.complete(128).len(), 1);
        assert!(!copies.is_pending(&(32..36)) && copies.is_pending(&(16..20)));
        copies.arrive(1, 2, 128, usize::MAX);
        assert_eq!(copies.complete(128).len(), 2);
    }
}
