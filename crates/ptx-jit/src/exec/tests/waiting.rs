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

/// Registers that live across waits: read before and behind them, written on one of two ways, never
/// touched, and those of a wait that only some lanes come to.
const LIVE: &str = ".version 6.3 .target sm_75 .address_size 64
    .visible .entry live(.param .u64 out) {
        .reg .b32 %t, %a, %b, %c, %d, %e, %s; .reg .b16 %h; .reg .b64 %o, %w; .reg .pred %p, %q;
        mov.u32 %t, %tid.x;
        mul.lo.u32 %a, %t, 3;
        mov.u32 %b, 7;
        mov.u32 %c, 100;
        cvt.u16.u32 %h, %t;
        cvt.u64.u32 %w, %t;
        setp.lt.u32 %p, %t, 16;
        setp.eq.u32 %q, %t, 5;
        @%p shfl.sync.bfly.b32 %b, %a, 1, 31, 0xffff;
        add.u32 %c, %c, %b;
        shfl.sync.bfly.b32 %d, %c, 2, 31, -1;
        @!%p mov.u32 %a, %d;
        shfl.sync.bfly.b32 %e, %a, 4, 31, -1;
        bar.sync 0;
        mad.lo.u32 %s, %b, 4, %c;
        mov.u32 %b, 1;
        @%q bra OTHER;
        bar.sync 0;
        mov.u32 %c, 2;
        bra BOTH;
    OTHER:
        bar.sync 0;
        add.u32 %s, %s, 1000;
    BOTH:
        mad.lo.u32 %s, %c, 64, %s;
        mad.lo.u32 %s, %e, 3, %s;
        add.u32 %s, %s, %b;
        cvt.u32.u16 %d, %h;
        add.u32 %s, %s, %d;
        cvt.u32.u64 %d, %w;
        add.u32 %s, %s, %d;
        selp.u32 %d, 5, 0, %p;
        add.u32 %s, %s, %d;
        ld.param.u64 %o, [out];
        shl.b64 %w, %w, 2;
        add.u64 %o, %o, %w;
        st.global.u32 [%o], %s;
        ret;
    }";

#[test]
fn registers_keep_their_values_while_their_thread_waits() {
    at_each_level(LIVE, |device| {
        let output = device.allocate(32 * 4);
        device.launch("live", [1; 3], [32, 1, 1], 0, &[&output]).expect("no fault");
        let b = |t: u32| if t < 16 { (t ^ 1) * 3 } else { 7 };
        let c = |t: u32| 100 + b(t);
        let a = |t: u32| if t < 16 { 3 * t } else { c(t ^ 2) };
        let expected: Vec<u32> = (0..32)
            .map(|t| {
                let (last, more) = if t == 5 { (c(t), 1000) } else { (2, 0) };
                let chosen = if t < 16 { 5 } else { 0 };
                4 * b(t) + c(t) + more + 64 * last + 3 * a(t ^ 4) + 1 + t + t + chosen
            })
            .collect();
        assert_eq!(device.download::<u32>(output), expected);
    });
}
