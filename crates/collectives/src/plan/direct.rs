//! Plans in which every rank sends to every other one.
//!
//! Each rank owns a part of the elements, and combines it when all others have sent theirs: in the
//! order of ranks, so that a result does not depend on the size of a tensor, nor on an element's
//! place in it. Ranks send in turns, in each of which a rank sends to one other and gets from one
//! other. If each began its next copy when it could, two might send to one rank, which is as fast as
//! one, while another rank gets nothing.

use std::ops::Range;

use super::builder::{StepWriter, cut, part, scratch, tensor};
use super::step::{BufferRegion, Lane, RankBuffer, Signal};

/// A part that is reduced, and the signals after which its pieces are there.
type ReducedPieces = Vec<(Range<usize>, Signal)>;

/// All-reduce of what is small: each rank gets everything and combines it by itself.
pub(super) fn all_reduce_at_once(plan: &mut StepWriter, elements: usize) {
    let (ranks, all) = (plan.ranks(), 0..elements);
    let slots: Vec<Vec<Range<usize>>> = slots(plan, |_| elements);
    let sent: SentPieces = (0..ranks)
        .map(|rank| send_to_all(plan, rank, |_| tensor(&all), |to| scratch(&slots[to][rank])))
        .collect();
    for (rank, slots) in slots.iter().enumerate() {
        wait_for_others(plan, rank, &sent);
        // It is still being sent.
        plan.join(rank);
        combine(plan, rank, (&tensor(&all), &tensor(&all)), slots, true);
    }
}

/// All-reduce of what is large: parts are combined by their owners, who then send them to all.
pub(super) fn all_reduce(plan: &mut StepWriter, elements: usize) {
    let parts: Vec<_> = (0..plan.ranks()).map(|rank| part(elements, plan.ranks(), rank)).collect();
    let reduced = reduce_parts(plan, &parts, |_, piece, _| tensor(piece));
    spread_parts(plan, &parts, &reduced);
    (0..parts.len()).for_each(|rank| plan.join(rank));
}

/// Reduces equal parts, of which each rank gets its own as a result.
pub(super) fn reduce_scatter(plan: &mut StepWriter, elements: usize) {
    let parts: Vec<_> =
        (0..plan.ranks()).map(|rank| rank * elements..(rank + 1) * elements).collect();
    reduce_parts(plan, &parts, |rank, piece, _| {
        let start = parts[rank].start;
        BufferRegion { buffer: RankBuffer::Result, range: piece.start - start..piece.end - start }
    });
    (0..parts.len()).for_each(|rank| plan.join(rank));
}

/// Reduces to the tensor of one rank; those of others stay as they are.
pub(super) fn reduce(plan: &mut StepWriter, elements: usize, target: usize) {
    let ranks = plan.ranks();
    let parts: Vec<_> = (0..ranks).map(|rank| part(elements, ranks, rank)).collect();
    let into = |rank: usize, piece: &Range<usize>, unused: &Range<usize>| match rank == target {
        true => tensor(piece),
        false => scratch(unused),
    };
    let reduced = reduce_parts(plan, &parts, into);
    // What the first other rank had sent lies there.
    let unused = |rank: usize, piece: &Range<usize>| {
        let start = piece.start - parts[rank].start;
        start..start + piece.len()
    };
    for rank in others(target, ranks) {
        for (number, (piece, signal)) in reduced[rank].iter().enumerate() {
            let lane = plan.lane_of_copy(number);
            plan.wait(rank, lane, *signal);
            plan.copy(rank, lane, scratch(&unused(rank, piece)), (target, tensor(piece)));
            let sent = plan.signal(rank, lane);
            plan.wait(target, Lane::Compute, sent);
        }
    }
    (0..ranks).for_each(|rank| plan.join(rank));
}

/// Every rank's tensor goes to all results.
pub(super) fn all_gather(plan: &mut StepWriter, elements: usize) {
    let (ranks, all) = (plan.ranks(), 0..elements);
    let place = |rank: usize| BufferRegion {
        buffer: RankBuffer::Result,
        range: rank * elements..(rank + 1) * elements,
    };
    let sent = exchange(plan, |_, rank, _| vec![(None, tensor(&all), place(rank))]);
    for rank in 0..ranks {
        plan.copy(rank, Lane::Compute, tensor(&all), (rank, place(rank)));
        wait_for_others(plan, rank, &sent);
        plan.join(rank);
    }
}

/// One rank's tensor goes to all others', whole.
pub(super) fn broadcast(plan: &mut StepWriter, elements: usize, source: usize) {
    let all = 0..elements;
    let sent = send_to_all(plan, source, |_| tensor(&all), |_| tensor(&all));
    finish_from(plan, source, &sent);
}

