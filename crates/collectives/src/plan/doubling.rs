//! All-reduce by recursive doubling, for a number of ranks that is a power of two: at each step a rank
//! and its partner send each other all that they have combined so far. More bytes than by halving, in half
//! as many steps, which suits what is small.

use super::builder::{StepWriter, scratch, tensor};
use super::step::{Lane, Signal};

/// All-reduce of as many ranks as a power of two. Elements are combined in pairs, in the same order on
/// each rank.
pub(super) fn all_reduce(plan: &mut StepWriter, elements: usize) {
    let (ranks, all) = (plan.ranks(), tensor(&(0..elements)));
    let mut combined: Vec<Option<Signal>> = vec![None; ranks];
    for step in 0..ranks.ilog2() as usize {
        let distance = 1 << step;
        let places: Vec<_> =
            (0..ranks).map(|rank| scratch(&plan.scratch(rank, elements))).collect();
        let mut sent = Vec::new();
        for (rank, combined) in combined.iter().enumerate() {
            let (lane, partner) = (plan.lane_of_copy(step), rank ^ distance);
            combined.iter().for_each(|&signal| plan.wait(rank, lane, signal));
            plan.first_copy(rank, lane, all.clone(), (partner, places[partner].clone()));
            sent.push(plan.signal(rank, lane));
        }
        for rank in 0..ranks {
            let partner = rank ^ distance;
            // Its own is still being sent.
            [partner, rank].iter().for_each(|&of| plan.wait(rank, Lane::Compute, sent[of]));
            let mut inputs = [all.clone(), places[rank].clone()];
            if partner < rank {
                inputs.reverse();
            }
            plan.reduce(rank, &all, &inputs, &all, 2 * distance == ranks);
            combined[rank] = Some(plan.signal(rank, Lane::Compute));
        }
    }
    (0..ranks).for_each(|rank| plan.join(rank));
}
