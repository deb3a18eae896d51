//! Instructions of tensor cores: products of matrices, loads and stores of matrices, and copies that are
//! waited for.

mod products;
mod reference;
mod wmma;

use super::harness::at_each_level;
use crate::abi::AccessKind;
use crate::exec::FaultKind;

/// The number of random tiles of each form: some, or as many as were asked for.
///
/// `MATRIX_TILES=10000 cargo test -p ptx-jit --lib matrices` tries so many.
fn tiles() -> usize {
    let asked = std::env::var("MATRIX_TILES").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or(200)
}

/// A kernel that copies 512 bytes to shared memory and loads matrices from there, whose rows lie in
/// another order than lanes.
fn loads(count: usize, transposed: bool) -> String {
    let results: Vec<_> = (0..count).map(|index| format!("%r{index}")).collect();
    let (results, trans) = (results.join(", "), if transposed { ".trans" } else { "" });
    format!(
        ".version 7.8 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {{
        .reg .b64 %o, %i, %d; .reg .b32 %t, %s, %r<4>; .shared .align 16 .b8 tile[512];
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;
        mul.wide.u32 %d, %t, 16; add.u64 %i, %i, %d; add.u64 %o, %o, %d;
        mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s;
        cp.async.cg.shared.global [%s], [%i], 16; cp.async.commit_group; cp.async.wait_group 0;
        bar.sync 0;
        xor.b32 %s, %t, 5; mul.lo.u32 %s, %s, 16;
        // Lanes beyond the rows name nothing that there is.
        @%p bra NEAR; add.u32 %s, %s, 100000; NEAR:
        mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;
        ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{results}}}, [%s];
        st.global.v4.b32 [%o], {{%r0, %r1, %r2, %r3}}; ret; }}"
    )
    .replace("@%p bra", &format!("setp.lt.u32 %p, %t, {}; @%p bra", 8 * count))
    .replace(".reg .b64 %o", ".reg .pred %p; .reg .b64 %o")
}

#[test]
fn loads_of_matrices_give_each_lane_two_elements() {
    let halves: Vec<u16> = (0..256).map(|index| index * 7 + 3).collect();
    for (count, transposed) in [1, 2, 4].into_iter().flat_map(|n| [(n, false), (n, true)]) {
        at_each_level(&loads(count, transposed), |device| {
            let (input, output) = (device.upload(&halves), device.allocate(512));
            device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
            let results: Vec<u32> = device.download(output);
            let at = |matrix: usize, row: usize, column: usize| {
                u32::from(halves[8 * ((8 * matrix + row) ^ 5) + column])
            };
            for (lane, results) in results.chunks(4).enumerate() {
                let (group, thread) = (lane / 4, lane % 4);
                for (matrix, &result) in results.iter().take(count).enumerate() {
                    let elements = [0, 1].map(|next| match transposed {
                        false => at(matrix, group, 2 * thread + next),
                        true => at(matrix, 2 * thread + next, group),
                    });
                    assert_eq!(result, elements[0] | elements[1] << 16, "{count} {transposed}");
                }
            }
        });
    }
}

#[test]
fn the_first_row_of_a_matrix_that_leaves_the_memory_is_the_fault() {
    let source = ".version 7.8 .target sm_80 .address_size 64
        .visible .entry k(.param .u32 lane, .param .u32 distance) {
        .reg .pred %p; .reg .b32 %t, %s, %l, %d, %r<4>; .shared .align 16 .b8 tile[512];
        ld.param.u32 %l, [lane]; ld.param.u32 %d, [distance]; mov.u32 %t, %tid.x;
        mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s;
        st.shared.v4.b32 [%s], {%t, %t, %t, %t}; bar.sync 0;
        setp.ge.u32 %p, %t, %l; @%p add.u32 %s, %s, %d;
        ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%s];
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%s]; ret; }";
    let line = |words: &str| {
        let line = source.lines().position(|line| line.contains(words));
        line.map_or(0, |line| line as u32 + 1)
    };
    at_each_level(source, |device| {
        let launch = |lane: u32, distance: u32| {
            device.launch("k", [1; 3], [32, 1, 1], 0, &[&lane, &distance])
        };
        launch(3, 0).expect("all rows are inside");
        let access = AccessKind::Read;
        let outside = FaultKind::IllegalAddress { address: 176 + 1600, bytes: 16, access };
        let fault = launch(11, 1600).expect_err("a row leaves the memory");
        assert_eq!((fault.kind, fault.line, fault.thread), (outside, line(".x2."), [11, 0, 0]));
        // Of two matrices, the lanes from 16 on name no rows.
        let skewed = FaultKind::MisalignedAddress { address: 320 + 8, bytes: 16, access };
        let fault = launch(20, 8).expect_err("a row is not aligned");
        assert_eq!((fault.kind, fault.line, fault.thread), (skewed, line(".x4."), [20, 0, 0]));
    });
}

