//! Instructions of tensor cores: products of matrices, loads of matrices, and copies that are waited
//! for. The references are the manual's formulas (PTX ISA, "Matrix fragments for mma"), element by
//! element.

use half::{bf16, f16};
use ptx::{MatrixForm, MatrixType, ScalarType};

use super::harness::{Device, at_each_level};

/// Where element `i` of a lane's fragment lies, by `lane / 4` and `lane % 4`.
type Place = fn(i: usize, group: usize, thread: usize) -> (usize, usize);

/// A form's name in PTX, and the rows and columns of the elements of a and b.
fn manual(form: MatrixForm) -> (&'static str, Place, Place) {
    let sums_in_halves = form.sums == ScalarType::F16;
    match (form.factors, form.depth) {
        (MatrixType::F16 | MatrixType::BF16, 16) => (
            match (form.factors, sums_in_halves) {
                (MatrixType::F16, false) => "m16n8k16.row.col.f32.f16.f16.f32",
                (MatrixType::F16, true) => "m16n8k16.row.col.f16.f16.f16.f16",
                _ => "m16n8k16.row.col.f32.bf16.bf16.f32",
            },
            |i, group, thread| {
                let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
                (row, thread * 2 + (i & 1) + if i >= 4 { 8 } else { 0 })
            },
            |i, group, thread| (thread * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }, group),
        ),
        (MatrixType::F16 | MatrixType::BF16, _) => (
            match (form.factors, sums_in_halves) {
                (MatrixType::F16, false) => "m16n8k8.row.col.f32.f16.f16.f32",
                (MatrixType::F16, true) => "m16n8k8.row.col.f16.f16.f16.f16",
                _ => "m16n8k8.row.col.f32.bf16.bf16.f32",
            },
            |i, group, thread| (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1)),
            |i, group, thread| (thread * 2 + i, group),
        ),
        (MatrixType::TF32, 8) => (
            "m16n8k8.row.col.f32.tf32.tf32.f32",
            |i, group, thread| {
                let row = if i == 0 || i == 2 { group } else { group + 8 };
                (row, if i < 2 { thread } else { thread + 4 })
            },
            |i, group, thread| (if i == 0 { thread } else { thread + 4 }, group),
        ),
        (MatrixType::TF32, _) => (
            "m16n8k4.row.col.f32.tf32.tf32.f32",
            |i, group, thread| (if i == 0 { group } else { group + 8 }, thread),
            |_, group, thread| (thread, group),
        ),
        (MatrixType::F64, _) => (
            "m8n8k4.row.col.f64.f64.f64.f64",
            |_, group, thread| (group, thread),
            |_, group, thread| (thread, group),
        ),
    }
}

