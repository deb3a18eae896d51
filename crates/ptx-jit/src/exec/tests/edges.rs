//! Warps at the edges of what all lanes do alike: accesses that only some may make, and ways that
//! only some go.

use super::harness::{Device, DeviceSlice, at_each_level};
use crate::abi::AccessKind;
use crate::exec::{FaultKind, MemoryView};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A kernel of the parameters `out`, `a` and `b` whose threads do something with their index in
/// `%t`, and write `%r` to `out[%t]`.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}
        .visible .entry kernel(.param .u64 out, .param .u64 a, .param .u64 b)
        {{
            .shared .align 4 .b8 few[80];
            .reg .pred %p<4>;
            .reg .b32 %t, %r, %x<8>;
            .reg .b64 %out, %a, %b, %o, %d<8>;
            ld.param.u64 %out, [out];
            ld.param.u64 %a, [a];
            ld.param.u64 %b, [b];
            mov.u32 %t, %tid.x;
            mul.wide.u32 %o, %t, 4;
            mov.u32 %r, 7;
            {body}
            add.s64 %out, %out, %o;
            st.global.u32 [%out], %r;
            ret;
        }}"
    )
}

fn run(device: &mut Device, threads: u32, a: u64, b: u64) -> Vec<u32> {
    let out = device.allocate(4 * threads as usize);
    device.launch("kernel", [1; 3], [threads, 1, 1], 0, &[&out, &a, &b]).expect("no fault");
    device.download(out)
}

#[test]
fn lanes_that_do_not_load_may_point_anywhere() {
    let source = kernel(
        "setp.lt.u32 %p1, %t, 20;
        mov.u64 %d1, few;
        mov.u64 %d2, few;
        cvt.u32.u64 %x1, %d2;
        shl.b32 %x2, %t, 2;
        add.u32 %x1, %x1, %x2;
        @%p1 st.shared.u32 [%x1], %x2;
        @%p1 ld.shared.u32 %r, [%x1];
        setp.gt.u32 %p2, %t, 40;
        add.s64 %d3, %a, %o;
        @%p2 ld.global.u32 %r, [%d3];",
    );
    at_each_level(&source, |device| {
        let values: Vec<u32> = (0..64).map(|value| value * value).collect();
        // The array begins where the lanes that load begin.
        let memory = device.upload(&values[41..]);
        let result = run(device, 64, memory.address - 4 * 41, 0);
        for (thread, result) in result.into_iter().enumerate() {
            let expected = match thread {
                0..20 => 4 * thread as u32,
                41.. => values[thread],
                _ => 7,
            };
            assert_eq!(result, expected, "thread {thread}");
        }
    });
}

#[test]
fn memory_beside_the_devices_own_is_reached_lane_by_lane() {
    let source = kernel(
        "setp.ne.u32 %p1, %t, 9;
        add.s64 %d1, %a, %o;
        ld.global.u32 %x1, [%d1];
        mul.lo.u32 %x1, %x1, 3;
        st.global.u32 [%d1], %x1;
        @%p1 st.global.u32 [%d1], %t;
        ld.global.u32 %r, [%d1];",
    );
    at_each_level(&source, |device| {
        let address = device.heap_allocate(256).expect("there is memory");
        let result = run(device, 64, address, 0);
        let expected = (0..64).map(|thread| if thread == 9 { 0 } else { thread });
        assert_eq!(result, expected.collect::<Vec<u32>>());
    });
}

#[test]
fn the_first_lane_that_leaves_memory_is_named() {
    let load = kernel("add.s64 %d1, %a, %o; ld.global.u32 %r, [%d1];");
    let store = kernel("add.s64 %d1, %a, %o; st.global.u32 [%d1], %t;");
    for (source, access) in [(load, AccessKind::Read), (store, AccessKind::Write)] {
        at_each_level(&source, |device| {
            let out = device.allocate(256);
            let DeviceSlice { address, .. } = device.allocate(256);
            let start = address + 256 - 4 * 45;
            let launched = device.launch("kernel", [1; 3], [64, 1, 1], 0, &[&out, &start, &0_u64]);
            let fault = launched.expect_err("thread 45 is outside");
            assert_eq!(fault.thread, [45, 0, 0]);
            let address = address + 256;
            assert_eq!(fault.kind, FaultKind::IllegalAddress { address, bytes: 4, access });
        });
    }
}

