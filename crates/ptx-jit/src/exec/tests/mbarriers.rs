//! Barriers in memory, and copies that arrive there.

use super::harness::{Device, at_each_level};
use crate::exec::{Fault, FaultKind};

/// A kernel of 64 threads, each with the address of its word of the output in `%o` and its number in `%t`,
/// whose first thread has made a barrier for `arrivals` in `bar`.
fn kernel(arrivals: u32, body: &str) -> String {
    format!(
        ".version 8.7 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {{
        .reg .b64 %o, %i, %d, %e, %state; .reg .b32 %t, %s, %x, %y, %z; .reg .pred %p, %first;
        .shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 bar;
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;
        mul.wide.u32 %d, %t, 4; add.u64 %o, %o, %d; setp.eq.u32 %first, %t, 0;
        mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
        @%first mbarrier.init.shared::cta.b64 [bar], {arrivals};
        fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;
        {body}
        ret; }}"
    )
}

fn run(device: &mut Device) -> Result<Vec<u32>, Fault> {
    device.reset();
    let words: Vec<u32> = (0..256).map(|index| index * 3 + 1).collect();
    let (input, output) = (device.upload(&words), device.allocate(256));
    device.launch("k", [1; 3], [64, 1, 1], 0, &[&output, &input])?;
    Ok(device.download(output))
}

/// Runs a kernel at each level, in lockstep and thread by thread, and compares what it writes.
fn check(arrivals: u32, body: &str, expected: impl Fn(u32) -> u32) {
    at_each_level(&kernel(arrivals, body), |device| {
        for mode in
            [crate::program::ExecutionMode::Lockstep, crate::program::ExecutionMode::Threads]
        {
            device.mode = mode;
            let expected: Vec<_> = (0..64).map(&expected).collect();
            assert_eq!(run(device).expect("no fault"), expected, "{body}");
        }
    });
}

/// A thread reads what the one at the other end of the block has written.
const EXCHANGE: &str = "mov.u32 %y, tile; sub.u32 %x, 63, %t; mad.lo.u32 %y, %x, 4, %y;
    ld.shared.u32 %x, [%y]; st.global.u32 [%o], %x;";

#[test]
fn threads_wait_for_a_phase_by_its_state() {
    for wait in ["try_wait", "test_wait.acquire.cta"] {
        let body = format!(
            "st.shared.u32 [%s], %t; mbarrier.arrive.release.cta.shared::cta.b64 %state, [bar];
            AGAIN: mbarrier.{wait}.shared::cta.b64 %p, [bar], %state; @!%p bra AGAIN; {EXCHANGE}"
        );
        check(64, &body, |thread| 63 - thread);
    }
}

#[test]
fn threads_wait_for_phases_by_their_parity() {
    // The first phase is for the writes, the second for the reads.
    let body = "st.shared.u32 [%s], %t; mbarrier.arrive.shared.b64 _, [bar];
        A: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0, 1000; @!%p bra A;
        mov.u32 %y, tile; sub.u32 %x, 63, %t; mad.lo.u32 %y, %x, 4, %y;
        ld.shared.u32 %x, [%y]; mbarrier.arrive.shared.b64 _, [bar], 1;
        B: mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 1; @!%p bra B;
        st.shared.u32 [%s], %x; mbarrier.arrive.shared.b64 _, [bar];
        C: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra C;
        ld.shared.u32 %x, [%y]; st.global.u32 [%o], %x;";
    check(64, body, |thread| thread);
}

#[test]
fn a_barrier_is_found_by_a_generic_address() {
    let body = format!(
        "mov.u64 %d, bar; cvta.shared.u64 %d, %d; st.shared.u32 [%s], %t;
        mbarrier.arrive.b64 %state, [%d];
        AGAIN: mbarrier.try_wait.b64 %p, [%d], %state; @!%p bra AGAIN; {EXCHANGE}"
    );
    check(64, &body, |thread| 63 - thread);
}

#[test]
fn one_thread_may_arrive_for_others_and_others_need_not_wait() {
    // The second warp arrives once for each of its threads, and the first waits.
    let body = "setp.lt.u32 %p, %t, 32; @%p bra WAIT; st.shared.u32 [%s], %t; bar.warp.sync -1;
        setp.eq.u32 %p, %t, 32; @%p mbarrier.arrive.shared.b64 _, [bar], 32;
        st.global.u32 [%o], %t; bra END;
        WAIT: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra WAIT;
        ld.shared.u32 %x, [%s+128]; st.global.u32 [%o], %x; END:";
    check(32, body, |thread| if thread < 32 { thread + 32 } else { thread });
}

