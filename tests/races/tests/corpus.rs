//! The corpus by the race checker: each race is found under manual order and prevented by default,
//! and no program without one is reported.

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_runtime::{DriverChoice, Order, Race, RaceChecker, choose_driver, with_order};
use races::{Lab, NamedPrograms, ORDERED, RACY, RACY_IN_EVERY_ORDER, RaceProgram, Result};
use test_support::isolate;

/// Two software devices, which look at each access themselves where the program is to be right.
fn start(check: CheckKinds) {
    configure(Config { devices: 2, check, ..Config::default() }).expect("nothing runs yet");
    choose_driver(DriverChoice::Software { devices: None }).expect("nothing else is in use");
}

/// Runs a program; what became of it, and the races that were found.
fn run(program: RaceProgram, order: Order) -> (Result<bool>, Vec<Race>) {
    let lab = Lab::new().expect("there are two devices");
    let checker = RaceChecker::start();
    let outcome = with_order(order, || program(&lab));
    let races = checker.finish();
    lab.finish().expect("the devices work");
    (outcome, races)
}

fn each(programs: &[NamedPrograms], mut f: impl FnMut(&str, RaceProgram)) -> usize {
    let programs = programs.iter().flat_map(|programs| programs.iter());
    programs.map(|(name, program)| f(name, *program)).count()
}

/// Both accesses are the program's, and the report says what to do.
fn assert_is_of_the_program(name: &str, race: &Race) {
    for access in [&race.earlier, &race.later] {
        let file = access.place.file();
        // The loader's copies are asked for in its own source.
        assert!(file.contains("races/src") || file.contains("parallel/src"), "{name}: {race}");
    }
    assert_ne!(race.earlier.stream(), race.later.stream(), "{name}: {race}");
    assert_eq!(race.earlier.stream(), Some(race.missing.after.stream), "{name}: {race}");
    assert_eq!(race.later.stream(), race.missing.before, "{name}: {race}");
    assert!(race.allocation.is_some(), "{name}: {race}");
}

#[test]
fn every_race_is_reported_in_manual_order() {
    isolate(|| {
        start(CheckKinds::NONE);
        let mut missed = Vec::new();
        let count = each(RACY, |name, program| {
            let (_, races) = run(program, Order::Manual);
            races.iter().for_each(|race| assert_is_of_the_program(name, race));
            if races.is_empty() {
                missed.push(name.to_owned());
            }
        });
        assert_eq!(missed, [""; 0]);
        assert!(count >= 25, "{count}");
    })
    .run();
}

#[test]
fn by_default_order_the_same_programs_are_right_and_nothing_is_reported() {
    isolate(|| {
        start(CheckKinds::ALL);
        each(RACY, |name, program| {
            let (outcome, races) = run(program, Order::Automatic);
            assert!(outcome.expect(name), "{name}");
            assert_eq!(races, [], "{name}: {}", races[0]);
        });
    })
    .run();
}

#[test]
fn programs_that_order_their_streams_are_right_and_not_reported_in_either_order() {
    isolate(|| {
        start(CheckKinds::ALL);
        for order in [Order::Manual, Order::Automatic] {
            let count = each(ORDERED, |name, program| {
                let (outcome, races) = run(program, order);
                assert!(outcome.expect(name), "{name}");
                assert_eq!(races, [], "{name}: {}", races[0]);
            });
            assert!(count >= 25, "{count}");
        }
    })
    .run();
}

#[test]
fn races_by_address_are_reported_by_default_too() {
    isolate(|| {
        start(CheckKinds::NONE);
        for order in [Order::Manual, Order::Automatic] {
            each(RACY_IN_EVERY_ORDER, |name, program| {
                let (outcome, races) = run(program, order);
                outcome.expect(name);
                assert!(!races.is_empty(), "{name}");
                races.iter().for_each(|race| assert_is_of_the_program(name, race));
            });
        }
    })
    .run();
}

#[test]
fn memory_that_is_used_anew_is_reported_with_its_former_owner() {
    isolate(|| {
        start(CheckKinds::NONE);
        let reuse = RACY.iter().chain(RACY_IN_EVERY_ORDER).flat_map(|programs| programs.iter());
        let reuse: Vec<_> = reuse.filter(|(name, _)| name.contains("given back")).collect();
        assert!(reuse.len() >= 4);
        for (name, program) in reuse {
            let (_, races) = run(*program, Order::Manual);
            let [race] = races.as_slice() else { panic!("{name}: {races:?}") };
            assert!(race.former.is_some() && race.missing.is_reuse, "{name}: {race}");
            assert!(race.to_string().contains("record_stream"), "{name}: {race}");
        }
    })
    .run();
}