#[test]
fn a_way_of_one_lane_changes_that_lane_only() {
    for lane in [0, 9, 31, 40] {
        for (condition, lane_of) in [("eq", "%t"), ("ne", "%t"), ("eq", "%laneid")] {
            let (branch, index) = match condition {
                "eq" => ("@!%p1 bra $END;", lane),
                _ => ("@%p1 bra $END;", lane),
            };
            let source = kernel(&format!(
                "mov.u32 %x1, {lane_of};
                mul.lo.u32 %x3, %t, %t;
                setp.{condition}.u32 %p1, %x1, {index};
                {branch}
                add.u32 %r, %x3, %x1;
                add.s64 %d1, %a, %o;
                st.global.u32 [%d1], %r;
                $END:",
            ));
            at_each_level(&source, |device| {
                let marks = device.allocate(256);
                let result = run(device, 64, marks.address, 0);
                let marks: Vec<u32> = device.download(marks);
                for thread in 0..64 {
                    let own = if lane_of == "%t" { thread } else { thread % 32 };
                    let takes = own == lane;
                    let value = thread * thread + own;
                    let place = thread as usize;
                    assert_eq!(result[place], if takes { value } else { 7 }, "thread {thread}");
                    assert_eq!(marks[place], if takes { value } else { 0 }, "thread {thread}");
                }
            });
        }
    }
}

/// The limits of what 32 bits hold, and the numbers around them.
const EDGES: [u32; 12] = [
    0,
    1,
    31,
    32,
    40,
    0x7fff_ffd0,
    0x7fff_fff3,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0011,
    0xffff_ffe5,
    0xffff_ffff,
];

#[test]
fn lanes_part_where_a_count_passes_a_limit_and_where_it_wraps() {
    type Holds = fn(u32, u32) -> bool;
    let conditions: [(&str, Holds); 8] = [
        ("lt.u32", |x, limit| x < limit),
        ("le.u32", |x, limit| x <= limit),
        ("gt.u32", |x, limit| x > limit),
        ("ge.u32", |x, limit| x >= limit),
        ("lt.s32", |x, limit| x.cast_signed() < limit.cast_signed()),
        ("le.s32", |x, limit| x.cast_signed() <= limit.cast_signed()),
        ("gt.s32", |x, limit| x.cast_signed() > limit.cast_signed()),
        ("ge.s32", |x, limit| x.cast_signed() >= limit.cast_signed()),
    ];
    for (condition, holds) in conditions {
        for swapped in [false, true] {
            let operands = if swapped { "%x2, %x3" } else { "%x3, %x2" };
            let source = kernel(&format!(
                "cvt.u32.u64 %x1, %a;
                cvt.u32.u64 %x2, %b;
                add.u32 %x3, %x1, %t;
                setp.{condition} %p1, {operands};
                @%p1 bra $THERE;
                mov.u32 %r, 1;
                bra $END;
                $THERE:
                mov.u32 %r, 2;
                $END:",
            ));
            at_each_level(&source, |device| {
                for first in EDGES {
                    for limit in EDGES.into_iter().chain([first.wrapping_add(13)]) {
                        device.reset();
                        let result = run(device, 64, first.into(), limit.into());
                        for (thread, result) in (0..).zip(result) {
                            let x = first.wrapping_add(thread);
                            let is_there = if swapped { holds(limit, x) } else { holds(x, limit) };
                            let expected = if is_there { 2 } else { 1 };
                            assert_eq!(
                                result, expected,
                                "{condition} {x} {limit}, swapped: {swapped}"
                            );
                        }
                    }
                }
            });
        }
    }
}

#[test]
fn floats_are_added_atomically_in_shared_and_global_memory() {
    let source = kernel(
        "mov.u64 %d1, few;
        cvt.u32.u64 %x1, %d1;
        setp.eq.u32 %p1, %t, 0;
        @%p1 st.shared.f32 [%x1], 0f40000000;
        bar.sync 0;
        atom.shared.add.f32 %x3, [%x1], 0f3F800000;
        bar.sync 0;
        ld.shared.u32 %r, [%x1];
        red.global.add.f32 [%a], 0f3F000000;
        red.global.add.f64 [%b], 0d3FE0000000000000;",
    )
    .replace("%x<8>;", "%x<3>;\n.reg .f32 %x3;");
    at_each_level(&source, |device| {
        let (single, double) = (device.upload(&[0.5_f32]), device.upload(&[0.25_f64]));
        let result = run(device, 64, single.address, double.address);
        assert!(result.iter().all(|&bits| f32::from_bits(bits) == 66.0));
        assert_eq!(device.download::<f32>(single), [32.5]);
        assert_eq!(device.download::<f64>(double), [32.25]);
    });
}

