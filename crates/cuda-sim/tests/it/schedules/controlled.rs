//! What holds for every program under schedules that run one operation at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use cuda_sim::control::{self, Schedule};
use cuda_sys::CUresult;

use crate::sim::{self, DEFAULT, Gate, KERNELS, enqueue, in_child};
use crate::{cuda, ok};

use super::lab::*;

/// Sets a schedule, in a process of the test's own.
fn under(schedule: Schedule) -> Lab {
    sim::start();
    control::set_schedule(&schedule).expect("the driver is initialised");
    Lab::new()
}

/// The order in which host functions of three streams are called.
fn calls(schedule: &Schedule) -> (Vec<usize>, Schedule) {
    control::reset().expect("no host function");
    control::set_schedule(schedule).expect("the driver is initialised");
    let lab = Lab::new();
    let called = Arc::new(Mutex::new(Vec::new()));
    let streams: [_; 3] = lab.streams();
    for round in 0..4 {
        for (index, &stream) in streams.iter().enumerate() {
            let called = Arc::clone(&called);
            let name = 10 * index + round;
            enqueue(stream, move || called.lock().expect("no panic").push(name));
        }
    }
    lab.finish();
    let trace = control::schedule().expect("the driver is initialised");
    let called = called.lock().expect("no panic").clone();
    (called, trace)
}

#[test]
fn a_seed_gives_the_same_order_each_time_and_another_seed_another() {
    in_child(&[], || {
        sim::start();
        for kind in [Schedule::Deterministic, Schedule::Adversarial] {
            let mut orders = Vec::new();
            for seed in 0..10 {
                let first = calls(&kind(seed));
                assert_eq!(calls(&kind(seed)), first);
                assert_eq!(calls(&first.1), first);
                orders.push(first.0);
            }
            orders.sort();
            orders.dedup();
            assert!(orders.len() > 5, "{orders:?}");
        }
    });
}

#[test]
fn nothing_changes_under_load() {
    in_child(&[], || {
        sim::start();
        let idle: Vec<_> = (0..20).map(|seed| calls(&Schedule::Adversarial(seed))).collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            let loaded: Vec<_> = (0..20).map(|seed| calls(&Schedule::Adversarial(seed))).collect();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(idle, loaded);
        });
    });
}

#[test]
fn work_of_one_stream_keeps_its_order() {
    in_child(&[], || {
        sim::start();
        for seed in 0..20 {
            let (called, _) = calls(&Schedule::Adversarial(seed));
            for stream in 0..3 {
                let own: Vec<_> = called.iter().filter(|&name| name / 10 == stream).collect();
                assert!(own.is_sorted(), "{called:?}");
            }
        }
    });
}

#[test]
fn a_program_that_asks_in_a_loop_comes_to_its_end() {
    in_child(&[], || {
        let lab = under(Schedule::Adversarial(1));
        for _ in 0..20 {
            let (x, event, [one, two]) = (lab.buffer(0), lab.event(), lab.streams());
            fill(x, 1, one);
            record(event, one);
            wait(two, event);
            fill(x, 2, two);
            while cuda!(cuStreamQuery(two)) == CUresult::CUDA_ERROR_NOT_READY {}
            assert_eq!(lab.result(x), [2; LENGTH]);
        }
    });
}

#[test]
fn what_waits_for_the_program_is_gone_round() {
    in_child(&[], || {
        let lab = under(Schedule::Adversarial(2));
        let (x, [one, two]) = (lab.buffer(0), lab.streams());
        let gate = Gate::close(one);
        fill(x, 1, two);
        synchronize(two);
        gate.open();
        lab.finish();
    });
}

#[test]
fn a_kernel_that_waits_for_the_program_is_gone_round() {
    in_child(&[("CUDA_SIM_SCHEDULE", "seed:3")], || {
        sim::start();
        let lab = Lab::new();
        let (flag, x, [one, two]) = (lab.pinned(1), lab.buffer(0), lab.streams());
        launch(lab.kernel(KERNELS, c"forever"), 1, one, &[lab.buffer(0)]);
        fill(x, 1, two);
        synchronize(two);
        assert_eq!(sim::download::<u32, 1>(x), [1]);
        flag.write(0);
        control::reset().expect("no host function");
    });
}

#[test]
fn what_nobody_waits_for_runs_all_the_same() {
    in_child(&[], || {
        let lab = under(Schedule::Adversarial(0));
        let (tell, told) = channel();
        enqueue(lab.stream(), move || tell.send(()).expect("somebody listens"));
        told.recv().expect("it is called");
    });
}

#[test]
fn a_program_that_is_replayed_and_does_something_else_is_told() {
    in_child(&[], || {
        sim::start();
        let (_, trace) = calls(&Schedule::Adversarial(3));
        let Schedule::Replay(mut trace) = trace else { panic!("a record") };
        trace.choices.insert(0, control::Choice::Run(77));
        let lab = under(Schedule::Replay(trace));
        let [one, two] = lab.streams();
        enqueue(one, || ());
        enqueue(two, || ());
        lab.finish();
        assert!(control::schedule_diverged().expect("the driver is initialised"));
    });
}

#[test]
fn schedules_can_be_changed_with_streams_and_memory_in_place() {
    in_child(&[], || {
        let lab = under(Schedule::Fast);
        let (x, [one, two], event) = (lab.buffer(0), lab.streams(), lab.event());
        let schedules = [Schedule::Adversarial(1), Schedule::Fast, Schedule::Deterministic(1)];
        for (value, schedule) in (1..).zip(schedules) {
            fill(x, 0, one);
            control::set_schedule(&schedule).expect("the driver is initialised");
            fill(x, value, one);
            record(event, one);
            wait(two, event);
            ok!(cuMemsetD32Async(x, 9, 1, two));
            ok!(cuMemsetD32Async(x, 9, 0, DEFAULT));
            assert_eq!(lab.result(x), [9, value, value, value]);
        }
    });
}
