//! Plans in which every rank sends to every other one, without a step that waits for another rank's.
//!
//! Each rank owns a part of the elements, and combines it when all others have sent theirs: in the
//! order of ranks, so that a result does not depend on the size of a tensor, nor on an element's
//! place in it. At each time a rank sends to one other and receives from one other, so that no
//! port of a switch is asked for twice.

use std::ops::Range;

use super::builder::{StepWriter, part, scratch, tensor};
use super::step::{BufferRegion, Lane, RankBuffer, Signal};

/// A part that is reduced, and the signals after which its pieces are there.
type ReducedPieces = Vec<(Range<usize>, Signal)>;

/// The fewest elements of a part that is cut into two pieces: while the second piece is on its way,
/// the first is combined.
const MIN_CUT: usize = 1 << 16;

/// The pieces of the part that a rank gets last.
fn cut(part: &Range<usize>) -> Vec<Range<usize>> {
    let half = (part.len() / 2).next_multiple_of(128);
    match part.len() < MIN_CUT {
        true => vec![part.clone()],
        false => vec![part.start..part.start + half, part.start + half..part.end],
    }
}

/// All-reduce of what is small: each rank gets everything and combines it by itself.
pub(super) fn all_reduce_at_once(plan: &mut StepWriter, elements: usize) {
    let (ranks, all) = (plan.ranks(), 0..elements);
    let slots: Vec<Vec<Range<usize>>> = slots(plan, |_| elements);
    let sent: Vec<Vec<Signal>> = (0..ranks)
        .map(|rank| {
            let place = |to: usize| (to, scratch(&slots[to][rank]));
            send_to_all(plan, rank, |_| tensor(&all), place)
        })
        .collect();
    for rank in 0..ranks {
        for from in others(rank, ranks) {
            plan.wait(rank, Lane::Compute, sent[from][rank]);
        }
        // It is still being sent.
        plan.join(rank);
        combine(plan, rank, (&tensor(&all), &tensor(&all)), &slots[rank], true);
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
    let reduced =
        reduce_parts(
            plan,
            &parts,
            |rank, piece, unused| {
                if rank == target { tensor(piece) } else { scratch(unused) }
            },
        );
    // What the first other rank had sent lies there.
    let unused = |rank: usize, piece: &Range<usize>| {
        let start = piece.start - parts[rank].start;
        start..start + piece.len()
    };
    for rank in others(target, ranks) {
        for (number, (piece, signal)) in reduced[rank].iter().enumerate() {
            let lane = Lane::of_copy(number);
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
    let mut sent = Vec::new();
    for rank in 0..ranks {
        plan.copy(rank, Lane::Compute, tensor(&all), (rank, place(rank)));
        sent.push(send_to_all(plan, rank, |_| tensor(&all), |to| (to, place(rank))));
    }
    (0..ranks).for_each(|rank| {
        for from in others(rank, ranks) {
            plan.wait(rank, Lane::Compute, sent[from][rank]);
        }
        plan.join(rank);
    });
}

/// One rank's tensor goes to all others', whole.
pub(super) fn broadcast(plan: &mut StepWriter, elements: usize, source: usize) {
    let all = 0..elements;
    let sent = send_to_all(plan, source, |_| tensor(&all), |to| (to, tensor(&all)));
    finish_from(plan, source, &sent);
}

/// The most elements that a rank sends on at a time in a broadcast.
const FORWARDED: usize = 1 << 19;

/// One rank's tensor goes to all others': to each a part, which that sends to the rest meanwhile.
pub(super) fn broadcast_by_parts(plan: &mut StepWriter, elements: usize, source: usize) {
    let ranks = plan.ranks();
    let rounds = elements.div_ceil(FORWARDED * (ranks - 1)).clamp(1, 16);
    let mut last = vec![Vec::new(); ranks];
    for round in 0..rounds {
        let in_round = part(elements, rounds, round);
        for step in 1..ranks {
            let owner = (source + step) % ranks;
            let own = part(in_round.len(), ranks - 1, step - 1);
            let own = in_round.start + own.start..in_round.start + own.end;
            let lane = Lane::of_copy(round * (ranks - 1) + step);
            plan.first_copy(source, lane, tensor(&own), (owner, tensor(&own)));
            let arrived = plan.signal(source, lane);
            for turn in (1..ranks).filter(|turn| (owner + turn) % ranks != source) {
                let lane = Lane::of_copy(turn);
                plan.wait(owner, lane, arrived);
                plan.first_copy(owner, lane, tensor(&own), ((owner + turn) % ranks, tensor(&own)));
            }
            last[owner].push(arrived);
        }
    }
    let forwarded: Vec<[Option<Signal>; 2]> =
        (0..ranks).map(|rank| [0, 1].map(|lane| plan.end_of_copies(rank, lane))).collect();
    for rank in others(source, ranks) {
        // The last of either lane of the source.
        for &signal in last[rank].iter().rev().take(2) {
            plan.wait(rank, Lane::Compute, signal);
        }
        for from in others(rank, ranks).filter(|&from| from != source) {
            let turn = (rank + ranks - from) % ranks;
            if let Some(signal) = forwarded[from][turn % 2] {
                plan.wait(rank, Lane::Compute, signal);
            }
        }
    }
    (0..ranks).for_each(|rank| plan.join(rank));
}

/// Each rank gets its part of one rank's tensor.
pub(super) fn scatter(plan: &mut StepWriter, elements: usize, source: usize) {
    let result = BufferRegion { buffer: RankBuffer::Result, range: 0..elements };
    let own = |rank: usize| tensor(&(rank * elements..(rank + 1) * elements));
    plan.copy(source, Lane::Compute, own(source), (source, result.clone()));
    let sent = send_to_all(plan, source, own, |to| (to, result.clone()));
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
        let lane = Lane::Copy(0);
        plan.first_copy(rank, lane, tensor(&(0..elements)), (target, place));
        let sent = plan.signal(rank, lane);
        plan.wait(target, Lane::Compute, sent);
    }
    (0..ranks).for_each(|rank| plan.join(rank));
}

/// Ends an operation in which one rank has sent to all others.
fn finish_from(plan: &mut StepWriter, source: usize, sent: &[Signal]) {
    for rank in others(source, plan.ranks()) {
        plan.wait(rank, Lane::Compute, sent[rank]);
    }
    plan.join(source);
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
    place: impl Fn(usize) -> (usize, BufferRegion),
) -> Vec<Signal> {
    let ranks = plan.ranks();
    let turns = (1..ranks).map(|step| (step, (rank + step) % ranks));
    for (step, to) in turns.clone() {
        plan.first_copy(rank, Lane::of_copy(step), from(to), place(to));
    }
    let ends = lane_ends(plan, rank, ranks - 1);
    let mut sent = vec![Signal { rank, number: 0 }; ranks];
    turns.for_each(|(step, to)| sent[to] = ends[Lane::of_copy(step).index() - 1]);
    sent
}

/// Signals after so many copies, the first of which was number 1, by lane for copies.
fn lane_ends(plan: &mut StepWriter, rank: usize, copies: usize) -> [Signal; 2] {
    let odd = plan.signal(rank, Lane::Copy(1));
    let even = if copies > 1 { plan.signal(rank, Lane::Copy(0)) } else { odd };
    [even, odd]
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
    let ranks = plan.ranks();
    let slots = slots(plan, |rank| parts[rank].len());
    let within = |owner: usize, from: usize, piece: &Range<usize>| {
        let (slot, start) = (&slots[owner][from], parts[owner].start);
        slot.start + piece.start - start..slot.start + piece.end - start
    };
    let sent: Vec<SentParts> = (0..ranks)
        .map(|rank| SentParts::send(plan, rank, parts, |to, piece| within(to, rank, piece)))
        .collect();
    let mut reduced = Vec::new();
    for owner in 0..ranks {
        let mut pieces = Vec::new();
        for (number, piece) in cut(&parts[owner]).into_iter().enumerate() {
            for from in others(owner, ranks) {
                let step = (owner + ranks - from) % ranks;
                if let Some(signal) = sent[from].arrival(step, ranks, number) {
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
            pieces.push((piece, signal));
        }
        reduced.push(pieces);
    }
    reduced
}

/// The signals of a rank that has sent all parts to their owners: the last in pieces, each on a lane
/// of its own.
struct SentParts {
    /// After the pieces of the last part.
    last: Vec<Signal>,
    /// After what was sent before on the lane of the second piece.
    before: Option<Signal>,
}

impl SentParts {
    fn send(
        plan: &mut StepWriter,
        rank: usize,
        parts: &[Range<usize>],
        place: impl Fn(usize, &Range<usize>) -> Range<usize>,
    ) -> SentParts {
        let ranks = plan.ranks();
        let send = |plan: &mut StepWriter, step: usize, to: usize, piece: &Range<usize>| {
            let there = (to, scratch(&place(to, piece)));
            plan.first_copy(rank, Lane::of_copy(step), tensor(piece), there);
        };
        for step in 1..ranks - 1 {
            let to = (rank + step) % ranks;
            send(plan, step, to, &parts[to]);
        }
        let (step, to) = (ranks - 1, (rank + ranks - 1) % ranks);
        let mut sent = SentParts { last: Vec::new(), before: None };
        for (number, piece) in cut(&parts[to]).iter().enumerate() {
            let lane = Lane::of_copy(step + number);
            if number == 1 && ranks > 2 {
                sent.before = Some(plan.signal(rank, lane));
            }
            send(plan, step + number, to, piece);
            sent.last.push(plan.signal(rank, lane));
        }
        if sent.before.is_none() && ranks > 2 {
            sent.before = Some(plan.signal(rank, Lane::of_copy(step + 1)));
        }
        sent
    }

    /// The signal after which a piece is there that was sent in that turn; `None` if it came with the
    /// piece before.
    fn arrival(&self, step: usize, ranks: usize, piece: usize) -> Option<Signal> {
        match (step + 1 == ranks, piece) {
            (true, piece) => Some(self.last[piece]),
            (false, 0) if step % 2 == (ranks - 1) % 2 => Some(self.last[0]),
            (false, 0) => self.before,
            (false, _) => None,
        }
    }
}

/// Sends the part of each rank to all others, whose memory may be written since they have sent theirs.
fn spread_parts(plan: &mut StepWriter, parts: &[Range<usize>], reduced: &[ReducedPieces]) {
    let ranks = plan.ranks();
    let mut ends = Vec::new();
    for rank in 0..ranks {
        let Some((_, last)) = reduced[rank].last() else { continue };
        for step in 1..ranks {
            let to = (rank + step) % ranks;
            if step > 1 {
                let (lane, own) = (Lane::of_copy(step), tensor(&parts[rank]));
                plan.wait(rank, lane, *last);
                plan.copy(rank, lane, own.clone(), (to, own));
                continue;
            }
            for (number, (piece, signal)) in reduced[rank].iter().enumerate() {
                let lane = Lane::of_copy(step + number);
                plan.wait(rank, lane, *signal);
                plan.copy(rank, lane, tensor(piece), (to, tensor(piece)));
            }
        }
        let copies = ranks - 2 + reduced[rank].len();
        ends.push(lane_ends(plan, rank, copies));
    }
    for rank in 0..ranks {
        for from in others(rank, ranks) {
            let step = (rank + ranks - from) % ranks;
            plan.wait(rank, Lane::Compute, ends[from][step % 2]);
            if step == 1 && reduced[from].len() > 1 {
                plan.wait(rank, Lane::Compute, ends[from][0]);
            }
        }
    }
}
