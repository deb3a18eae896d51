//! An interpreter of plans over vectors, which finds what races, waits for ever, or is wrong.

use std::collections::HashMap;

use collectives::{Buffer, Lane, Plan, Region, Signal, Step};

/// The vector time of a lane of a rank: of each lane, the number of its steps that come before.
type Clock = Vec<usize>;

/// The accesses to one element since the last write.
#[derive(Clone, Default)]
struct Accesses {
    write: Option<(usize, usize)>,
    reads: Vec<(usize, usize)>,
}

/// The memory of all ranks, and who has accessed it.
pub struct Machine {
    pub memory: HashMap<(usize, Buffer), Vec<i64>>,
    accesses: HashMap<(usize, Buffer), Vec<Accesses>>,
    clocks: Vec<Clock>,
    signals: HashMap<Signal, Clock>,
}

impl Machine {
    /// A machine whose ranks have these tensors, and results of so many elements.
    pub fn new(plan: &Plan, tensors: Vec<Vec<i64>>, result: usize) -> Machine {
        let mut memory = HashMap::new();
        for (rank, tensor) in tensors.into_iter().enumerate() {
            memory.insert((rank, Buffer::Tensor), tensor);
            memory.insert((rank, Buffer::Result), vec![i64::MIN; result]);
            memory.insert((rank, Buffer::Scratch), vec![i64::MIN; plan.scratch(rank)]);
        }
        let none = |(place, elements): (&(usize, Buffer), &Vec<i64>)| {
            (*place, vec![Accesses::default(); elements.len()])
        };
        let accesses = memory.iter().map(none).collect();
        let lanes = plan.ranks() * Lane::COUNT;
        let clocks = vec![vec![0; lanes]; lanes];
        Machine { memory, accesses, clocks, signals: HashMap::new() }
    }

    /// Runs the ranks as threads would: `next` picks one of those that can go on.
    pub fn run(&mut self, plan: &Plan, mut next: impl FnMut(usize) -> usize) {
        let mut done = vec![0; plan.ranks()];
        loop {
            let can = |&rank: &usize| match plan.steps(rank).get(done[rank]) {
                Some(Step::Wait { signal, .. }) => self.signals.contains_key(signal),
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
        for rank in 0..plan.ranks() {
            assert_eq!(done[rank], plan.steps(rank).len(), "rank {rank} waits for ever: {plan:?}");
        }
        self.check_end(plan);
    }

    fn step(&mut self, rank: usize, step: &Step) {
        let lane = lane(rank, step.lane());
        self.clocks[lane][lane] += 1;
        match step {
            Step::Copy { from, to_rank, to, .. } => {
                assert_eq!(from.len(), to.len());
                let values = self.read(lane, rank, from);
                self.write(lane, *to_rank, to, values);
            }
            Step::Reduce { into, inputs, .. } => {
                assert!(inputs.len() > 1 && inputs.len() <= 8, "{} inputs", inputs.len());
                let mut sum = vec![0; into.len()];
                for input in inputs {
                    let values = self.read(lane, rank, input);
                    assert_eq!(values.len(), sum.len());
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                self.write(lane, rank, into, sum);
            }
            Step::Signal { signal, .. } => {
                assert_eq!(signal.rank, rank);
                let known = self.signals.insert(*signal, self.clocks[lane].clone());
                assert!(known.is_none(), "a signal is recorded once");
            }
            Step::Wait { signal, .. } => {
                let clock = self.signals[signal].clone();
                join(&mut self.clocks[lane], &clock);
            }
        }
    }

    fn read(&mut self, lane: usize, rank: usize, region: &Region) -> Vec<i64> {
        let (place, range) = ((rank, region.buffer), region.range.clone());
        let now = (lane, self.clocks[lane][lane]);
        for accesses in &mut self.accesses.get_mut(&place).expect("memory")[range.clone()] {
            let write = accesses.write.iter();
            write.for_each(|&write| assert!(self.clocks[lane][write.0] >= write.1, "{region:?}"));
            accesses.reads.push(now);
        }
        self.memory[&place][range].to_vec()
    }

    fn write(&mut self, lane: usize, rank: usize, region: &Region, values: Vec<i64>) {
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
            *accesses = Accesses { write: Some(now), reads: Vec::new() };
        }
        self.memory.get_mut(&place).expect("memory")[range].copy_from_slice(&values);
    }

    /// A rank's lane for reductions comes after all uses of its memory, and a write needs to know
    /// that the rank has begun.
    fn check_end(&self, plan: &Plan) {
        for ((rank, buffer), accesses) in &self.accesses {
            let end = &self.clocks[lane(*rank, Lane::Compute)];
            for &(lane, time) in
                accesses.iter().flat_map(|accesses| accesses.write.iter().chain(&accesses.reads))
            {
                assert!(
                    end[lane] >= time,
                    "{buffer:?} of rank {rank} is still in use by {lane}: {plan:?}"
                );
            }
        }
    }
}

/// Whether each access of a rank's memory by others comes after the rank's first signal.
pub fn begins_in_order(plan: &Plan) -> bool {
    let mut known: HashMap<Signal, Vec<bool>> = HashMap::new();
    let mut done = vec![0; plan.ranks()];
    let mut lanes = vec![vec![false; plan.ranks()]; plan.ranks() * Lane::COUNT];
    loop {
        let before = done.clone();
        for rank in 0..plan.ranks() {
            while let Some(step) = plan.steps(rank).get(done[rank]) {
                let lane = lane(rank, step.lane());
                match step {
                    Step::Signal { signal, .. } => {
                        if signal.number == 0 {
                            lanes[lane][rank] = true;
                        }
                        known.insert(*signal, lanes[lane].clone());
                    }
                    Step::Wait { signal, .. } => match known.get(signal) {
                        None => break,
                        Some(of) => lanes[lane].iter_mut().zip(of).for_each(|(a, b)| *a |= b),
                    },
                    Step::Copy { to_rank, .. } if !(lanes[lane][*to_rank] && lanes[lane][rank]) => {
                        return false;
                    }
                    Step::Reduce { .. } if !lanes[lane][rank] => return false,
                    Step::Copy { .. } | Step::Reduce { .. } => {}
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