#[test]
fn each_of_two_ways_finds_registers_as_they_were_before_the_other() {
    // As vectors, and lane by lane because of the load from anywhere.
    for load in ["", "ld.global.u32 %x6, [%d2];"] {
        let source = kernel(&format!(
            "cvt.u32.u64 %x1, %a;
            cvt.u32.u64 %x2, %b;
            mul.lo.u32 %x3, %t, %t;
            and.b32 %x4, %t, 3;
            setp.lt.u32 %p1, %x4, %x2;
            mul.wide.u32 %d1, %x4, 4;
            add.s64 %d2, %out, %d1;
            @%p1 bra FIRST;
            {load}
            add.u32 %r, %x1, %x3;
            bra JOIN;
        FIRST:
            {load}
            add.u32 %r, %x1, 5;
            mov.u32 %x1, 1000;
            mov.u32 %x3, %t;
            add.u32 %r, %r, %x1;
        JOIN:
            add.u32 %r, %r, %x4;"
        ));
        at_each_level(&source, |device| {
            for (thread, result) in run(device, 64, 40, 2).into_iter().enumerate() {
                let thread = thread as u32;
                let way = if thread % 4 < 2 { 1045 } else { 40 + thread * thread };
                assert_eq!(result, way + thread % 4, "thread {thread}, {load}");
            }
        });
    }
}

#[test]
fn only_lanes_on_a_way_reach_memory_and_keep_what_they_computed() {
    let source = kernel(
        "mov.u64 %d1, few;
        cvt.u32.u64 %x1, %d1;
        shl.b32 %x2, %t, 2;
        add.u32 %x1, %x1, %x2;
        cvt.u32.u64 %x3, %b;
        setp.ge.u32 %p1, %t, %x3;
        @%p1 bra JOIN;
        mul.lo.u32 %x4, %t, 3;
        st.shared.u32 [%x1], %x4;
        ld.shared.u32 %x5, [%x1];
        setp.gt.u32 %p2, %t, 4;
        @%p2 add.u32 %x5, %x5, 100;
        add.s64 %d2, %a, %o;
        ld.global.u32 %r, [%d2];
        add.u32 %r, %r, %x5;
    JOIN:",
    );
    at_each_level(&source, |device| {
        for members in [1_usize, 7, 19] {
            device.reset();
            let values: Vec<u32> = (0..members as u32).map(|value| value + 50).collect();
            let memory = device.upload(&values);
            let result = run(device, 32, memory.address, members as u64);
            for (thread, result) in result.into_iter().enumerate() {
                let index = thread as u32;
                let more = if thread > 4 { 100 } else { 0 };
                let expected = if thread < members { 4 * index + 50 + more } else { 7 };
                assert_eq!(result, expected, "thread {thread} of {members}");
            }
        }
    });
}

/// A kernel whose warps walk memory for so many rounds before they meet: four for each warp before
/// it (`%b` = 0), behind it (1), or none (2), and one more. Then each thread takes the sum of the warp before its own.
fn meeting(between: &str) -> String {
    kernel(&format!(
        "shr.u32 %x1, %t, 5;
        mov.u32 %x2, %ntid.x;
        shr.u32 %x2, %x2, 5;
        setp.eq.u64 %p1, %b, 0;
        sub.u32 %x3, %x2, %x1;
        selp.u32 %x3, %x1, %x3, %p1;
        shl.b32 %x3, %x3, 2;
        setp.eq.u64 %p1, %b, 2;
        @%p1 mov.u32 %x3, 0;
        add.u32 %x3, %x3, 1;
        add.s64 %d1, %a, %o;
        mov.u32 %x4, 0;
        mov.u32 %x5, 0;
    AGAIN:
        ld.global.u32 %x6, [%d1];
        add.u32 %x4, %x4, %x6;
        add.u32 %x5, %x5, 1;
        setp.lt.u32 %p2, %x5, %x3;
        @%p2 bra AGAIN;
        {between}
        add.s64 %d3, %out, %o;
        st.global.u32 [%d3], %x4;
        bar.sync 0;
        shl.b32 %x7, %x2, 5;
        add.u32 %x6, %t, %x7;
        sub.u32 %x6, %x6, 32;
        rem.u32 %x6, %x6, %x7;
        mul.wide.u32 %d4, %x6, 4;
        add.s64 %d4, %out, %d4;
        ld.global.u32 %r, [%d4];
        bar.sync 0;"
    ))
}

