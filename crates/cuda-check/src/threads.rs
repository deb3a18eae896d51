//! What the threads of a block know of each other: vector clocks, shared by threads that know the
//! same.
//!
//! Barriers of the block order those that take part, and so does `bar.warp.sync` ("guarantees
//! memory ordering among participating threads", PTX ISA). Shuffles, votes, matches and reductions
//! of a warp exchange values and order nothing: the manual promises no more. Lanes are not ordered
//! by being in a warp: since Volta each goes its own way.

use std::collections::HashMap;
use std::sync::Arc;

use super::known::{Acquired, Known};
use super::record::LAST_CLOCK;

/// The threads of a running block.
pub(crate) struct Threads {
    clocks: Vec<u32>,
    known: Vec<Arc<Known>>,
    /// The knowledge of each thread at its last fence, its own doings included.
    fenced: Vec<Option<Arc<Known>>>,
    barriers: [Option<BarrierArrivals>; 16],
    /// The mbarriers of the block, by their places in shared memory.
    phases: HashMap<u64, Phases>,
    /// Clocks up to here belong to blocks that ran before.
    base: u32,
    /// Each thread knows what all threads did up to this clock, so that most questions need no look at
    /// vector clocks.
    known_to_all: u32,
    is_fresh: bool,
}

/// The knowledge that an mbarrier hands on.
#[derive(Default)]
struct Phases {
    /// From the threads that have arrived in the current phase.
    arrivals: BarrierArrivals,
    /// From all of the phases that are complete.
    completed: BarrierArrivals,
}

/// The joined knowledge of the threads that have come to a barrier.
#[derive(Default)]
struct BarrierArrivals {
    known: Known,
    fenced: Option<Known>,
    /// The last two that came in: threads mostly know the same.
    last: Option<(Arc<Known>, Option<Arc<Known>>)>,
}

impl BarrierArrivals {
    fn join(&mut self, known: &Arc<Known>, fenced: Option<&Arc<Known>>) {
        let (same, same_fence) = match &self.last {
            None => (false, false),
            Some((last, fence)) => (
                Arc::ptr_eq(last, known),
                fenced.is_none()
                    || matches!((fence, fenced), (Some(a), Some(b)) if Arc::ptr_eq(a, b)),
            ),
        };
        if self.known.is_empty() {
            self.known = Known::clone(known);
        } else if !same {
            self.known.join(known);
        }
        if let Some(fenced) = fenced.filter(|_| !same_fence) {
            match &mut self.fenced {
                Some(own) => own.join(fenced),
                None => self.fenced = Some(Known::clone(fenced)),
            }
        }
        self.last = Some((Arc::clone(known), fenced.cloned()));
    }

    fn done(self) -> (Arc<Known>, Option<Arc<Known>>) {
        (Arc::new(self.known), self.fenced.map(Arc::new))
    }
}

impl Threads {
    pub(crate) fn new(count: usize) -> Threads {
        let known = Arc::new(Known::up_to(0, count));
        Threads {
            clocks: vec![1; count],
            known: vec![known; count],
            fenced: vec![None; count],
            barriers: Default::default(),
            phases: HashMap::new(),
            base: 0,
            known_to_all: 0,
            is_fresh: true,
        }
    }

    /// Begins another block. False if clocks begin anew too, so that whatever remembers some must
    /// forget them.
    pub(crate) fn start(&mut self, touched_shared: bool) -> bool {
        if self.is_fresh && !touched_shared {
            return true;
        }
        // Clocks go on from block to block, and each thread knows all of the block before: so the
        // records that it left in shared memory are ordered, and need not be cleared.
        let count = self.clocks.len();
        let last = self.clocks.iter().copied().max().unwrap_or(0);
        let goes_on = last < LAST_CLOCK / 2;
        self.base = if goes_on { last } else { 0 };
        self.known_to_all = self.base;
        let known = Arc::new(Known::up_to(self.base, count));
        self.clocks.fill(self.base + 1);
        self.known.fill(known);
        self.fenced.fill(None);
        self.barriers = Default::default();
        self.phases.clear();
        self.is_fresh = true;
        goes_on
    }

    /// The thread's clock. `None` where it has run out of clocks.
    pub(crate) fn clock(&self, thread: u32) -> Option<u32> {
        Some(self.clocks[thread as usize]).filter(|&clock| clock < LAST_CLOCK)
    }

    pub(crate) fn known(&self, thread: u32) -> &Arc<Known> {
        &self.known[thread as usize]
    }

    /// Whether a thread knows what another did up to a clock.
    pub(crate) fn knows(&self, thread: u32, other: u32, clock: u32) -> bool {
        clock <= self.known_to_all || self.known(thread).of(other) >= clock
    }

    /// The knowledge that a strong write releases now: that of the thread's last fence, if it has
    /// executed one.
    pub(crate) fn fenced(&self, thread: u32) -> Option<&Arc<Known>> {
        self.fenced[thread as usize].as_ref()
    }

    /// A fence of the thread.
    pub(crate) fn fence(&mut self, thread: u32) {
        let snapshot = self.snapshot(thread);
        self.fenced[thread as usize] = Some(snapshot);
    }

    /// The knowledge of the thread, its own doings up to now included. Its clock advances: what it
    /// does from now on is not part of it.
    pub(crate) fn snapshot(&mut self, thread: u32) -> Arc<Known> {
        self.is_fresh = false;
        let index = thread as usize;
        let mut known = Known::clone(&self.known[index]);
        known.set(index, self.clocks[index]);
        self.clocks[index] += 1;
        Arc::new(known)
    }