#[test]
fn copies_of_each_size_arrive() {
    let source = ".version 7.8 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {
        .reg .b64 %o, %i, %d, %q; .reg .b32 %t, %s, %b; .shared .align 16 .b8 tile[512];
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; mov.u64 %q, 0;
        mul.wide.u32 %d, %t, 16; add.u64 %i, %i, %d; add.u64 %o, %o, %d;
        mul.lo.u32 %s, %t, 16; mov.u32 %b, tile; add.u32 %s, %s, %b;
        cp.async.ca.shared.global [%s], [%i], 4; cp.async.ca.shared::cta.global [%s+8], [%i+8], 8;
        cp.async.ca.shared.global.L2::128B [%s+4], [%i+4], 4; cp.async.wait_all;
        ld.shared.b64 %d, [%s]; st.global.b64 [%o], %d;
        ld.shared.b64 %d, [%s+8]; st.global.b64 [%o+8], %d; ret; }";
    at_each_level(source, |device| {
        let words: Vec<u64> = (0..64).map(|index| index * index + 1).collect();
        let (input, output) = (device.upload(&words), device.allocate(512));
        device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
        assert_eq!(device.download::<u64>(output), words);
    });
}

#[test]
fn stores_of_matrices_put_the_rows_together() {
    for (count, transposed) in [1, 2, 4].into_iter().flat_map(|n| [(n, false), (n, true)]) {
        let registers: Vec<_> = (0..count).map(|index| format!("%r{index}")).collect();
        let (registers, trans) = (registers.join(", "), if transposed { ".trans" } else { "" });
        let source = format!(
            ".version 7.8 .target sm_90 .address_size 64
            .visible .entry k(.param .u64 out, .param .u64 in) {{
            .reg .b64 %o, %i, %d; .reg .b32 %t, %s, %r<4>; .shared .align 16 .b8 tile[512];
            ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;
            mul.wide.u32 %d, %t, 16; add.u64 %i, %i, %d; add.u64 %o, %o, %d;
            ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%i];
            mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s;
            stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%s], {{{registers}}};
            bar.sync 0; ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [%s];
            st.global.v4.b32 [%o], {{%r0, %r1, %r2, %r3}}; ret; }}"
        );
        at_each_level(&source, |device| {
            let halves: Vec<u16> = (0..256).map(|index| index * 11 + 5).collect();
            let (input, output) = (device.upload(&halves), device.allocate(512));
            device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
            let rows: Vec<u16> = device.download(output);
            for matrix in 0..count {
                for (row, column) in (0..64).map(|at| (at / 8, at % 8)) {
                    let (line, place) = if transposed { (column, row) } else { (row, column) };
                    let lane = 4 * line + place / 2;
                    let expected = halves[8 * lane + 2 * matrix + place % 2];
                    assert_eq!(rows[8 * (8 * matrix + row) + column], expected, "{count}");
                }
            }
        });
    }
}

#[test]
fn a_matrix_is_transposed_in_registers() {
    let source = ".version 7.8 .target sm_75 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {
        .reg .b64 %o, %i, %d; .reg .b32 %t, %r;
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;
        mul.wide.u32 %d, %t, 4; add.u64 %i, %i, %d; add.u64 %o, %o, %d; ld.global.b32 %r, [%i];
        movmatrix.sync.aligned.m8n8.trans.b16 %r, %r; st.global.b32 [%o], %r; ret; }";
    at_each_level(source, |device| {
        let halves: Vec<u16> = (0..64).collect();
        let (input, output) = (device.upload(&halves), device.allocate(128));
        device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
        let expected: Vec<u16> = (0..64).map(|at| at % 8 * 8 + at / 8).collect();
        assert_eq!(device.download::<u16>(output), expected);
    });
}

