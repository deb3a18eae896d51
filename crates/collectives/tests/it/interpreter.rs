//! An interpreter of plans over vectors, which finds what races, waits for ever, or is wrong.

use std::collections::HashMap;

use collectives::{BufferRegion, CollectivePlan, Lane, RankBuffer, RankStep, Signal};

/// The vector time of a lane of a rank: of each lane, the number of its steps that come before.
type Clock = Vec<usize>;

/// The accesses to one element since the last write.
#[derive(Clone, Default)]
struct ElementAccesses {
    write: Option<(usize, usize)>,
    reads: Vec<(usize, usize)>,
}

/// The memory of all ranks, and who has accessed it.
pub(crate) struct PlanMachine {
    pub(crate) memory: HashMap<(usize, RankBuffer), Vec<i64>>,
    accesses: HashMap<(usize, RankBuffer), Vec<ElementAccesses>>,
    clocks: Vec<Clock>,
    signals: HashMap<Signal, Clock>,
}

impl PlanMachine {
    /// A machine whose ranks have these tensors, and results of so many elements.
    pub(crate) fn new(plan: &CollectivePlan, tensors: Vec<Vec<i64>>, result: usize) -> PlanMachine {
        let mut memory = HashMap::new();
        for (rank, tensor) in tensors.into_iter().enumerate() {
            memory.insert((rank, RankBuffer::Tensor), tensor);
            memory.insert((rank, RankBuffer::Result), vec![i64::MIN; result]);
            memory.insert((rank, RankBuffer::Scratch), vec![i64::MIN; plan.scratch(rank)]);
        }
        let none = |(place, elements): (&(usize, RankBuffer), &Vec<i64>)| {
            (*place, vec![ElementAccesses::default(); elements.len()])
        };
        let accesses = memory.iter().map(none).collect();
        let lanes = plan.ranks() * Lane::COUNT;
        let clocks = vec![vec![0; lanes]; lanes];
        PlanMachine { memory, accesses, clocks, signals: HashMap::new() }
    }

    /// Runs the ranks as threads would: `next` picks one of those that can go on.
    pub(crate) fn run(&mut self, plan: &CollectivePlan, mut next: impl FnMut(usize) -> usize) {
        let mut done = vec![0; plan.ranks()];
        loop {
            let can = |&rank: &usize| match plan.steps(rank).get(done[rank]) {
                Some(RankStep::Wait { signal, .. }) => self.signals.contains_key(signal),
                step => step.is_some(),
            };
            let able: Vec<usize> = (0..plan.ranks()).filter(can).collect();
            if able.is_empty() {
                break;
            }
            let rank = able[next(able.len()) % able.len()];
            self.step(rank, &plan.steps(rank)[done[rank]]);
            done[rank] += 1;
        }
        for (rank, &done) in done.iter().enumerate() {
            assert_eq!(done, plan.steps(rank).len(), "rank {rank} waits for ever: {plan:?}");
        }
        self.check_end();
    }

    fn step(&mut self, rank: usize, step: &RankStep) {
        let lane = lane(rank, step.lane());
        self.clocks[lane][lane] += 1;
        match step {
            RankStep::Copy { from, to_rank, to, .. } => {
                assert_eq!(from.len(), to.len());
                let values = self.read(lane, rank, from);
                self.write(lane, *to_rank, to, values);
            }
            RankStep::Reduce { into, inputs, .. } => {
                assert!(inputs.len() > 1 && inputs.len() <= 8, "{} inputs", inputs.len());
                let mut sum = vec![0; into.len()];
                for input in inputs {
                    let values = self.read(lane, rank, input);
                    assert_eq!(values.len(), sum.len());
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                self.write(lane, rank, into, sum);
            }
            RankStep::Signal { signal, .. } => {
                assert_eq!(signal.rank, rank);
                let known = self.signals.insert(*signal, self.clocks[lane].clone());
                assert!(known.is_none(), "a signal is recorded once");
            }
            RankStep::Wait { signal, .. } => {
                let clock = self.signals[signal].clone();
                join(&mut self.clocks[lane], &clock);
            }
        }
    }

    fn read(&mut self, lane: usize, rank: usize, region: &BufferRegion) -> Vec<i64> {
        let (place, range) = ((rank, region.buffer), region.range.clone());
        let now = (lane, self.clocks[lane][lane]);
        for accesses in &mut self.accesses.get_mut(&place).expect("memory")[range.clone()] {
            let write = accesses.write.iter();
            write.for_each(|&write| assert!(self.clocks[lane][write.0] >= write.1, "{region:?}"));
            accesses.reads.push(now);
        }
        self.memory[&place][range].to_vec()
    }

    fn write(&mut self, lane: usize, rank: usize, region: &BufferRegion, values: Vec<i64>) {
        let (place, range) = ((rank, region.buffer), region.range.clone());
        let now = (lane, self.clocks[lane][lane]);
        for accesses in &mut self.accesses.get_mut(&place).expect("memory")[range.clone()] {
            for &(other, time) in accesses.write.iter().chain(&accesses.reads) {
                let is_before = other == lane || self.clocks[lane][other] >= time;
                assert!(
                    is_before,
                    "lane {lane} writes {region:?} of rank {rank}, lane {other} uses it"
                );
            }
            *accesses = ElementAccesses { write: Some(now), reads: Vec::new() };
        }
        self.memory.get_mut(&place).expect("memory")[range].copy_from_slice(&values);
    }

    /// A rank's lane for reductions comes after all uses of its memory, and a write needs to know
    /// that the rank has begun.
    fn check_end(&self) {
        for ((rank, buffer), accesses) in &self.accesses {
            let end = &self.clocks[lane(*rank, Lane::Compute)];
            for &(lane, time) in
                accesses.iter().flat_map(|accesses| accesses.write.iter().chain(&accesses.reads))
            {
                assert!(
                    end[lane] >= time,
                    "{buffer:?} of rank {rank} is in use at the end, by lane {lane}"
                );
            }
        }
    }
}

/// Whether each access of a rank's memory, also by others, comes after the beginning of the rank.
pub(crate) fn begins_in_order(plan: &CollectivePlan) -> bool {
    let mut known: HashMap<Signal, Vec<bool>> = HashMap::new();
    let mut done = vec![0; plan.ranks()];
    let mut lanes = vec![vec![false; plan.ranks()]; plan.ranks() * Lane::COUNT];
    // A rank begins on its lane for reductions.
    (0..plan.ranks()).for_each(|rank| lanes[lane(rank, Lane::Compute)][rank] = true);
    loop {
        let before = done.clone();
        for rank in 0..plan.ranks() {
            while let Some(step) = plan.steps(rank).get(done[rank]) {
                let lane = lane(rank, step.lane());
                match step {
                    RankStep::Signal { signal, .. } => {
                        known.insert(*signal, lanes[lane].clone());
                    }
                    RankStep::Wait { signal, .. } => match known.get(signal) {
                        None => break,
                        Some(of) => lanes[lane].iter_mut().zip(of).for_each(|(a, b)| *a |= b),
                    },
                    RankStep::Copy { to_rank, .. }
                        if !(lanes[lane][*to_rank] && lanes[lane][rank]) =>
                    {
                        return false;
                    }
                    RankStep::Reduce { .. } if !lanes[lane][rank] => return false,
                    RankStep::Copy { .. } | RankStep::Reduce { .. } => {}
                }
                done[rank] += 1;
            }
        }
        if before == done {
            return true;
        }
    }
}

fn lane(rank: usize, lane: Lane) -> usize {
    rank * Lane::COUNT + lane.index()
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}