#[test]
fn warps_meet_that_come_to_the_barrier_in_different_sweeps() {
    // Of the last, some lanes go by themselves while others of the block wait, so that the scheduler
    // takes over.
    let parts = "setp.ne.u32 %p3, %x1, 2; @%p3 bra GO;
        and.b32 %x7, %t, 1; setp.eq.u32 %p3, %x7, 1; @!%p3 bra ODD;
        bar.sync 1, 32; bra GO; ODD: bar.sync 1, 32; GO:";
    for (between, threads) in [("", 160), ("bar.sync 1, 64;", 64), (parts, 160)] {
        let warps = threads / 32;
        at_each_level(&meeting(between), |device| {
            for order in [0, 1, 2] {
                device.reset();
                let values: Vec<u32> = (0..threads).map(|value| value * 3 + 1).collect();
                let memory = device.upload(&values);
                let result = run(device, threads, memory.address, order);
                for (thread, result) in (0..threads).zip(result) {
                    let other = (thread + threads - 32) % threads;
                    let counted = [other / 32, warps - other / 32, 0][order as usize];
                    let expected = (4 * counted + 1) * values[other as usize];
                    assert_eq!(result, expected, "thread {thread}, {order}, {between}");
                }
            }
        });
    }
}

#[test]
fn a_jump_table_may_lead_to_one_place_in_several_ways() {
    let source = kernel(
        "add.s64 %d1, %a, %o;
        ld.global.u32 %x1, [%d1];
        mov.u32 %x2, 1;
        mov.u32 %x4, 0;
        AGAIN:
        add.u32 %x2, %x2, %x4;
        ways: .branchtargets ONE, TWO, ONE, AGAIN, NEXT, AGAIN, TWO;
        mov.u32 %x3, %x1;
        mov.u32 %x1, 2;
        add.u32 %x4, %x4, 1;
        brx.idx %x3, ways;
        NEXT:
        add.u32 %x2, %x2, 100;
        ONE:
        add.u32 %x2, %x2, 1000;
        TWO:
        mov.u32 %r, %x2;",
    );
    // `%b` makes the index the same for all lanes, or another for each.
    let uniform = source.replace("ld.global.u32 %x1, [%d1];", "cvt.u32.u64 %x1, %b;");
    let expected = |way: u64| match way {
        0 | 2 => 1001,
        1 | 6 => 1,
        3 | 5 => 1002,
        _ => 1101,
    };
    at_each_level(&source, |device| {
        let values: Vec<u32> = (0..32).map(|value| value % 8).collect();
        let memory = device.upload(&values);
        let result = run(device, 32, memory.address, 0);
        assert_eq!(result, values.iter().map(|&way| expected(way.into())).collect::<Vec<u32>>());
    });
    at_each_level(&uniform, |device| {
        for way in 0..8 {
            device.reset();
            assert_eq!(run(device, 32, 0, way), [expected(way); 32]);
        }
    });
}

#[test]
fn a_kernel_may_begin_with_the_loop_in_which_it_waits() {
    let source = format!(
        "{HEAD}
        .visible .entry kernel(.param .u64 out, .param .u64 a, .param .u64 b)
        {{
            .reg .pred %p<3>;
            .reg .b32 %r<4>;
            .reg .b64 %d<3>;
            AGAIN:
            add.u32 %r1, %r1, 1;
            setp.lt.u32 %p1, %r1, 9;
            vote.sync.any.pred %p2, %p1, -1;
            @%p2 bra AGAIN;
            ld.param.u64 %d1, [out];
            mov.u32 %r2, %tid.x;
            mul.wide.u32 %d2, %r2, 4;
            add.s64 %d1, %d1, %d2;
            st.global.u32 [%d1], %r1;
            ret;
        }}"
    );
    at_each_level(&source, |device| {
        assert_eq!(run(device, 32, 0, 0), [9; 32]);
    });
}

#[test]
fn both_ways_of_a_branch_may_lead_back_to_one_place_that_touches_memory() {
    // What nvcc makes of `nextafter`: the ways differ, and are one when the compiler is done.
    let ways = ["bra.uni BACK;", "@%p2 bra BACK; bra.uni BACK;", "mov.u32 %r, 9; bra.uni BACK;"];
    for way in ways {
        let source = kernel(&format!(
            "add.s64 %d1, %a, %o;
            ld.global.u32 %x3, [%d1];
            setp.gt.u32 %p2, %x3, 1;
            bra.uni FORTH;
            BACK:
            st.global.u32 [%d1], %x4;
            bra.uni OUT;
            FORTH:
            or.b32 %x4, %x3, %x1;
            setp.eq.u32 %p3, %x4, 0;
            @%p3 bra BACK;
            {way}
            OUT:"
        ));
        at_each_level(&source, |device| {
            let values: Vec<u32> = (0..32).map(|value| value % 3).collect();
            let memory = device.upload(&values);
            let rest = if way.starts_with("mov") { 9 } else { 7 };
            let expected = values.iter().map(|&value| if value == 0 { 7 } else { rest });
            assert_eq!(run(device, 32, memory.address, 0), expected.collect::<Vec<_>>());
            assert_eq!(device.download::<u32>(memory), values);
        });
    }
}