#[test]
fn a_copy_of_a_part_of_its_bytes_writes_zeros_for_the_others() {
    let source = ".version 7.8 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {
        .reg .b64 %o, %i, %d; .reg .b32 %t, %s, %b; .reg .pred %p; .shared .align 16 .b8 tile[1024];
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;
        mul.wide.u32 %d, %t, 32; add.u64 %o, %o, %d; add.u64 %i, %i, %d;
        mul.lo.u32 %s, %t, 32; mov.u32 %b, tile; add.u32 %s, %s, %b;
        and.b32 %t, %t, 15; setp.ge.u32 %p, %t, 8;
        cp.async.cg.shared.global [%s], [%i], 16, %t;
        cp.async.ca.shared.global [%s+16], [%i+16], 8, %p;
        cp.async.ca.shared.global [%s+24], [%i+24], 8; cp.async.wait_all;
        ld.shared.b64 %d, [%s]; st.global.b64 [%o], %d;
        ld.shared.b64 %d, [%s+8]; st.global.b64 [%o+8], %d;
        ld.shared.b64 %d, [%s+16]; st.global.b64 [%o+16], %d;
        ld.shared.b64 %d, [%s+24]; st.global.b64 [%o+24], %d; ret; }";
    at_each_level(source, |device| {
        let bytes: Vec<u8> = (0..1024).map(|index| (index % 251 + 1) as u8).collect();
        let (input, output) = (device.upload(&bytes), device.allocate(1024));
        device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
        let copied: Vec<u8> = device.download(output);
        for (at, &byte) in copied.iter().enumerate() {
            let (size, place) = (at / 32 % 16, at % 32);
            let is_zero = place < 16 && place >= size || (16..24).contains(&place) && size >= 8;
            assert_eq!(byte, if is_zero { 0 } else { bytes[at] }, "byte {at}");
        }
    });
}

#[test]
fn a_product_of_halves_that_copies_while_it_multiplies_is_right() {
    let source = include_str!("../../../../../cuda-sim/tests/ptx/tensor_cores/half_product.ptx");
    at_each_level(source, |device| {
        let halves = |count: usize, modulus: usize| -> Vec<u16> {
            let number = |index: usize| (index * 37 % modulus) as f32 - 3.0;
            (0..count).map(|index| half::f16::from_f32(number(index)).to_bits()).collect()
        };
        let (left, right) = (halves(32 * 64, 11), halves(64 * 16, 7));
        let (a, b) = (device.upload(&left), device.upload(&right));
        let output = device.allocate(2048);
        device.launch("half_product", [1; 3], [64, 1, 1], 0, &[&output, &a, &b]).expect("no fault");
        let product: Vec<f32> = device.download(output);
        let value = |bits: u16| half::f16::from_bits(bits).to_f32();
        for (row, column) in (0..512).map(|at| (at / 16, at % 16)) {
            let terms = (0..64).map(|k| value(left[64 * row + k]) * value(right[16 * k + column]));
            let exact = terms.sum::<f32>();
            assert!((product[16 * row + column] - exact).abs() < 0.5, "{row}, {column}");
        }
    });
}

#[test]
fn conversions_to_tf32_round_as_their_names_say() {
    let source = ".version 7.8 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {
        .reg .b64 %o, %i, %d; .reg .b32 %t, %r<3>; .reg .f32 %f;
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;
        mul.wide.u32 %d, %t, 4; add.u64 %i, %i, %d; mul.wide.u32 %d, %t, 12; add.u64 %o, %o, %d;
        ld.global.f32 %f, [%i]; cvt.rna.tf32.f32 %r0, %f; cvt.rn.tf32.f32 %r1, %f;
        cvt.rz.tf32.f32 %r2, %f; st.global.b32 [%o], %r0; st.global.b32 [%o+4], %r1;
        st.global.b32 [%o+8], %r2; ret; }";
    // Ties, beside them, the ends of the type, and what is no number.
    let cases: [(u32, [u32; 3]); 8] = [
        (0x3f80_1000, [0x3f80_2000, 0x3f80_0000, 0x3f80_0000]),
        (0x3f80_3000, [0x3f80_4000, 0x3f80_4000, 0x3f80_2000]),
        (0xbf80_0fff, [0xbf80_0000, 0xbf80_0000, 0xbf80_0000]),
        (0xbf80_1001, [0xbf80_2000, 0xbf80_2000, 0xbf80_0000]),
        (0x7f7f_ffff, [0x7f80_0000, 0x7f80_0000, 0x7f7f_e000]),
        (0xff80_0000, [0xff80_0000; 3]),
        (0xffc0_1234, [0x7fff_ffff; 3]),
        (0x8000_0001, [0x8000_0000; 3]),
    ];
    at_each_level(source, |device| {
        let words: Vec<u32> = (0..32).map(|lane| cases[lane % 8].0).collect();
        let (input, output) = (device.upload(&words), device.allocate(32 * 12));
        device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
        let rounded: Vec<u32> = device.download(output);
        for (lane, rounded) in rounded.chunks(3).enumerate() {
            assert_eq!(rounded, cases[lane % 8].1, "{:#x}", words[lane]);
        }
    });
}