/// One rank's tensor goes to all others': to each a part, which that sends to the rest meanwhile.
pub(super) fn broadcast_by_parts(plan: &mut StepWriter, elements: usize, source: usize) {
    let ranks = plan.ranks();
    let mut arrivals = vec![Vec::new(); ranks];
    for (round, in_round) in cut(&(0..elements), plan.pieces).into_iter().enumerate() {
        for step in 1..ranks {
            let owner = (source + step) % ranks;
            let own = part(in_round.len(), ranks - 1, step - 1);
            let own = in_round.start + own.start..in_round.start + own.end;
            let lane = plan.lane_of_copy(round * (ranks - 1) + step);
            plan.first_copy(source, lane, tensor(&own), (owner, tensor(&own)));
            let arrived = plan.signal(source, lane);
            arrivals[owner].push(arrived);
            for turn in (1..ranks).filter(|turn| (owner + turn) % ranks != source) {
                let (lane, to) = (plan.lane_of_copy(turn), (owner + turn) % ranks);
                plan.wait(owner, lane, arrived);
                plan.first_copy(owner, lane, tensor(&own), (to, tensor(&own)));
                arrivals[to].push(plan.signal(owner, lane));
            }
        }
    }
    for (rank, arrived) in arrivals.iter().enumerate() {
        wait_for_last(plan, rank, arrived);
        plan.join(rank);
    }
}

/// Each rank gets its part of one rank's tensor.
pub(super) fn scatter(plan: &mut StepWriter, elements: usize, source: usize) {
    let result = BufferRegion { buffer: RankBuffer::Result, range: 0..elements };
    let own = |rank: usize| tensor(&(rank * elements..(rank + 1) * elements));
    plan.copy(source, Lane::Compute, own(source), (source, result.clone()));
    let sent = send_to_all(plan, source, own, |_| result.clone());
    finish_from(plan, source, &sent);
}

/// One rank gets the tensors of all.
pub(super) fn gather(plan: &mut StepWriter, elements: usize, target: usize) {
    let ranks = plan.ranks();
    for rank in 0..ranks {
        let place = BufferRegion {
            buffer: RankBuffer::Result,
            range: rank * elements..(rank + 1) * elements,
        };
        if rank == target {
            plan.copy(rank, Lane::Compute, tensor(&(0..elements)), (rank, place));
            continue;
        }
        let lane = plan.lane_of_copy(0);
        plan.first_copy(rank, lane, tensor(&(0..elements)), (target, place));
        let sent = plan.signal(rank, lane);
        plan.wait(target, Lane::Compute, sent);
    }
    (0..ranks).for_each(|rank| plan.join(rank));
}

/// Ends an operation in which one rank has sent to all others.
fn finish_from(plan: &mut StepWriter, source: usize, sent: &[Vec<Signal>]) {
    sent.iter().enumerate().for_each(|(rank, arrived)| wait_for_last(plan, rank, arrived));
    plan.join(source);
}

/// Makes a rank wait for signals, the last ones first: they come after others of the same lane.
fn wait_for_last(plan: &mut StepWriter, rank: usize, signals: &[Signal]) {
    signals.iter().rev().for_each(|&signal| plan.wait(rank, Lane::Compute, signal));
}

/// Makes a rank wait for what the others have sent to it.
fn wait_for_others(plan: &mut StepWriter, rank: usize, sent: &SentPieces) {
    sent.iter().for_each(|of_sender| wait_for_last(plan, rank, &of_sender[rank]));
}

fn others(rank: usize, ranks: usize) -> impl Iterator<Item = usize> {
    (0..ranks).filter(move |&other| other != rank)
}

/// Scratch memory of each rank for what every other one sends: by receiver and sender, in the order
/// of senders.
fn slots(plan: &mut StepWriter, size: impl Fn(usize) -> usize) -> Vec<Vec<Range<usize>>> {
    let ranks = plan.ranks();
    let of = |plan: &mut StepWriter, rank: usize| {
        let slot = |from: usize| if from == rank { 0..0 } else { plan.scratch(rank, size(rank)) };
        (0..ranks).map(slot).collect()
    };
    (0..ranks).map(|rank| of(plan, rank)).collect()
}

/// Sends something to each other rank, in turn from the next one on. By receiver, the signal after
/// which it has arrived.
fn send_to_all(
    plan: &mut StepWriter,
    rank: usize,
    from: impl Fn(usize) -> BufferRegion,
    place: impl Fn(usize) -> BufferRegion,
) -> Vec<Vec<Signal>> {
    let ranks = plan.ranks();
    let mut sent = vec![Vec::new(); ranks];
    for turn in 1..ranks {
        let (lane, to) = (plan.lane_of_copy(turn), (rank + turn) % ranks);
        plan.first_copy(rank, lane, from(to), (to, place(to)));
        sent[to].push(plan.signal(rank, lane));
    }
    sent
}