    /// The thread has read what others released.
    pub(crate) fn acquire(&mut self, thread: u32, acquired: Acquired) {
        self.is_fresh = false;
        let known = &mut self.known[thread as usize];
        if !known.acquired().contains(&acquired) {
            Arc::make_mut(known).acquire(acquired);
        }
    }

    /// A thread comes to a barrier of the block.
    pub(crate) fn arrive(&mut self, thread: u32, barrier: usize) {
        self.is_fresh = false;
        let index = thread as usize;
        let meeting = self.barriers[barrier].get_or_insert_default();
        meeting.join(&self.known[index], self.fenced[index].as_ref());
        meeting.known.set(index, self.clocks[index]);
        self.clocks[index] += 1;
    }

    /// The barrier opens for those who wait at it.
    pub(crate) fn open(&mut self, barrier: usize, waiting: impl Iterator<Item = u32>) {
        let Some(meeting) = self.barriers[barrier].take() else { return };
        let (known, fenced) = meeting.done();
        let mut count = 0;
        for thread in waiting {
            self.known[thread as usize] = Arc::clone(&known);
            if fenced.is_some() {
                self.fenced[thread as usize].clone_from(&fenced);
            }
            count += 1;
        }
        if count == self.known.len() {
            self.known_to_all = known.of_all();
        }
    }

    /// A thread arrives at an mbarrier.
    pub(crate) fn arrive_at_phase(&mut self, thread: u32, barrier: u64) {
        self.is_fresh = false;
        let index = thread as usize;
        let arrivals = &mut self.phases.entry(barrier).or_default().arrivals;
        arrivals.join(&self.known[index], self.fenced[index].as_ref());
        arrivals.known.set(index, self.clocks[index]);
        self.clocks[index] += 1;
    }

    /// The phase of an mbarrier completes.
    pub(crate) fn complete_phase(&mut self, barrier: u64) {
        let Some(phases) = self.phases.get_mut(&barrier) else { return };
        let (known, fenced) = std::mem::take(&mut phases.arrivals).done();
        phases.completed.join(&known, fenced.as_ref());
    }

    /// A thread has waited for the completion of a phase of an mbarrier.
    pub(crate) fn wait_for_phase(&mut self, thread: u32, barrier: u64) {
        self.is_fresh = false;
        if let Some(phases) = self.phases.get(&barrier) {
            Arc::make_mut(&mut self.known[thread as usize]).join(&phases.completed.known);
        }
    }

    /// `bar.warp.sync` of those lanes of the warp that begins with the thread `first`.
    pub(crate) fn sync_warp(&mut self, first: u32, lanes: impl Iterator<Item = u32> + Clone) {
        self.is_fresh = false;
        let mut meeting = BarrierArrivals::default();
        for lane in lanes.clone() {
            let index = (first + lane) as usize;
            meeting.join(&self.known[index], self.fenced[index].as_ref());
        }
        for lane in lanes.clone() {
            let index = (first + lane) as usize;
            meeting.known.set(index, self.clocks[index]);
            self.clocks[index] += 1;
        }
        let (known, fenced) = meeting.done();
        for lane in lanes {
            let index = (first + lane) as usize;
            self.known[index] = Arc::clone(&known);
            if fenced.is_some() {
                self.fenced[index].clone_from(&fenced);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `second` knows what `first` did just before its last synchronisation.
    fn knows(threads: &Threads, second: u32, first: u32) -> bool {
        threads.known(second).of(first) >= threads.clocks[first as usize] - 1
    }

    #[test]
    fn a_barrier_orders_those_who_wait_and_those_who_only_arrive_are_known() {
        let mut threads = Threads::new(64);
        (0..33).for_each(|thread| threads.arrive(thread, 1));
        threads.open(1, 0..32);
        assert!(knows(&threads, 0, 31) && knows(&threads, 0, 32));
        assert!(!knows(&threads, 32, 0));
    }

    #[test]
    fn a_warp_barrier_orders_its_members_only() {
        let mut threads = Threads::new(64);
        threads.sync_warp(32, [0, 1, 5].into_iter());
        assert!(knows(&threads, 33, 37) && knows(&threads, 32, 33));
        assert_eq!((threads.known(34).of(33), threads.known(33).of(34)), (0, 0));
    }

    #[test]
    fn who_waits_for_a_phase_knows_those_who_arrived_in_it() {
        let mut threads = Threads::new(64);
        threads.arrive_at_phase(3, 8);
        threads.wait_for_phase(40, 8);
        assert!(!knows(&threads, 40, 3));
        threads.complete_phase(8);
        threads.arrive_at_phase(4, 8);
        threads.wait_for_phase(40, 8);
        assert!(knows(&threads, 40, 3) && !knows(&threads, 40, 4));
    }

    #[test]
    fn knowledge_passes_on_from_barrier_to_barrier() {
        let mut threads = Threads::new(4);
        threads.sync_warp(0, 0..2);
        threads.sync_warp(0, 1..3);
        assert_eq!(threads.known(2).of(0), 1);
        assert_eq!(threads.known(0).of(2), 0);
    }

    #[test]
    fn a_new_block_knows_all_of_the_one_before() {
        let mut threads = Threads::new(2);
        threads.sync_warp(0, 0..2);
        assert!(threads.start(true));
        let clock = threads.clock(0).expect("early");
        assert!(threads.known(1).of(0) == clock - 1 && clock > 2);
    }
}
