//! The programs that are tried: random ones, and such as are drawn.

use proptest::prelude::*;

use super::{MIB, POOLS, STREAMS};
use crate::drawn::Draws;
use crate::effort;

#[derive(Debug, Clone)]
pub(super) enum Step {
    Allocate {
        stream: usize,
        bytes: u64,
        pool: Option<usize>,
    },
    /// The block is used on the streams that are set, then freed.
    Free {
        block: usize,
        used_on: [bool; STREAMS],
    },
    /// One stream's later work comes after another's so far.
    Wait {
        stream: usize,
        other: usize,
    },
    Complete {
        stream: usize,
    },
    /// A stream does its work, and another takes its place, unless it holds memory or there were graphs.
    End {
        stream: usize,
    },
    Release,
    /// Memory that is not used for some time goes back.
    Tick {
        after: u64,
        idle: u64,
    },
    /// Graphs work once more in all memory of a pool, on the streams that are set, and are gone.
    EndPool {
        pool: usize,
        used_on: [bool; STREAMS],
    },
    ResetPeaks,
    /// A later call to the source fails.
    Fail {
        after: u32,
        broken: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let bytes = prop_oneof![
        3 => 1..4000_u64,
        2 => 1..MIB,
        3 => MIB..9 * MIB,
        1 => 9 * MIB..20 * MIB,
        1 => prop_oneof![4 => 20 * MIB..1 << 40, 1 => 1 << 40..=u64::MAX],
    ];
    let pool = prop::option::weighted(0.2, 0..POOLS);
    prop_oneof![
        8 => (stream(), bytes, pool)
            .prop_map(|(stream, bytes, pool)| Step::Allocate { stream, bytes, pool }),
        7 => (0..64_usize, any::<[bool; STREAMS]>())
            .prop_map(|(block, used_on)| Step::Free { block, used_on }),
        1 => (stream(), stream()).prop_map(|(stream, other)| Step::Wait { stream, other }),
        1 => stream().prop_map(|stream| Step::Complete { stream }),
        1 => stream().prop_map(|stream| Step::End { stream }),
        1 => Just(Step::Release),
        1 => (0..9_u64, 0..9_u64).prop_map(|(after, idle)| Step::Tick { after, idle }),
        1 => (0..POOLS, any::<[bool; STREAMS]>())
            .prop_map(|(pool, used_on)| Step::EndPool { pool, used_on }),
        1 => Just(Step::ResetPeaks),
        1 => (0..6_u32, any::<bool>()).prop_map(|(after, broken)| Step::Fail { after, broken }),
    ]
}

/// The device's memory, and the steps.
pub(super) fn program() -> impl Strategy<Value = (u64, Vec<Step>)> {
    let capacity = prop_oneof![Just(48 * MIB), Just(96 * MIB), Just(1024 * MIB)];
    (capacity, prop::collection::vec(step(), effort::steps(100)))
}

pub(super) fn drawn_step(draws: &mut Draws<'_>) -> Step {
    let stream = |draws: &mut Draws<'_>| draws.one_of(STREAMS);
    let used_on = |draws: &mut Draws<'_>| [(); STREAMS].map(|()| draws.is_set());
    match draws.below(15) {
        0..5 => {
            let pool = draws.one_of(8).checked_sub(8 - POOLS);
            Step::Allocate { stream: stream(draws), bytes: draws.any_size(24), pool }
        }
        5..8 => Step::Free { block: draws.index(), used_on: used_on(draws) },
        8 => Step::Wait { stream: stream(draws), other: stream(draws) },
        9 => Step::Complete { stream: stream(draws) },
        10 => match draws.below(2) {
            0 => Step::Release,
            _ => Step::Tick { after: draws.below(9), idle: draws.below(9) },
        },
        11 => {
            let pool = draws.one_of(POOLS);
            Step::EndPool { pool, used_on: used_on(draws) }
        }
        12 => Step::ResetPeaks,
        13 => Step::End { stream: stream(draws) },
        _ => Step::Fail { after: draws.below(6) as u32, broken: draws.is_set() },
    }
}
