//! Tests of the simulation, with times computed by hand.

use std::sync::Arc;
use std::time::Duration;

use smallvec::smallvec;

use super::demand::Demand;
use super::hosts::Hosts;
use super::kernel::KernelWork;
use super::position::{StreamOrdinal, StreamPosition};
use super::rate::per_second;
use super::simulation::{Simulation, TimedOperation};
use super::timestamp::Timestamp;
use crate::config::TimeModel;
use crate::links::Residence;

/// A model of round numbers: a byte takes a nanosecond wherever it goes.
const MODEL: TimeModel = TimeModel {
    call: 1,
    launch_latency: 10,
    gap: 5,
    min_kernel: 100,
    min_copy: 0,
    host_function: 50,
    pinned: 1_000_000_000,
    pageable: 500_000_000,
    host_copy: 1_000_000_000,
    port: 1_000_000_000,
    memory: 1_000_000_000,
    instructions: 1_000_000_000,
};

fn at(stream: StreamOrdinal, sequence: u64) -> StreamPosition {
    StreamPosition { stream, sequence }
}

fn copy(bytes: u64) -> Demand {
    Demand::Copy { to: Residence::Device(0), from: Residence::Pinned, bytes }
}

fn add(
    simulation: &mut Simulation,
    at: StreamPosition,
    after: Option<StreamPosition>,
    demand: Demand,
    issued: u64,
) {
    let after = after.into_iter().collect();
    simulation.enqueue(TimedOperation { at, after, demand, stamp: None }, issued, &MODEL);
}

fn decide(simulation: &mut Simulation, horizon: u64) {
    simulation.decide(|_: &Hosts| horizon, &MODEL, |_, _| 1);
}

#[test]
fn operations_of_a_stream_follow_each_other() {
    let mut simulation = Simulation::default();
    add(&mut simulation, at(0, 1), None, copy(1000), 0);
    add(&mut simulation, at(0, 2), None, copy(1000), 1);
    decide(&mut simulation, u64::MAX);
    let ends = [at(0, 1), at(0, 2)].map(|position| simulation.end_of(position));
    assert_eq!(ends, [Some(1010), Some(2015)]);
}

#[test]
fn who_could_begin_first_gets_the_link_and_of_two_the_older_stream() {
    let mut simulation = Simulation::default();
    add(&mut simulation, at(1, 1), None, copy(1000), 0);
    add(&mut simulation, at(0, 1), None, copy(100), 1);
    add(&mut simulation, at(3, 1), None, copy(10), 2);
    add(&mut simulation, at(2, 1), None, copy(20), 2);
    decide(&mut simulation, u64::MAX);
    let ends = [1, 0, 2, 3].map(|stream| simulation.end_of(at(stream, 1)));
    assert_eq!(ends, [1010, 1110, 1130, 1140].map(Some));
}

#[test]
fn nothing_is_decided_that_a_later_call_could_change() {
    let mut simulation = Simulation::default();
    add(&mut simulation, at(0, 1), None, copy(1000), 20);
    decide(&mut simulation, 15);
    assert_eq!(simulation.end_of(at(0, 1)), None);
    add(&mut simulation, at(1, 1), None, copy(500), 16);
    decide(&mut simulation, u64::MAX);
    assert_eq!(simulation.end_of(at(1, 1)), Some(526));
    assert_eq!(simulation.end_of(at(0, 1)), Some(1526));
}

#[test]
fn kernels_copies_each_way_and_other_devices_do_not_wait_for_each_other() {
    let mut simulation = Simulation::default();
    let work = KernelWork { bytes: 300, instructions: 1000 };
    let demands = [
        Demand::Kernel { device: 0, work },
        copy(1000),
        Demand::Copy { to: Residence::Pinned, from: Residence::Device(0), bytes: 1000 },
        Demand::Copy { to: Residence::Device(1), from: Residence::Pinned, bytes: 1000 },
        Demand::Copy { to: Residence::Device(2), from: Residence::Device(3), bytes: 1000 },
        Demand::Copy { to: Residence::Device(3), from: Residence::Device(2), bytes: 1000 },
    ];
    for (stream, demand) in (0..).zip(demands) {
        add(&mut simulation, at(stream, 1), None, demand, 0);
    }
    decide(&mut simulation, u64::MAX);
    assert!((0..6).all(|stream| simulation.end_of(at(stream, 1)) == Some(1010)));
}

#[test]
fn copies_out_of_a_port_and_into_one_share_it() {
    let mut simulation = Simulation::default();
    let between = |from, to| Demand::Copy {
        to: Residence::Device(to),
        from: Residence::Device(from),
        bytes: 100,
    };
    for (stream, demand) in (0..).zip([between(0, 1), between(0, 2), between(3, 2)]) {
        add(&mut simulation, at(stream, 1), None, demand, 0);
    }
    decide(&mut simulation, u64::MAX);
    let ends = [0, 1, 2].map(|stream| simulation.end_of(at(stream, 1)));
    assert_eq!(ends, [110, 210, 310].map(Some));
}

