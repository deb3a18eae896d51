//! Operations of a warp, once all members have arrived: from what each lane brings to what each
//! gets.

use ptx::{MatrixForm, MatrixType, ReduxOp, RowExchange, ShuffleMode, Suspension, VoteMode};

use crate::abi::{OPERANDS, RESULTS};
use crate::runtime::{self, MatrixArea};

/// A value for each lane of a warp.
pub(super) type PerLane<T> = [T; 32];

/// The operands of a lane, in the order of the instruction.
type LaneOperands = [u64; OPERANDS];

/// The results of a lane.
type LaneResults = [u64; RESULTS];

/// The results of a warp's operation for the lanes in `members`. `operands` are in the order of the
/// instruction.
pub(super) fn resolve(
    suspension: Suspension,
    members: u32,
    operands: &PerLane<&LaneOperands>,
) -> PerLane<LaneResults> {
    match suspension {
        Suspension::Multiply(form) => return multiplied(form, operands),
        Suspension::ExchangeRows(exchange) => return exchange_rows(exchange, operands),
        _ => {}
    }
    let mut results = [[0; RESULTS]; 32];
    for lane in lanes(members) {
        let [first, second] = match suspension {
            Suspension::Shuffle(mode) => shuffle(mode, members, operands, lane),
            Suspension::Vote(mode) => [vote(mode, members, operands), 0],
            Suspension::Match { all, .. } => matching(all, members, operands, lane),
            Suspension::Reduce(op) => [reduce(op, members, operands), 0],
            Suspension::ActiveMask => [members, 0],
            _ => [0, 0],
        };
        results[lane][..2].copy_from_slice(&[first, second].map(u64::from));
    }
    results
}

/// The member mask that a lane gives, where the operation has one.
pub(super) fn member_mask(suspension: Suspension, operands: &LaneOperands) -> Option<u32> {
    let index = match suspension {
        Suspension::WarpBarrier => 0,
        Suspension::Vote(_) | Suspension::Match { .. } | Suspension::Reduce(_) => 1,
        Suspension::Shuffle(_) => 3,
        // What all lanes do together names none.
        Suspension::Multiply(_) | Suspension::ExchangeRows(_) => return Some(u32::MAX),
        Suspension::ActiveMask
        | Suspension::Barrier(_)
        | Suspension::Phase { .. }
        | Suspension::Yield => return None,
    };
    Some(operands[index] as u32)
}

/// The lanes of a mask.
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(lane)
    })
}

fn shuffle(
    mode: ShuffleMode,
    members: u32,
    operands: &PerLane<&LaneOperands>,
    lane: usize,
) -> [u32; 2] {
    let [_, offset, clamp, ..] = *operands[lane];
    let (source, inside) = mode.source(lane, offset as usize, clamp as usize);
    // What a lane reads from one that takes no part is left open; it gets its own value.
    let source = if members >> source & 1 != 0 { source } else { lane };
    [operands[source][0] as u32, u32::from(inside)]
}

fn vote(mode: VoteMode, members: u32, operands: &PerLane<&LaneOperands>) -> u32 {
    let ballot: u32 =
        lanes(members).filter(|&lane| operands[lane][0] != 0).map(|lane| 1 << lane).sum();
    match mode {
        VoteMode::All => u32::from(ballot == members),
        VoteMode::Any => u32::from(ballot != 0),
        VoteMode::Uniform => u32::from(ballot == members || ballot == 0),
        VoteMode::Ballot => ballot,
    }
}

fn matching(all: bool, members: u32, operands: &PerLane<&LaneOperands>, lane: usize) -> [u32; 2] {
    let equal: u32 = lanes(members)
        .filter(|&other| operands[other][0] == operands[lane][0])
        .map(|other| 1 << other)
        .sum();
    match all {
        false => [equal, 0],
        true if equal == members => [members, 1],
        true => [0, 0],
    }
}

/// The product of matrices. Lanes that are not there have zeros.
fn multiplied(form: MatrixForm, operands: &PerLane<&LaneOperands>) -> PerLane<LaneResults> {
    let [a, b, c] = form.registers();
    let narrow = form.factors[0] != MatrixType::F64;
    let mut area = MatrixArea::new();
    for index in 0..a + b + c {
        for (lane, operands) in operands.iter().enumerate() {
            area.set_operand(index, lane, operands[index], narrow);
        }
    }
    area.with_registers(|registers| runtime::multiply(registers, form));
    taken_from(&area, form.results(), narrow)
}

