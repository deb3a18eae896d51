//! Plans under construction.

use std::ops::Range;

use super::step::{BufferRegion, Lane, RankBuffer, RankStep, Signal};

/// The most places that one step combines: as many operands as a fused kernel takes.
pub(super) const MAX_INPUTS: usize = 8;

/// The steps of all ranks, as far as they are known.
///
/// A wait can be added only when its signal has been. So the order in which a plan was written is one
/// in which it can run, and there is no cycle.
pub(super) struct StepWriter {
    pub(super) steps: Vec<Vec<RankStep>>,
    pub(super) scratch: Vec<usize>,
    signals: Vec<usize>,
    /// By rank and lane, the signals of each rank that the lane has waited for.
    known: Vec<[Vec<Option<usize>>; Lane::COUNT]>,
    ready: Vec<Signal>,
}

impl StepWriter {
    /// Plans that begin with a signal of each rank that its memory may be used.
    pub(super) fn new(ranks: usize) -> StepWriter {
        let none = || std::array::from_fn(|_| vec![None; ranks]);
        let mut plan = StepWriter {
            steps: vec![Vec::new(); ranks],
            scratch: vec![0; ranks],
            signals: vec![0; ranks],
            known: (0..ranks).map(|_| none()).collect(),
            ready: Vec::new(),
        };
        plan.ready = (0..ranks).map(|rank| plan.signal(rank, Lane::Compute)).collect();
        plan
    }

    pub(super) fn ranks(&self) -> usize {
        self.steps.len()
    }

    /// A signal after what is on the lane so far.
    pub(super) fn signal(&mut self, rank: usize, lane: Lane) -> Signal {
        let signal = Signal { rank, number: self.signals[rank] };
        self.signals[rank] += 1;
        self.steps[rank].push(RankStep::Signal { lane, signal });
        signal
    }

    /// Makes a lane wait, unless it has waited for that signal before.
    pub(super) fn wait(&mut self, rank: usize, lane: Lane, signal: Signal) {
        let known = &mut self.known[rank][lane.index()][signal.rank];
        if *known == Some(signal.number) {
            return;
        }
        *known = Some(signal.number);
        self.steps[rank].push(RankStep::Wait { lane, signal });
    }

    /// Makes a lane wait until the memory of a rank may be used.
    pub(super) fn wait_ready(&mut self, rank: usize, lane: Lane, of: usize) {
        if self.known[rank][lane.index()][of].is_none() {
            self.wait(rank, lane, self.ready[of]);
        }
    }

    /// A copy to another rank, of whose memory the caller knows that it may be written.
    pub(super) fn copy(
        &mut self,
        rank: usize,
        lane: Lane,
        from: BufferRegion,
        (to_rank, to): (usize, BufferRegion),
    ) {
        debug_assert_eq!(from.len(), to.len(), "a copy has two ends of one length");
        if !from.is_empty() {
            self.steps[rank].push(RankStep::Copy { lane, from, to_rank, to });
        }
    }

    /// A copy to a rank that is the first access to memory of it.
    pub(super) fn first_copy(
        &mut self,
        rank: usize,
        lane: Lane,
        from: BufferRegion,
        (to_rank, to): (usize, BufferRegion),
    ) {
        self.wait_ready(rank, lane, rank);
        self.wait_ready(rank, lane, to_rank);
        self.copy(rank, lane, from, (to_rank, to));
    }

    /// Combines the inputs in their order. Where they are more than one step takes, what they have
    /// given so far lies in `partial` meanwhile, which is one of the first.
    pub(super) fn reduce(
        &mut self,
        rank: usize,
        into: &BufferRegion,
        inputs: &[BufferRegion],
        partial: &BufferRegion,
        is_last: bool,
    ) {
        if into.is_empty() {
            return;
        }
        let mut rest = inputs;
        let mut so_far: Option<BufferRegion> = None;
        loop {
            let taken = rest.len().min(MAX_INPUTS - usize::from(so_far.is_some()));
            let (now, later) = rest.split_at(taken);
            let inputs = so_far.iter().chain(now).cloned().collect();
            rest = later;
            let ends = rest.is_empty();
            let place = if ends { into } else { partial };
            let step = RankStep::Reduce { into: place.clone(), inputs, is_last: is_last && ends };
            self.steps[rank].push(step);
            if ends {
                return;
            }
            so_far = Some(partial.clone());
        }
    }

    /// Elements of the scratch memory of a rank that nobody has asked for before.
    pub(super) fn scratch(&mut self, rank: usize, elements: usize) -> Range<usize> {
        let start = self.scratch[rank];
        self.scratch[rank] += elements;
        start..start + elements
    }

    /// A signal after all that a rank has on one of its lanes for copies; `None` if it has nothing
    /// there.
    pub(super) fn end_of_copies(&mut self, rank: usize, number: usize) -> Option<Signal> {
        let lane = Lane::Copy(number);
        match self.steps[rank].iter().rev().find(|step| step.lane() == lane)? {
            RankStep::Signal { signal, .. } => Some(*signal),
            _ => Some(self.signal(rank, lane)),
        }
    }

    /// Makes the lane on which a rank's operation ends come after its lanes for copies.
    pub(super) fn join(&mut self, rank: usize) {
        for number in [0, 1] {
            if let Some(signal) = self.end_of_copies(rank, number) {
                self.wait(rank, Lane::Compute, signal);
            }
        }
    }
}

/// The part of so many elements that belongs to a rank. Parts are about as large as each other, and
/// begin where vectors of memory do if there are enough elements.
pub(super) fn part(elements: usize, ranks: usize, rank: usize) -> Range<usize> {
    /// So many elements are a multiple of any vector's, and of a sector of memory.
    const GRANULE: usize = 128;
    let granule = if elements >= 64 * GRANULE * ranks { GRANULE } else { 1 };
    let granules = elements.div_ceil(granule);
    // Wider, since the product of what memory holds and a number of ranks may not fit.
    let granules_before = |rank: usize| (granules as u128 * rank as u128 / ranks as u128) as usize;
    let start = |rank: usize| granules_before(rank).saturating_mul(granule).min(elements);
    start(rank)..start(rank + 1)
}

/// A region of scratch memory.
pub(super) fn scratch(range: &Range<usize>) -> BufferRegion {
    BufferRegion::of(RankBuffer::Scratch, range)
}

/// A region of the rank's tensor.
pub(super) fn tensor(range: &Range<usize>) -> BufferRegion {
    BufferRegion::of(RankBuffer::Tensor, range)
}
