//! All-reduce by recursive halving and doubling (Thakur, Rabenseifner and Gropp, "Optimization of
//! Collective Communication Operations in MPICH", 2005), for a number of ranks that is a power of
//! two.
//!
//! At each step a rank has a partner, sends it half of what it is concerned with, and goes on with the
//! other half; then the way back. So the number of steps is twice the logarithm of the number of
//! ranks, and the bytes that are sent are as few as can be. Elements are combined in pairs, in the
//! same order wherever they lie.

use std::ops::Range;

use super::builder::{StepWriter, cut, part, scratch, tensor};
use super::step::{Lane, Signal};

/// The ways of one all-reduce.
struct Halving {
    elements: usize,
    ranks: usize,
    /// Whether blocks are sent in two pieces, so that the second is on its way while the first is
    /// combined.
    is_cut: bool,
    /// By rank, the signals after which the first and the last piece of what it goes on with are
    /// combined.
    combined: Vec<[Option<Signal>; 2]>,
}

/// All-reduce of as many ranks as a power of two.
pub(super) fn all_reduce(plan: &mut StepWriter, elements: usize) {
    let ranks = plan.ranks();
    let combined = vec![[None; 2]; ranks];
    let mut halving = Halving { elements, ranks, is_cut: plan.pieces > 1, combined };
    let mut distance = ranks / 2;
    while distance > 0 {
        halving.halve(plan, distance);
        distance /= 2;
    }
    halving.double(plan);
    (0..ranks).for_each(|rank| plan.join(rank));
}

impl Halving {
    /// The elements of the `count` parts that a rank's own is one of.
    fn block(&self, rank: usize, count: usize) -> Range<usize> {
        let first = rank / count * count;
        let start = part(self.elements, self.ranks, first).start;
        start..part(self.elements, self.ranks, first + count - 1).end
    }

    /// The pieces in which a rank gets its block of so many parts: first what it will send on, then the
    /// rest.
    fn pieces(&self, rank: usize, count: usize) -> Vec<Range<usize>> {
        let block = self.block(rank, count);
        match (self.is_cut, count) {
            (false, _) => vec![block],
            (true, 1) => cut(&block, 2),
            (true, _) => {
                let partner = rank ^ (count / 2);
                vec![self.block(partner, count / 2), self.block(rank, count / 2)]
            }
        }
    }

    /// Each rank sends its partner that half of its block which the partner goes on with.
    fn halve(&mut self, plan: &mut StepWriter, distance: usize) {
        let places: Vec<Range<usize>> = (0..self.ranks)
            .map(|rank| plan.scratch(rank, self.block(rank, distance).len()))
            .collect();
        let place = |rank: usize, piece: &Range<usize>| {
            let start = places[rank].start + piece.start - self.block(rank, distance).start;
            start..start + piece.len()
        };
        let mut sent = Vec::new();
        for rank in 0..self.ranks {
            let partner = rank ^ distance;
            let send = |piece: Range<usize>| {
                // One lane for both pieces, which could begin at the same time: between two lanes, the
                // device chooses.
                let lane = plan.lane_of_copy(distance.ilog2() as usize);
                // It lies in what came first.
                if let Some(signal) = self.combined[rank][0] {
                    plan.wait(rank, lane, signal);
                }
                let there = (partner, scratch(&place(partner, &piece)));
                plan.first_copy(rank, lane, tensor(&piece), there);
                plan.signal(rank, lane)
            };
            let pieces = self.pieces(partner, distance).into_iter();
            sent.push(pieces.map(send).collect::<Vec<_>>());
        }
        let mut combined = Vec::new();
        for rank in 0..self.ranks {
            let partner = rank ^ distance;
            let mut signals = [None; 2];
            for (number, piece) in self.pieces(rank, distance).into_iter().enumerate() {
                plan.wait(rank, Lane::Compute, sent[partner][number]);
                let theirs = scratch(&place(rank, &piece));
                let mut inputs = [tensor(&piece), theirs];
                if partner < rank {
                    inputs.reverse();
                }
                plan.reduce(rank, &tensor(&piece), &inputs, &tensor(&piece), distance == 1);
                signals[number] = Some(plan.signal(rank, Lane::Compute));
            }
            combined.push([signals[0], signals[1].or(signals[0])]);
        }
        self.combined = combined;
    }

    /// Each rank sends its partners what it has, which is twice as much each time. They may be written
    /// there since they have sent theirs.
    fn double(&self, plan: &mut StepWriter) {
        let mut arrived: Vec<Vec<Signal>> = vec![Vec::new(); self.ranks];
        let mut distance = 1;
        while distance < self.ranks {
            let mut sent = Vec::new();
            for (rank, arrived) in arrived.iter().enumerate() {
                let block = self.block(rank, distance);
                let pieces = if distance == 1 { self.pieces(rank, 1) } else { vec![block] };
                let mut signals = Vec::new();
                for (number, piece) in pieces.iter().enumerate() {
                    let lane = plan.lane_of_copy(
                        number + usize::from(distance > 1) * distance.ilog2() as usize,
                    );
                    if let Some(signal) = self.combined[rank][number.min(1)] {
                        plan.wait(rank, lane, signal);
                    }
                    if distance > 1 {
                        self.wait_for_all(plan, rank, lane, arrived);
                    }
                    plan.copy(rank, lane, tensor(piece), (rank ^ distance, tensor(piece)));
                    signals.push(plan.signal(rank, lane));
                }
                sent.push(signals);
            }
            for rank in 0..self.ranks {
                arrived[rank].extend(&sent[rank ^ distance]);
            }
            distance *= 2;
        }
        for (rank, arrived) in arrived.iter().enumerate() {
            self.wait_for_all(plan, rank, Lane::Compute, arrived);
        }
    }

    /// Makes a lane wait until all that has been sent to a rank on the way back is there, and what the
    /// rank has combined.
    fn wait_for_all(&self, plan: &mut StepWriter, rank: usize, lane: Lane, arrived: &[Signal]) {
        self.combined[rank][1]
            .iter()
            .chain(arrived)
            .for_each(|&signal| plan.wait(rank, lane, signal));
    }
}