/// A copy that a rank makes in its turn: what it comes after, and its two ends.
type TurnCopy = (Option<Signal>, BufferRegion, BufferRegion);

/// By sender and receiver, the signals after which the pieces have arrived.
type SentPieces = Vec<Vec<Vec<Signal>>>;

/// Has each rank send something to each other one, in turns: in each, every rank sends to one other
/// and gets from one other. A turn begins for a receiver when the sender of the turn before is done.
/// `copies` says, by turn, sender and receiver, what is sent.
fn exchange(
    plan: &mut StepWriter,
    copies: impl Fn(usize, usize, usize) -> Vec<TurnCopy>,
) -> SentPieces {
    let ranks = plan.ranks();
    let mut sent: SentPieces = vec![vec![Vec::new(); ranks]; ranks];
    for turn in 1..ranks {
        for rank in 0..ranks {
            let to = (rank + turn) % ranks;
            let before = sent[(rank + 1) % ranks][to].last().copied();
            for (number, (after, from, place)) in copies(turn, rank, to).into_iter().enumerate() {
                // What could begin at the same time is on one lane: between two, the device chooses.
                let lane = plan.lane_of_copy(turn + if after.is_some() { number } else { 0 });
                before.iter().chain(&after).for_each(|&signal| plan.wait(rank, lane, signal));
                plan.first_copy(rank, lane, from, (to, place));
                sent[rank][to].push(plan.signal(rank, lane));
            }
        }
    }
    sent
}

/// Combines a rank's own elements with what others have sent, in the order of ranks.
fn combine(
    plan: &mut StepWriter,
    rank: usize,
    (own, into): (&BufferRegion, &BufferRegion),
    slots: &[Range<usize>],
    is_last: bool,
) {
    let place = |(from, slot): (usize, &Range<usize>)| {
        if from == rank { own.clone() } else { scratch(slot) }
    };
    let inputs: Vec<BufferRegion> = slots.iter().enumerate().map(place).collect();
    let partial = scratch(&slots[usize::from(rank == 0)]);
    plan.reduce(rank, into, &inputs, &partial, is_last);
}

/// Sends each rank its part of all other ranks' tensors, and has it combine them. `into` says where
/// the result of a piece goes, given scratch memory of that size that nobody needs any more.
fn reduce_parts(
    plan: &mut StepWriter,
    parts: &[Range<usize>],
    into: impl Fn(usize, &Range<usize>, &Range<usize>) -> BufferRegion,
) -> Vec<ReducedPieces> {
    let (ranks, pieces) = (plan.ranks(), plan.pieces);
    let slots = slots(plan, |rank| parts[rank].len());
    let within = |owner: usize, from: usize, piece: &Range<usize>| {
        let (slot, start) = (&slots[owner][from], parts[owner].start);
        slot.start + piece.start - start..slot.start + piece.end - start
    };
    let sent = exchange(plan, |turn, rank, to| {
        let pieces = if turn + 1 == ranks { pieces } else { 1 };
        let copy = |piece: Range<usize>| (None, tensor(&piece), scratch(&within(to, rank, &piece)));
        cut(&parts[to], pieces).into_iter().map(copy).collect()
    });
    let mut reduced = Vec::new();
    for owner in 0..ranks {
        let mut combined = Vec::new();
        for (number, piece) in cut(&parts[owner], pieces).into_iter().enumerate() {
            for from in others(owner, ranks) {
                if let Some(&signal) = sent[from][owner].get(number) {
                    plan.wait(owner, Lane::Compute, signal);
                }
            }
            let slots: Vec<_> = (0..ranks)
                .map(|from| if from == owner { 0..0 } else { within(owner, from, &piece) })
                .collect();
            let unused = &slots[usize::from(owner == 0)];
            let into = into(owner, &piece, unused);
            combine(plan, owner, (&tensor(&piece), &into), &slots, true);
            let signal = plan.signal(owner, Lane::Compute);
            combined.push((piece, signal));
        }
        reduced.push(combined);
    }
    reduced
}

/// Sends the part of each rank to all others, whose memory may be written since they have sent theirs.
fn spread_parts(plan: &mut StepWriter, parts: &[Range<usize>], reduced: &[ReducedPieces]) {
    let ranks = plan.ranks();
    let sent = exchange(plan, |turn, rank, _| {
        let last = reduced[rank].last().map(|(_, signal)| *signal);
        let copy = |(piece, signal): &(Range<usize>, Signal)| {
            (Some(*signal), tensor(piece), tensor(piece))
        };
        match turn {
            1 => reduced[rank].iter().map(copy).collect(),
            _ => vec![(last, tensor(&parts[rank]), tensor(&parts[rank]))],
        }
    });
    (0..ranks).for_each(|rank| wait_for_others(plan, rank, &sent));
}