#[test]
fn a_state_tells_how_many_arrivals_were_missing() {
    let body = "mbarrier.arrive.noComplete.shared.b64 %state, [bar], 1;
        mbarrier.pending_count.b64 %x, %state; bar.sync 0; st.global.u32 [%o], %x;
        @%first mbarrier.inval.shared.b64 [bar];";
    at_each_level(&kernel(100, body), |device| {
        let mut counts = run(device).expect("no fault");
        counts.sort_unstable();
        assert_eq!(counts, (37..=100).collect::<Vec<_>>());
    });
}

#[test]
fn who_drops_out_is_not_waited_for_again() {
    let body = "setp.ge.u32 %p, %t, 32; @%p bra DROP; mbarrier.arrive.shared.b64 _, [bar];
        A: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra A;
        mbarrier.arrive.shared.b64 _, [bar];
        B: mbarrier.try_wait.parity.shared.b64 %p, [bar], 1; @!%p bra B;
        bra END; DROP: mbarrier.arrive_drop.shared.b64 _, [bar]; END: st.global.u32 [%o], %t;";
    check(64, body, |thread| thread);
}

#[test]
fn bulk_copies_arrive_with_their_bytes() {
    let body = "mov.u64 %e, %o; mov.u32 %x, tile; @!%first bra WAIT;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%x], [%i], 128, [bar];
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%x+128], [%i+128], 128, [bar];
        WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra WAIT;
        ld.shared.u32 %y, [%s]; add.u32 %y, %y, 1; st.shared.u32 [%s+512], %y;
        fence.proxy.async.shared::cta; bar.sync 0; @!%first bra END;
        cp.async.bulk.global.shared::cta.bulk_group [%e], [%x+512], 256;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; END:";
    check(1, body, |thread| thread * 3 + 2);
}

#[test]
fn copies_arrive_when_they_are_done() {
    for (arrivals, noinc) in [(64, ".noinc"), (128, "")] {
        let own = if noinc.is_empty() { "mbarrier.arrive.shared.b64 _, [bar], 2;" } else { "" };
        let body = format!(
            "mul.wide.u32 %d, %t, 4; add.u64 %i, %i, %d;
            cp.async.ca.shared.global [%s], [%i], 4;
            cp.async.mbarrier.arrive{noinc}.shared::cta.b64 [bar]; {own}
            WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra WAIT; {EXCHANGE}"
        );
        check(arrivals, &body, |thread| (63 - thread) * 3 + 1);
    }
}

#[test]
fn threads_that_wait_for_a_phase_that_never_completes_are_a_deadlock() {
    for wait in ["try_wait", "test_wait"] {
        let body = format!(
            "mbarrier.arrive.shared.b64 %state, [bar];
            AGAIN: mbarrier.{wait}.shared::cta.b64 %p, [bar], %state; @!%p bra AGAIN;
            st.global.u32 [%o], %t;"
        );
        at_each_level(&kernel(65, &body), |device| {
            let fault = run(device).expect_err("one arrival is missing");
            assert_eq!(fault.kind, FaultKind::BarrierDivergence { waiting: 64 });
        });
    }
}

#[test]
fn a_bulk_copy_stays_inside_the_memory_that_it_may_touch() {
    let copy = |place: &str, bytes: u32| {
        format!(
            "mov.u32 %x, tile; @!%first bra END;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes \
                [%x+{place}], [%i], {bytes}, [bar]; END: st.global.u32 [%o], %t;"
        )
    };
    at_each_level(&kernel(1, &copy("1024", 1 << 14)), |device| {
        let fault = run(device).expect_err("it leaves shared memory");
        assert!(matches!(fault.kind, FaultKind::IllegalAddress { .. } | FaultKind::Refused(_)));
    });
    for (place, bytes) in [("0", 24), ("8", 32)] {
        at_each_level(&kernel(1, &copy(place, bytes)), |device| {
            let fault = run(device).expect_err("it is not aligned");
            let misaligned = FaultKind::MisalignedAddress {
                address: 0,
                bytes,
                access: crate::abi::AccessKind::Read,
            };
            assert_eq!(std::mem::discriminant(&fault.kind), std::mem::discriminant(&misaligned));
        });
    }
}
