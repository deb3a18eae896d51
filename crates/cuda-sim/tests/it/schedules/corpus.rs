//! Every missing wait is found, what is found replays, and what waits is never blamed.

use cuda_sim::control::{self, Bound, Schedule};

use crate::sim::{self, in_child};

use super::lab::{Lab, Program, Wait};
use super::{between_streams, with_the_host};

const SCHEDULES: u64 = 200;

/// Checks would find what the schedules are to find.
const UNCHECKED: &[(&str, &str)] = &[("CUDA_SIM_CHECK", "0")];

fn corpus() -> impl Iterator<Item = Program> {
    between_streams::PROGRAMS.iter().chain(with_the_host::PROGRAMS).copied()
}

/// Runs a program; what it computed is the error if it is wrong.
fn run(program: Program, there: Wait) -> Result<(), Vec<u32>> {
    let computed = (program.run)(&Lab::new(), there);
    if computed == program.expected { Ok(()) } else { Err(computed) }
}

#[test]
fn every_missing_wait_is_found_and_what_is_found_replays() {
    in_child(UNCHECKED, || {
        sim::start();
        for program in corpus() {
            let adversaries = (0..SCHEDULES).map(Schedule::Adversarial);
            let tried = control::try_schedules(adversaries, || run(program, Wait::Missing));
            let tried = tried.expect("the driver is initialised");
            let found = tried.failure.unwrap_or_else(|| panic!("not found: {}", program.name));
            let (schedule, computed) = found;
            for _ in 0..3 {
                let read = schedule.to_string().parse().expect("it is a schedule's text");
                let mut diverged = true;
                let again = control::try_schedules([read], || {
                    let result = run(program, Wait::Missing);
                    diverged = control::schedule_diverged().expect("it is initialised");
                    result
                });
                let again = again.expect("the driver is initialised").failure;
                assert_eq!(again, Some((schedule.clone(), computed.clone())), "{}", program.name);
                assert!(!diverged, "{}", program.name);
            }
        }
    });
}

#[test]
fn programs_that_wait_are_right_under_every_schedule() {
    in_child(UNCHECKED, || {
        sim::start();
        for program in corpus() {
            let adversaries = (0..SCHEDULES).map(Schedule::Adversarial);
            let schedules = adversaries.chain((0..20).map(Schedule::Deterministic));
            let tried = control::try_schedules(schedules, || run(program, Wait::There));
            let tried = tried.expect("the driver is initialised");
            assert_eq!((tried.schedules, tried.failure), (220, None), "{}", program.name);
        }
    });
}

#[test]
fn exploring_finds_missing_waits_too_and_nothing_else() {
    in_child(UNCHECKED, || {
        sim::start();
        let bound = Bound { delays: 2, schedules: 500 };
        // Blocks go in order there.
        for program in corpus().filter(|program| program.name != "blocks are no order") {
            let explore = |there| {
                let explored = control::explore(bound, || run(program, there));
                explored.expect("the driver is initialised")
            };
            let broken = explore(Wait::Missing);
            assert!(broken.failure.is_some(), "not found: {}", program.name);
            let right = explore(Wait::There);
            assert_eq!(right.failure, None, "{}", program.name);
        }
    });
}
