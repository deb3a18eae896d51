//! All-reduce around a ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters
//! of workstations", 2009): each rank sends to the next one only, which suits links that others share.

use std::ops::Range;

use super::builder::{StepWriter, part, scratch, tensor};
use super::step::{Lane, Signal};

/// All-reduce of parts that go around twice: combined on the first way, and then distributed.
pub(super) fn all_reduce(plan: &mut StepWriter, elements: usize) {
    let ranks = plan.ranks();
    let pieces = plan.pieces;
    let piece = |part_number: usize, number: usize| {
        let all = part(elements, ranks, part_number % ranks);
        let own = part(all.len(), pieces, number);
        all.start + own.start..all.start + own.end
    };
    // By rank, the signals after which the pieces are there that it sends next.
    let mut ready: Vec<Vec<Option<Signal>>> = vec![vec![None; pieces]; ranks];
    for step in 0..2 * (ranks - 1) {
        let is_combining = step < ranks - 1;
        let sent: Vec<Vec<(Signal, Range<usize>)>> = (0..ranks)
            .map(|rank| {
                let send = |number: usize| {
                    let elements = piece(rank + 2 * ranks - step, number);
                    let lane = plan.lane_of_copy(step * pieces + number);
                    ready[rank][number].iter().for_each(|&signal| plan.wait(rank, lane, signal));
                    let next = (rank + 1) % ranks;
                    if is_combining {
                        let place = plan.scratch(next, elements.len());
                        plan.first_copy(rank, lane, tensor(&elements), (next, scratch(&place)));
                        (plan.signal(rank, lane), place)
                    } else {
                        // It may be written since its owner has sent it.
                        plan.copy(rank, lane, tensor(&elements), (next, tensor(&elements)));
                        (plan.signal(rank, lane), elements)
                    }
                };
                (0..pieces).map(send).collect()
            })
            .collect();
        for (rank, ready) in ready.iter_mut().enumerate() {
            let before = (rank + ranks - 1) % ranks;
            for (number, (signal, place)) in sent[before].iter().enumerate() {
                if !is_combining {
                    plan.wait(rank, Lane::Compute, *signal);
                    ready[number] = Some(*signal);
                    continue;
                }
                let own = tensor(&piece(before + 2 * ranks - step, number));
                plan.wait(rank, Lane::Compute, *signal);
                let inputs = [scratch(place), own.clone()];
                plan.reduce(rank, &own, &inputs, &own, step + 2 == ranks);
                ready[number] = Some(plan.signal(rank, Lane::Compute));
            }
        }
    }
    (0..ranks).for_each(|rank| plan.join(rank));
}