fn exchange_rows(exchange: RowExchange, operands: &PerLane<&LaneOperands>) -> PerLane<LaneResults> {
    let mut area = MatrixArea::new();
    for (lane, operands) in operands.iter().enumerate() {
        for (index, &word) in operands[..4].iter().enumerate() {
            area.set_operand(index, lane, word, true);
        }
    }
    area.with_registers(|registers| runtime::exchange(registers, exchange));
    taken_from(&area, exchange.results(), true)
}

fn taken_from(area: &MatrixArea, count: usize, narrow: bool) -> PerLane<LaneResults> {
    std::array::from_fn(|lane| {
        std::array::from_fn(
            |index| if index < count { area.result(index, lane, narrow) } else { 0 },
        )
    })
}

fn reduce(op: ReduxOp, members: u32, operands: &PerLane<&LaneOperands>) -> u32 {
    let values = lanes(members).map(|lane| operands[lane][0] as u32);
    let signed = |value: u32| value as i32;
    let reduced = match op {
        ReduxOp::Add => values.reduce(u32::wrapping_add),
        ReduxOp::Minimum { signed: false } => values.min(),
        ReduxOp::Maximum { signed: false } => values.max(),
        ReduxOp::Minimum { signed: true } => values.map(signed).min().map(|value| value as u32),
        ReduxOp::Maximum { signed: true } => values.map(signed).max().map(|value| value as u32),
        ReduxOp::And => values.reduce(|a, b| a & b),
        ReduxOp::Or => values.reduce(|a, b| a | b),
        ReduxOp::Xor => values.reduce(|a, b| a ^ b),
    };
    reduced.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of an operation to which lanes bring those operands.
    fn resolved(
        suspension: Suspension,
        members: u32,
        of: impl Fn(usize) -> [u64; 4],
    ) -> PerLane<LaneResults> {
        let operands: PerLane<LaneOperands> = std::array::from_fn(|lane| {
            let own = of(lane);
            std::array::from_fn(|index| own.get(index).copied().unwrap_or(0))
        });
        resolve(suspension, members, &operands.each_ref())
    }

    fn shuffled(mode: ShuffleMode, b: u64, c: u64) -> PerLane<[u64; 2]> {
        let operands = |lane| [100 + lane as u64, b, c, u64::from(u32::MAX)];
        resolved(Suspension::Shuffle(mode), u32::MAX, operands).map(|[x, y, ..]| [x, y])
    }

    #[test]
    fn shuffles_stay_inside_their_segments() {
        assert_eq!(shuffled(ShuffleMode::Down, 16, 31)[3], [119, 1]);
        assert_eq!(shuffled(ShuffleMode::Down, 16, 31)[20], [120, 0]);
        assert_eq!(shuffled(ShuffleMode::Up, 4, 0)[3], [103, 0]);
        assert_eq!(shuffled(ShuffleMode::Up, 4, 0)[4], [100, 1]);
        assert_eq!(shuffled(ShuffleMode::Butterfly, 1, 31)[6], [107, 1]);
        // Segments of eight lanes.
        let segment = (32 - 8) << 8;
        assert_eq!(shuffled(ShuffleMode::Index, 3, segment | 31)[12], [111, 1]);
        assert_eq!(shuffled(ShuffleMode::Down, 4, segment | 31)[13], [113, 0]);
        assert_eq!(shuffled(ShuffleMode::Up, 4, segment)[13], [109, 1]);
        assert_eq!(shuffled(ShuffleMode::Up, 6, segment)[13], [113, 0]);
    }

    #[test]
    fn votes_count_members_only() {
        let operands = |lane| [u64::from(lane % 2 == 0), 0, 0, 0];
        let vote = |mode, members| resolved(Suspension::Vote(mode), members, operands)[0][0];
        assert_eq!(vote(VoteMode::Ballot, 0xff), 0x55);
        assert_eq!(vote(VoteMode::All, 0x55), 1);
        assert_eq!(vote(VoteMode::All, 0x57), 0);
        assert_eq!(vote(VoteMode::Any, 0xab), 1);
        assert_eq!(vote(VoteMode::Uniform, 0x55), 1);
        assert_eq!(vote(VoteMode::Uniform, 0x3), 0);
    }

    #[test]
    fn matches_group_equal_values() {
        let operands = |lane| [lane as u64 / 16, 0, 0, 0];
        let any = resolved(Suspension::Match { all: false, bits: 64 }, u32::MAX, operands);
        assert_eq!((any[0][0], any[31][0]), (0xffff, 0xffff_0000));
        let all = resolved(Suspension::Match { all: true, bits: 32 }, 0xff, operands);
        assert_eq!(all[7][..2], [0xff, 1]);
        let all = resolved(Suspension::Match { all: true, bits: 32 }, u32::MAX, operands);
        assert_eq!(all[7], [0; RESULTS]);
    }
}
