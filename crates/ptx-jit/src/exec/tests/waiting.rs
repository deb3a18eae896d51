//! Loops in which threads and blocks wait for each other, and launches that are told to end.

use std::sync::atomic::{AtomicBool, Ordering};

use super::harness::{at_each_level, corpus};
use crate::exec::FaultKind;

#[test]
fn a_lock_goes_round_a_block() {
    at_each_level(corpus!("waiting"), |device| {
        let (mutex, counter) = (device.allocate(4), device.allocate(4));
        device.launch("lock", [3, 1, 1], [64, 1, 1], 0, &[&mutex, &counter]).expect("no fault");
        assert_eq!(device.download::<i32>(counter), [192]);
    });
}

#[test]
fn a_thread_that_spins_lets_the_others_go_on() {
    at_each_level(corpus!("waiting"), |device| {
        for kernel in ["flag", "flag_by_call"] {
            let (ready, output) = (device.allocate(4), device.allocate(4));
            device.launch(kernel, [1, 1, 1], [64, 1, 1], 0, &[&ready, &output]).expect("no fault");
            assert_eq!(device.download::<i32>(output), [1]);
        }
    });
}

#[test]
fn a_warp_that_spins_together_lets_the_others_go_on() {
    at_each_level(corpus!("waiting"), |device| {
        for blocks in [1, 2, 20] {
            let (ready, output) = (device.allocate(4), device.allocate(32 * 4));
            device
                .launch("warp_spins", [blocks, 1, 1], [64, 1, 1], 0, &[&ready, &output])
                .expect("no fault");
            assert_eq!(device.download::<i32>(output), [1; 32]);
        }
    });
}

#[test]
fn all_blocks_of_a_run_can_meet() {
    at_each_level(corpus!("waiting"), |device| {
        let (arrived, values) = (device.allocate(4), device.allocate(20 * 4));
        let output = device.allocate(20 * 4);
        device
            .launch("grid_barrier", [20, 1, 1], [64, 1, 1], 0, &[&arrived, &values, &output])
            .expect("no fault");
        assert_eq!(device.download::<i32>(output), [210; 20]);
    });
}

#[test]
fn a_launch_that_would_not_end_can_be_ended() {
    at_each_level(corpus!("waiting"), |device| {
        let place = device.allocate(4);
        for kernel in ["forever", "forever_quietly", "warp_forever"] {
            let interrupted = AtomicBool::new(false);
            let result = std::thread::scope(|scope| {
                let run = || {
                    device.launch_until(&interrupted, kernel, ([1; 3], [32, 1, 1]), 0, &[&place])
                };
                let running = scope.spawn(run);
                interrupted.store(true, Ordering::Relaxed);
                running.join().expect("no panic")
            });
            assert_eq!(result.expect_err("it runs forever").kind, FaultKind::Interrupted);
        }
    });
}
