//! Plans along a binary tree: a rank waits for few others, which suits small tensors of many ranks.

use super::builder::{StepWriter, scratch, tensor};
use super::step::{Lane, Signal};

/// All-reduce: up to rank 0, and down again.
pub(super) fn all_reduce(plan: &mut StepWriter, elements: usize) {
    let (ranks, all) = (plan.ranks(), 0..elements);
    let mut combined: Vec<Option<Signal>> = vec![None; ranks];
    let mut sent: Vec<Option<Signal>> = vec![None; ranks];
    let places: Vec<_> = (0..ranks)
        .map(|rank| children(rank, ranks).map(|_| plan.scratch(rank, elements)).collect::<Vec<_>>())
        .collect();
    // Children have higher numbers than their parent.
    for rank in (0..ranks).rev() {
        let mut inputs = vec![tensor(&all)];
        for (number, child) in children(rank, ranks).enumerate() {
            sent[child].iter().for_each(|&signal| plan.wait(rank, Lane::Compute, signal));
            inputs.push(scratch(&places[rank][number]));
        }
        if inputs.len() > 1 {
            plan.reduce(rank, &tensor(&all), &inputs, &tensor(&all), rank == 0);
            combined[rank] = Some(plan.signal(rank, Lane::Compute));
        }
        if rank > 0 {
            let (parent, place) = ((rank - 1) / 2, (rank - 1) % 2);
            let lane = plan.lane_of_copy(0);
            combined[rank].iter().for_each(|&signal| plan.wait(rank, lane, signal));
            plan.first_copy(rank, lane, tensor(&all), (parent, scratch(&places[parent][place])));
            sent[rank] = Some(plan.signal(rank, lane));
        }
    }
    down(plan, elements, |heap| heap, &combined[..1]);
}

/// The tensor of one rank goes to all.
pub(super) fn broadcast(plan: &mut StepWriter, elements: usize, source: usize) {
    let ranks = plan.ranks();
    down(plan, elements, |heap| (heap + source) % ranks, &[None]);
}

/// From the root of the tree to all others. `rank` says which rank stands at a place of the tree, and
/// `root` has the signal after which the root's tensor is there, if there is one. Without, the others'
/// tensors may be written once they have begun; else since they have sent theirs.
fn down(
    plan: &mut StepWriter,
    elements: usize,
    rank: impl Fn(usize) -> usize,
    root: &[Option<Signal>],
) {
    let (ranks, all) = (plan.ranks(), 0..elements);
    let root = root.first().copied().flatten();
    let mut arrived: Vec<Option<Signal>> = vec![None; ranks];
    arrived[0] = root;
    for place in 0..ranks {
        let here = rank(place);
        if place > 0 {
            arrived[place].iter().for_each(|&signal| plan.wait(here, Lane::Compute, signal));
        }
        for (number, child) in children(place, ranks).enumerate() {
            let (lane, there) = (plan.lane_of_copy(number), (rank(child), tensor(&all)));
            arrived[place].iter().for_each(|&signal| plan.wait(here, lane, signal));
            match root {
                Some(_) => plan.copy(here, lane, tensor(&all), there),
                None => plan.first_copy(here, lane, tensor(&all), there),
            }
            arrived[child] = Some(plan.signal(here, lane));
        }
    }
    (0..ranks).for_each(|rank| plan.join(rank));
}

/// The children of a place in a binary heap.
fn children(place: usize, ranks: usize) -> impl Iterator<Item = usize> {
    (2 * place + 1..=2 * place + 2).filter(move |&child| child < ranks)
}
