//! Explores what threads may do to the state: at each step, any thread that can go on does so.

use std::collections::HashSet;

use proptest::prelude::*;

use super::super::split_mix::SplitMix64;
use super::model::{Call, Machine, Program};

/// Visits all that can happen. Returns how many states that were.
fn explore(program: &Program) -> usize {
    let mut seen = HashSet::new();
    let mut paths = vec![Vec::new()];
    while let Some(path) = paths.pop() {
        let at = || {
            let mut machine = Machine::new(program);
            path.iter().for_each(|&index| machine.step(index));
            machine
        };
        let machine = at();
        let able = machine.able();
        if able.is_empty() {
            machine.check_end();
        }
        for index in able {
            let mut machine = at();
            machine.step(index);
            if seen.insert(machine.signature()) {
                paths.push(path.iter().copied().chain([index]).collect());
            }
        }
    }
    seen.len()
}

fn job(stream: usize) -> (usize, Call) {
    (stream, Call::Job { pieces: 1, spins_for: None })
}

fn wait(stream: usize) -> (usize, Call) {
    (stream, Call::Wait)
}

#[test]
fn hosts_that_wait_and_a_worker_share_one_slot_whatever_the_order() {
    let calls =
        vec![job(0), job(1), (0, Call::Job { pieces: 2, spins_for: None }), wait(0), wait(1)];
    let program = Program { slots: 1, streams: vec![0, 0], calls, watchers: vec![] };
    assert!(explore(&program) > 100);
}

#[test]
fn a_job_that_spins_for_another_leaves_it_the_only_slot_whatever_the_order() {
    let spins = (1, Call::Job { pieces: 1, spins_for: Some(0) });
    let calls = vec![job(0), spins, wait(0), wait(1)];
    let program = Program { slots: 1, streams: vec![0, 0], calls, watchers: vec![] };
    assert!(explore(&program) > 100);
}

#[test]
fn hosts_that_wait_for_one_stream_are_all_woken_whatever_the_order() {
    let calls = vec![job(0), (0, Call::HostFunction), job(0), wait(0)];
    let program = Program { slots: 2, streams: vec![0], calls, watchers: vec![vec![0]] };
    assert!(explore(&program) > 100);
}

fn call(streams: usize) -> impl Strategy<Value = (usize, u64, u8, usize)> {
    (0..streams, 1..4_u64, 0..8_u8, any::<usize>())
}

prop_compose! {
    fn program()(streams in prop::collection::vec(prop_oneof![4 => Just(0_usize), 1 => Just(2)], 1..5))
        (slots in 1..4_usize,
         calls in prop::collection::vec(call(streams.len()), 1..16),
         watchers in prop::collection::vec(prop::collection::vec(0..streams.len(), 1..4), 0..3),
         streams in Just(streams))
    -> Program {
        let calls = calls.into_iter().enumerate().map(|(index, (stream, pieces, kind, other))| {
            let call = match kind {
                0..3 => Call::Job { pieces, spins_for: None },
                3..5 => Call::Job { pieces, spins_for: (index > 0).then(|| other % index.max(1)) },
                5 => Call::HostFunction,
                _ => Call::Wait,
            };
            (stream, call)
        });
        Program { slots, streams, calls: calls.collect(), watchers }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_threads_do_all_work_is_done_and_no_more_of_them_sit_than_there_are_slots(
        program in program(),
        seed: u64,
    ) {
        let mut machine = Machine::new(&program);
        let mut random = SplitMix64::new(seed, 0);
        for _ in 0..20_000 {
            let able = machine.able();
            if able.is_empty() {
                break;
            }
            machine.step(able[random.below(able.len())]);
        }
        prop_assert!(machine.able().is_empty(), "it goes on and on");
        machine.check_end();
    }
}
