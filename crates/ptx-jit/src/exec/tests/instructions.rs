//! Instructions that nvcc seldom writes, by hand.

use std::cell::RefCell;

use super::harness::{Argument, at_each_level};

/// A kernel `k` with parameters `out` and `in`, and registers to work with.
fn module(body: &str) -> String {
    format!(
        ".version 7.8 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {{
        .reg .b64 %d<8>; .reg .b64 %o, %i; .reg .b32 %r<16>; .reg .b32 %t; .reg .b16 %h<4>;
        .reg .pred %p<4>;
        .reg .f32 %f<4>;
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; mul.wide.u32 %d0, %t, 4;
        add.u64 %o, %o, %d0;
        {body}
        st.global.u32 [%o], %r0; ret; }}"
    )
}

/// What a body leaves in `%r0` for each thread of a warp, which is the same in lockstep and thread
/// at a time.
fn run(body: &str) -> Vec<u32> {
    let results = RefCell::new(Vec::new());
    at_each_level(&module(body), |device| {
        let (output, input) = (device.allocate(128), device.upload(&[7u32, 8, 9, 10]));
        device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
        results.borrow_mut().push(device.download(output));
    });
    let mut results = results.into_inner();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{body}: {results:?}");
    results.remove(0)
}

#[test]
fn a_table_of_labels_is_indexed() {
    let result = run("L: .branchtargets A, B, C, B;
        mov.u32 %r0, 9; brx.idx %t, L; bra E;
        A: mov.u32 %r0, 1; bra E; B: mov.u32 %r0, 2; bra E; C: mov.u32 %r0, 3; E:");
    assert_eq!(result[..6], [1, 2, 3, 2, 9, 9]);
}

#[test]
fn braces_hide_names() {
    let result = run("mov.u32 %r0, 5; { .reg .b32 %r<4>; mov.u32 %r0, 6; L: add.u32 %r0, %r0, 1;
        setp.lt.u32 %p0, %r0, 20; @%p0 bra L; } { L: add.u32 %r0, %r0, 10;
        setp.lt.u32 %p0, %r0, 20; @%p0 bra L; }");
    assert_eq!(result[0], 25);
}

#[test]
fn guarded_instructions_leave_the_old_value() {
    let result = run("setp.lt.u32 %p0, %t, 2; mov.u32 %r0, 1; @%p0 mov.u32 %r0, 2;
        @!%p0 add.u32 %r0, %r0, %t;
        setp.eq.u32 %p1|%p2, %t, 5; @%p1 mov.u32 %r0, 50; selp.u32 %r1, 100, 0, %p2;
        add.u32 %r0, %r0, %r1;");
    assert_eq!(result[..6], [102, 102, 103, 104, 105, 50]);
}

#[test]
fn warps_reduce() {
    let result = run(
        "and.b32 %r1, %t, 15; redux.sync.add.u32 %r0, %r1, -1; redux.sync.max.s32 %r2, %r1, -1;
        redux.sync.xor.b32 %r3, %t, -1; redux.sync.min.u32 %r4, %r1, -1;
        mad.lo.u32 %r0, %r2, 1000, %r0; add.u32 %r0, %r0, %r3; add.u32 %r0, %r0, %r4;",
    );
    assert_eq!(result, [240 + 15000; 32]);
}

#[test]
fn special_registers_tell_the_thread_its_place() {
    let result = run("mov.u32 %r0, %laneid; mov.u32 %r1, %lanemask_lt; popc.b32 %r1, %r1;
        mad.lo.u32 %r0, %r1, 100, %r0;
        mov.u32 %r1, %lanemask_ge; popc.b32 %r1, %r1; mad.lo.u32 %r0, %r1, 10000, %r0;
        mov.u32 %r1, %nwarpid; mad.lo.u32 %r0, %r1, 1000000, %r0;");
    let expected: Vec<u32> =
        (0..32).map(|lane| 1_000_000 + (32 - lane) * 10000 + lane * 101).collect();
    assert_eq!(result, expected);
}

#[test]
fn generic_addresses_know_their_space() {
    let result = run(".shared .b32 s; .local .b32 l; cvta.shared.u64 %d1, 0; mov.u64 %d2, l;
        cvta.local.u64 %d2, %d2;
        mov.u32 %r0, 0;
        isspacep.shared %p0, %d1; @%p0 or.b32 %r0, %r0, 1; isspacep.local %p0, %d1;
        @%p0 or.b32 %r0, %r0, 2;
        isspacep.local %p0, %d2; @%p0 or.b32 %r0, %r0, 4; isspacep.global %p0, %o;
        @%p0 or.b32 %r0, %r0, 8;
        isspacep.global %p0, %d2; @%p0 or.b32 %r0, %r0, 16;
        st.shared.u32 [s], 3; st.local.u32 [l], %t; ld.u32 %r1, [%d2];
        cvta.to.local.u64 %d3, %d2; ld.local.u32 %r2, [%d3];
        add.u32 %r1, %r1, %r2; mad.lo.u32 %r0, %r1, 100, %r0;");
    assert_eq!(result[3], 13 + 600);
}

#[test]
fn parameters_have_addresses() {
    let source = ".version 7.8 .target sm_75 .address_size 64
        .visible .entry k(.param .u64 out, .param .align 4 .b8 values[64]) {
        .reg .b64 %d<4>; .reg .b32 %r<4>;
        ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;
        add.u64 %d0, %d0, %d1;
        mov.b64 %d2, values; add.u64 %d2, %d2, %d1; ld.param.u32 %r1, [%d2+4];
        cvta.param.u64 %d3, %d2; ld.u32 %r2, [%d3]; mad.lo.u32 %r1, %r1, 1000, %r2;
        st.global.u32 [%d0], %r1; ret; }";
    at_each_level(source, |device| {
        let values: Vec<u8> = (0..16u32).flat_map(u32::to_le_bytes).collect();
        let output = device.allocate(64);
        device.launch("k", [1; 3], [15, 1, 1], 0, &[&output, &values]).expect("no fault");
        let expected: Vec<u32> = (0..15).map(|at| (at + 1) * 1000 + at).collect();
        assert_eq!(device.download::<u32>(output)[..15], expected);
        let arguments: [&dyn Argument; 2] = [&output, &values];
        let fault = device
            .launch("k", [1; 3], [16, 1, 1], 0, &arguments)
            .expect_err("beyond the parameters");
        assert_eq!(fault.thread, [15, 0, 0]);
    });
}

#[test]
fn loads_and_stores_extend_and_cut() {
    let result = run("st.global.b32 [%o], -2; ld.global.s8 %r1, [%o]; ld.global.u8 %r2, [%o];
        ld.global.s16 %d1, [%o];
        cvt.u32.u64 %r3, %d1; st.global.u8 [%o+1], %r2; ld.global.u16 %r4, [%o];
        add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r3; shl.b32 %r4, %r4, 16;
        add.u32 %r0, %r0, %r4;");
    // -2 and 254 and -2, and two bytes of 254 above them.
    assert_eq!(result[0], 0xfefe_0000 + 250);
}

#[test]
fn times_go_forward() {
    let result = run("mov.u64 %d1, %globaltimer; mov.u64 %d2, %clock64; mov.u64 %d3, %clock64;
        mov.u64 %d4, %globaltimer;
        setp.le.u64 %p0, %d1, %d4; setp.le.and.u64 %p0, %d2, %d3, %p0; selp.u32 %r0, 1, 0, %p0;");
    assert_eq!(result, [1; 32]);
}

#[test]
fn packing_and_unpacking_keep_the_order() {
    let result = run("mov.b32 {%h0, %h1}, 0x12345678; mov.b32 %r1, {%h1, %h0};
        mov.b64 %d1, {%r1, 5}; mov.b64 {_, %r2}, %d1;
        mov.b64 {%h0, %h1, %h2, %h3}, %d1; mov.b32 %r3, {%h2, %h0}; add.u32 %r0, %r1, %r2;
        xor.b32 %r0, %r0, %r3;");
    assert_eq!(result[0], (0x5678_1234 + 5) ^ 0x1234_0005);
}

#[test]
fn a_logic_table_is_any_function_of_three_bits() {
    for table in [0x00u32, 0x80, 0x96, 0xe8, 0xca, 0xff, 0x1b] {
        let result = run(&format!(
            "mov.u32 %r1, 0xf0f0f0f0; mov.u32 %r2, 0xcccccccc;
        lop3.b32 %r0, %r1, %r2, 0xaaaaaaaa, {table};"
        ));
        assert_eq!(result[0], table * 0x0101_0101);
    }
}

#[test]
fn the_carry_runs_through_a_chain() {
    let result = run("add.cc.u32 %r1, -1, 1; addc.cc.u32 %r2, -1, 0; addc.u32 %r3, 4, 5;
        sub.cc.u32 %r4, 0, 1; subc.u32 %r5, 10, 3;
        mad.lo.cc.u32 %r6, -1, 2, 2; madc.hi.u32 %r7, -1, 2, 0;
        shl.b32 %r5, %r5, 8; shl.b32 %r7, %r7, 16; add.u32 %r0, %r3, %r5; add.u32 %r0, %r0, %r7;
        add.u32 %r0, %r0, %r2;");
    assert_eq!(result[0], 10 + (6 << 8) + (2 << 16));
}

#[test]
fn halves_of_words_are_compared_and_swapped() {
    let result = run("st.global.u32 [%o], 0x00050007; mov.b16 %h1, 7; mov.b16 %h2, 9;
        atom.global.cas.b16 %h0, [%o], %h1, %h2; atom.global.cas.b16 %h3, [%o+2], %h1, %h2;
        ld.global.u32 %r1, [%o]; mov.b32 %r0, {%h0, %h3}; add.u32 %r0, %r0, %r1;");
    assert_eq!(result[0], 0x0005_0007 + 0x0005_0009);
}

#[test]
fn bytes_are_the_nearest_finite_numbers() {
    // 448 is the largest of the one format, 57344 of the other; 2^-9 and 2^-16 are the least.
    let convert = |ty: &str, number: f32| {
        let bits = number.to_bits();
        run(&format!(
            "mov.b32 %f0, {bits}; mov.f32 %f1, 0f3F800000;
            cvt.rn.satfinite.{ty}.f32 %h0, %f1, %f0; cvt.u32.u16 %r0, %h0;"
        ))[0]
    };
    for (number, e4m3, e5m2) in [
        (1.0, 0x38, 0x3c),
        (-1.5, 0xbc, 0xbe),
        (448.0, 0x7e, 0x5f),
        (464.0, 0x7e, 0x5f),
        (1e9, 0x7e, 0x7b),
        (f32::NEG_INFINITY, 0xfe, 0xfb),
        (f32::NAN, 0x7f, 0x7f),
        (1.0625, 0x38, 0x3c),
        (1.1875, 0x3a, 0x3d),
        (0.001_953_125, 0x01, 0x18),
        (1e-9, 0, 0),
    ] {
        assert_eq!(convert("e4m3x2", number), 0x3800 | e4m3, "{number}");
        assert_eq!(convert("e5m2x2", number), 0x3c00 | e5m2, "{number}");
    }
    let back = run("mov.b16 %h0, 0xbe38; cvt.rn.f16x2.e4m3x2 %r0, %h0;");
    assert_eq!(back[0], 0xbf00_3c00);
    let back = run("mov.b16 %h0, 0x7fbe; cvt.rn.relu.f16x2.e5m2x2 %r0, %h0;");
    assert_eq!(back[0], 0x7fff_0000);
    let halves = run(
        "mov.b32 %r1, 0xbc003e00; cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1; cvt.u32.u16 %r0, %h0;",
    );
    assert_eq!(halves[0], 0xb83c);
}

#[test]
fn a_butterfly_takes_its_distance_from_a_register_and_from_each_lane() {
    // The sum of the warp, in a loop; the loaded bound keeps the distance from being a constant.
    let sum = run("mov.u32 %r0, %t; ld.global.u32 %r1, [%i]; add.u32 %r1, %r1, 9;
        L: shfl.sync.bfly.b32 %r2|%p1, %r0, %r1, 31, 0xffffffff; add.u32 %r0, %r0, %r2;
        @!%p1 add.u32 %r0, %r0, 1000;
        shr.u32 %r1, %r1, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra L;");
    assert_eq!(sum, [32 * 31 / 2; 32]);
    let each = run("shl.b32 %r1, %t, 1; shfl.sync.bfly.b32 %r0, %t, %r1, 31, 0xffffffff;");
    let expected: Vec<u32> = (0..32).map(|lane| lane ^ (2 * lane % 32)).collect();
    assert_eq!(each, expected);
}
