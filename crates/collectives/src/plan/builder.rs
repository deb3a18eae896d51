//! Plans under construction.

use std::ops::Range;

use super::step::{BufferRegion, Lane, RankBuffer, RankStep, Signal};

/// The most places that one step combines: as many operands as a fused kernel takes.
pub(super) const MAX_INPUTS: usize = 8;

/// By rank and lane, the number of signals of that rank which come before something: all that the lane
/// gave among them.
type SignalClock = Vec<[usize; Lane::COUNT]>;

/// The steps of all ranks, as far as they are known.
///
/// A wait can be added only when its signal has been. So the order in which a plan was written is one
/// in which it can run, and there is no cycle.
pub(super) struct StepWriter {
    steps: Vec<Vec<RankStep>>,
    pub(super) scratch: Vec<usize>,
    /// The number of pieces in which is sent what is combined or sent on.
    pub(super) pieces: usize,
    /// By rank, its signals: the lane of each, and what comes before it.
    signals: Vec<Vec<(Lane, SignalClock)>>,
    /// By rank and lane, what comes before the lane's next step.
    known: Vec<[SignalClock; Lane::COUNT]>,
}

impl StepWriter {
    /// Plans that begin with a signal of each rank that its memory may be used.
    pub(super) fn new(ranks: usize, pieces: usize) -> StepWriter {
        let nothing = || std::array::from_fn(|_| vec![[0; Lane::COUNT]; ranks]);
        let mut plan = StepWriter {
            steps: vec![Vec::new(); ranks],
            scratch: vec![0; ranks],
            pieces,
            signals: vec![Vec::new(); ranks],
            known: (0..ranks).map(|_| nothing()).collect(),
        };
        for rank in 0..ranks {
            plan.signal(rank, Lane::Compute);
        }
        plan
    }

    pub(super) fn ranks(&self) -> usize {
        self.steps.len()
    }

    /// The lane of the copy with this number: with several pieces copies take turns on two lanes of their
    /// own; one piece leaves nothing that could run beside a copy, and one lane needs fewer signals.
    pub(super) fn lane_of_copy(&self, number: usize) -> Lane {
        if self.pieces > 1 { Lane::Copy(number % 2) } else { Lane::Compute }
    }

    /// A signal after what is on the lane so far.
    pub(super) fn signal(&mut self, rank: usize, lane: Lane) -> Signal {
        let signal = Signal { rank, number: self.signals[rank].len() };
        let known = &mut self.known[rank][lane.index()];
        known[rank][lane.index()] = signal.number + 1;
        self.signals[rank].push((lane, known.clone()));
        self.steps[rank].push(RankStep::Signal { lane, signal });
        signal
    }

    /// Makes a lane wait, unless it comes after that signal already: by its own order, or since
    /// another signal that it has waited for does.
    pub(super) fn wait(&mut self, rank: usize, lane: Lane, signal: Signal) {
        let (of, before) = &self.signals[signal.rank][signal.number];
        let known = &mut self.known[rank][lane.index()];
        if known[signal.rank][of.index()] > signal.number {
            return;
        }
        for (known, before) in known.iter_mut().zip(before) {
            (0..Lane::COUNT).for_each(|lane| known[lane] = known[lane].max(before[lane]));
        }
        self.steps[rank].push(RankStep::Wait { lane, signal });
    }

    /// Makes a lane wait until the memory of a rank may be used.
    pub(super) fn wait_ready(&mut self, rank: usize, lane: Lane, of: usize) {
        self.wait(rank, lane, Signal { rank: of, number: 0 });
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

    /// Makes the lane on which a rank's operation ends come after its lanes for copies.
    pub(super) fn join(&mut self, rank: usize) {
        for lane in [Lane::Copy(0), Lane::Copy(1)] {
            let last = self.steps[rank].iter().rev().find(|step| step.lane() == lane);
            let signal = match last {
                None => continue,
                Some(RankStep::Signal { signal, .. }) => *signal,
                Some(_) => self.signal(rank, lane),
            };
            self.wait(rank, Lane::Compute, signal);
        }
    }

    /// The steps of each rank, without signals that nobody waits for.
    pub(super) fn into_steps(self) -> Vec<Vec<RankStep>> {
        let mut numbers: Vec<Vec<Option<usize>>> =
            self.signals.iter().map(|signals| vec![None; signals.len()]).collect();
        for step in self.steps.iter().flatten() {
            if let RankStep::Wait { signal, .. } = step {
                numbers[signal.rank][signal.number] = Some(0);
            }
        }
        for of_rank in &mut numbers {
            of_rank.iter_mut().flatten().enumerate().for_each(|(number, new)| *new = number);
        }
        let numbered = |mut step: RankStep| {
            if let RankStep::Signal { signal, .. } | RankStep::Wait { signal, .. } = &mut step {
                signal.number = numbers[signal.rank][signal.number]?;
            }
            Some(step)
        };
        let of_rank = |steps: Vec<RankStep>| steps.into_iter().filter_map(numbered).collect();
        self.steps.into_iter().map(of_rank).collect()
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

/// A part in so many pieces, none of which is empty but where the part is.
pub(super) fn cut(part: &Range<usize>, pieces: usize) -> Vec<Range<usize>> {
    let pieces = pieces.clamp(1, part.len().max(1));
    (0..pieces)
        .map(|number| {
            let piece = self::part(part.len(), pieces, number);
            part.start + piece.start..part.start + piece.end
        })
        .collect()
}

/// A region of scratch memory.
pub(super) fn scratch(range: &Range<usize>) -> BufferRegion {
    BufferRegion::of(RankBuffer::Scratch, range)
}

/// A region of the rank's tensor.
pub(super) fn tensor(range: &Range<usize>) -> BufferRegion {
    BufferRegion::of(RankBuffer::Tensor, range)
}