/// Where element `i` of c lies.
fn place_of_sum(i: usize, group: usize, thread: usize) -> (usize, usize) {
    (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
}

/// A kernel that reads the registers of a tile for each warp, 8 bytes for each lane and register,
/// multiplies, and writes the result in the same way.
fn kernel(form: MatrixForm) -> String {
    let ([a, b, c], (name, ..)) = (form.registers(), manual(form));
    let word = if form.factors == MatrixType::F64 { "f64" } else { "b32" };
    let list = |first: usize, count: usize| {
        let names: Vec<_> = (first..first + count).map(|index| format!("%x{index}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let count = a + b + c;
    let mut text = format!(
        ".version 7.8 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {{
        .reg .b64 %o, %i, %d; .reg .b32 %t, %w; .reg .{word} %x<{count}>;
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; mov.u32 %w, %ctaid.x;
        mad.lo.u32 %t, %w, 64, %t; mul.wide.u32 %d, %t, {}; add.u64 %i, %i, %d;
        mul.wide.u32 %d, %t, 32; add.u64 %o, %o, %d;\n",
        8 * count
    );
    for index in 0..count {
        text += &format!("ld.global.{word} %x{index}, [%i+{}];\n", 8 * index);
    }
    let (first, second, third) = (list(0, a), list(a, b), list(a + b, c));
    text += &format!("mma.sync.aligned.{name} {third}, {first}, {second}, {third};\n");
    for index in 0..c {
        text += &format!("st.global.{word} [%o+{}], %x{};\n", 8 * index, a + b + index);
    }
    text + "ret; }"
}

/// Random numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A small whole number, or any from -2 to 2.
    fn number(&mut self, whole: bool) -> f64 {
        match whole {
            true => (self.next() % 9) as f64 - 4.0,
            false => (self.next() >> 11) as f64 / (1_u64 << 51) as f64 - 2.0,
        }
    }
}

/// A number as an element of a type, and the value that it has there.
fn element(value: f64, bits: u32, brain: bool) -> (u64, f64) {
    match (bits, brain) {
        (16, false) => (f16::from_f64(value).to_bits().into(), f16::from_f64(value).to_f64()),
        (16, true) => (bf16::from_f64(value).to_bits().into(), bf16::from_f64(value).to_f64()),
        (19, _) => {
            // What follows the ten bits of a fraction does not count.
            let word = (value as f32).to_bits();
            (u64::from(word), f64::from(f32::from_bits(word & !0x1fff)))
        }
        (32, _) => (u64::from((value as f32).to_bits()), f64::from(value as f32)),
        _ => (value.to_bits(), value),
    }
}

/// One product: the registers of all lanes, the exact result, and the sum of the sizes of its terms.
struct Tile {
    registers: Vec<u64>,
    exact: [[f64; 8]; 16],
    size: [[f64; 8]; 16],
}

impl Tile {
    fn random(form: MatrixForm, numbers: &mut Numbers, whole: bool) -> Tile {
        let ([a, b, c], (_, place_a, place_b)) = (form.registers(), manual(form));
        let brain = form.factors == MatrixType::BF16;
        let (factor_bits, per_factor) = match form.factors {
            MatrixType::F16 | MatrixType::BF16 => (16, 2),
            MatrixType::TF32 => (19, 1),
            MatrixType::F64 => (64, 1),
        };
        let (sum_bits, per_sum) = match form.sums {
            ScalarType::F16 => (16, 2),
            ty => (ty.bits(), 1),
        };
        let (mut left, mut right) = ([[0.0; 16]; 16], [[0.0; 8]; 16]);
        let mut exact = [[0.0; 8]; 16];
        let mut registers = Vec::with_capacity(32 * (a + b + c));
        for lane in 0..32 {
            let (group, thread) = (lane / 4, lane % 4);
            let mut fill = |count, per, bits, brain, set: &mut dyn FnMut(usize, f64)| {
                for register in 0..count {
                    let mut word = 0;
                    for part in 0..per {
                        let (bits, value) = element(numbers.number(whole), bits, brain);
                        word |= bits << (16 * part);
                        set(register * per + part, value);
                    }
                    registers.push(word);
                }
            };
            fill(a, per_factor, factor_bits, brain, &mut |i, value| {
                let (row, column) = place_a(i, group, thread);
                left[row][column] = value;
            });
            fill(b, per_factor, factor_bits, brain, &mut |i, value| {
                let (row, column) = place_b(i, group, thread);
                right[row][column] = value;
            });
            fill(c, per_sum, sum_bits, false, &mut |i, value| {
                let (row, column) = place_of_sum(i, group, thread);
                exact[row][column] = value;
            });
        }
        let mut size = exact.map(|row| row.map(f64::abs));
        for row in 0..form.rows {
            for column in 0..8 {
                for k in 0..form.depth {
                    let product = left[row][k] * right[k][column];
                    exact[row][column] += product;
                    size[row][column] += product.abs();
                }
            }
        }
        Tile { registers, exact, size }
    }

    /// Compares the registers of the result, of which a lane has four places.
    fn check(&self, form: MatrixForm, result: &[u64], whole: bool) {
        let halves = form.sums == ScalarType::F16;
        for (lane, registers) in result.chunks(4).enumerate() {
            let values =
                registers[..form.registers()[2]].iter().flat_map(|&word| match form.sums {
                    ScalarType::F16 => {
                        [0, 16].map(|shift| Some(f16::from_bits((word >> shift) as u16).to_f64()))
                    }
                    ScalarType::F32 => [Some(f64::from(f32::from_bits(word as u32))), None],
                    _ => [Some(f64::from_bits(word)), None],
                });
            for (i, value) in values.flatten().enumerate() {
                let (row, column) = place_of_sum(i, lane / 4, lane % 4);
                let (exact, size) = (self.exact[row][column], self.size[row][column]);
                // A rounding of each sum, and of the result.
                let epsilon = match form.sums {
                    ScalarType::F64 => f64::EPSILON,
                    _ => f64::from(f32::EPSILON),
                };
                let rounding = if halves { exact.abs() / 1024.0 } else { 0.0 };
                let bound = if whole { 0.0 } else { size * epsilon * 16.0 + rounding };
                assert!(
                    (value - exact).abs() <= bound,
                    "{form:?}: {value} and not {exact} at {row}, {column}"
                );
            }
        }
    }
}

/// Multiplies so many blocks of two tiles.
fn check_products(device: &mut Device, form: MatrixForm, numbers: &mut Numbers, blocks: usize) {
    for whole in [true, false] {
        device.reset();
        let tiles: Vec<_> = (0..2 * blocks).map(|_| Tile::random(form, numbers, whole)).collect();
        let registers: Vec<u64> = tiles.iter().flat_map(|tile| &tile.registers).copied().collect();
        let (input, output) = (device.upload(&registers), device.allocate(2 * blocks * 1024));
        let grid = [blocks as u32, 1, 1];
        device.launch("k", grid, [64, 1, 1], 0, &[&output, &input]).expect("no fault");
        let results: Vec<u64> = device.download(output);
        for (tile, result) in tiles.iter().zip(results.chunks(4 * 32)) {
            tile.check(form, result, whole);
        }
    }
}

#[test]
fn products_of_matrices_are_those_of_the_manual() {
    for form in MatrixForm::all() {
        let mut numbers = Numbers(7);
        let mut device = Device::with(&kernel(form), 1 << 23);
        device.check = crate::abi::CheckLevel::Window;
        for _ in 0..10 {
            check_products(&mut device, form, &mut numbers, 250);
        }
    }
}

#[test]
fn products_of_matrices_are_the_same_thread_by_thread() {
    for form in MatrixForm::all() {
        at_each_level(&kernel(form), |device| {
            check_products(device, form, &mut Numbers(9), 10);
            device.mode = crate::program::ExecutionMode::Threads;
            check_products(device, form, &mut Numbers(10), 10);
        });
    }
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