#[test]
fn a_stream_goes_on_when_what_it_waits_for_has_ended() {
    let mut simulation = Simulation::default();
    add(&mut simulation, at(0, 1), None, copy(1000), 0);
    add(&mut simulation, at(1, 1), Some(at(0, 1)), Demand::Nothing, 1);
    add(&mut simulation, at(1, 2), None, Demand::HostFunction, 2);
    let stamp = Arc::new(Timestamp::default());
    let entry = TimedOperation {
        at: at(1, 3),
        after: smallvec![],
        demand: Demand::Nothing,
        stamp: Some(Arc::clone(&stamp)),
    };
    simulation.enqueue(entry, 3, &MODEL);
    decide(&mut simulation, u64::MAX);
    assert_eq!(simulation.end_of(at(1, 1)), Some(1010));
    assert_eq!(simulation.end_of(at(1, 2)), Some(1065));
    assert_eq!(stamp.nanoseconds(), Some(1065));
}

#[test]
fn a_waiting_thread_goes_on_when_what_it_waits_for_has_ended_and_holds_up_what_is_later() {
    let mut simulation = Simulation::default();
    simulation.hosts.enter(7, 0);
    add(&mut simulation, at(0, 1), None, copy(1000), 0);
    add(&mut simulation, at(1, 1), Some(at(0, 1)), copy(1000), 0);
    simulation.hosts.wait(7, at(0, 1));
    simulation.decide(|hosts| hosts.horizon(None), &MODEL, |_, _| 1);
    assert_eq!(simulation.hosts.clock(7), 1010);
    assert_eq!(simulation.end_of(at(1, 1)), None);
}

#[test]
fn a_slow_way_takes_as_many_times_as_long() {
    let (_, time) = copy(1000).cost(&MODEL, |_, _| 8);
    assert_eq!(time, 8000);
}

#[test]
fn times_are_rounded_up_and_never_overflow() {
    assert_eq!(per_second(1, 3_000_000_000), 1);
    assert_eq!(per_second(0, 1), 0);
    assert_eq!(per_second(u64::MAX, 0), u64::MAX);
}

/// The threads that hold up what the thread 1 waits for, if all others sleep or run as it is said.
fn stuck_after_a_look(hosts: &mut Hosts, asleep: Option<u64>) -> Vec<u64> {
    hosts.look(1, |_| asleep);
    hosts.stuck(1, 400, Duration::ZERO, false)
}

#[test]
fn threads_are_idle_if_all_sleep_or_wait_for_the_simulation() {
    let mut hosts = Hosts::default();
    (0..3).for_each(|number| hosts.enter(number, 0));
    hosts.ask(2, Some(100));
    hosts.look(1, |_| Some(5));
    assert!(!hosts.are_idle(1), "the first one may have slept for a moment only");
    hosts.look(1, |_| Some(5));
    assert!(hosts.are_idle(1));
    hosts.ask(2, None);
    hosts.returns(2, 50);
    hosts.look(1, |_| Some(5));
    assert!(!hosts.are_idle(1), "the last one gets its bytes, and may wake the first one");
}

#[test]
fn who_waits_for_the_simulation_is_told_when_all_others_have_come_to_where_it_is() {
    let mut hosts = Hosts::default();
    (0..3).for_each(|number| hosts.enter(number, 0));
    assert!(!hosts.has_news(), "nobody waits");
    hosts.ask(0, Some(100));
    hosts.spend(1, 100, 0);
    assert!(!hosts.has_news(), "the last one may call before");
    hosts.spend(2, 150, 0);
    assert!(hosts.has_news());
}

#[test]
fn a_thread_that_the_driver_is_about_to_let_go_on_is_not_set_aside_while_it_sleeps() {
    let mut hosts = Hosts::default();
    (0..3).for_each(|number| hosts.enter(number, 0));
    hosts.wait(0, at(7, 1));
    assert_eq!(hosts.horizon(Some(1)), 0, "the last thread may call at once");
    hosts.advance(2, 500);
    assert_eq!(hosts.horizon(Some(1)), 500);
    hosts.wake(at(7, 1), 300);
    assert_eq!(hosts.horizon(Some(1)), 300);
    (0..2).for_each(|_| assert_eq!(stuck_after_a_look(&mut hosts, Some(5)), []));
    hosts.spend(0, 0, 0);
    let mut stuck = |asleep| stuck_after_a_look(&mut hosts, asleep);
    assert_eq!(stuck(Some(5)), [], "it may just have waited for a lock");
    assert_eq!(stuck(Some(6)), [], "it has run meanwhile");
    assert_eq!(stuck(None), [], "it runs");
    assert_eq!(stuck(Some(5)), []);
    assert_eq!(stuck(Some(5)), [0], "it is the program that sleeps");
    hosts.set_aside(0);
    assert_eq!(hosts.horizon(Some(1)), 500);
}
