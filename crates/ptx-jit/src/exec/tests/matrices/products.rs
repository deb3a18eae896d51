//! `mma.sync` of every form, on random tiles.

use half::f16;
use ptx::{MatrixArrangement, MatrixForm, ScalarType};

use super::reference::{Kind, Numbers, name, place_of_a, place_of_b, place_of_sum};
use super::tiles;
use crate::exec::harness::{Device, at_each_level};

/// The places for results of a lane.
const RESULTS: usize = 8;

/// A kernel that reads the registers of a tile for each warp, 8 bytes for each lane and register,
/// multiplies, and writes the result in the same way.
fn kernel(form: MatrixForm) -> String {
    let [a, b, c] = form.registers();
    let word = if form.sums == ScalarType::F64 { "b64" } else { "b32" };
    let list = |name: &str, first: usize, count: usize| {
        let names: Vec<_> = (first..first + count).map(|at| format!("%{name}{at}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let (count, results) = (a + b + c, form.results());
    let mut text = format!(
        ".version 8.7 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {{
        .reg .b64 %o, %i, %d; .reg .b32 %t, %w; .reg .{word} %x<{count}>, %y<{results}>;
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; mov.u32 %w, %ctaid.x;
        mad.lo.u32 %t, %w, 64, %t; mul.wide.u32 %d, %t, {}; add.u64 %i, %i, %d;
        mul.wide.u32 %d, %t, {}; add.u64 %o, %o, %d;\n",
        8 * count,
        8 * RESULTS
    );
    for index in 0..count {
        text += &format!("ld.global.{word} %x{index}, [%i+{}];\n", 8 * index);
    }
    let (first, second, third) = (list("x", 0, a), list("x", a, b), list("x", a + b, c));
    let (result, name) = (list("y", 0, results), name(form));
    text += &format!("mma.sync.aligned.{name} {result}, {first}, {second}, {third};\n");
    for index in 0..results {
        text += &format!("st.global.{word} [%o+{}], %y{index};\n", 8 * index);
    }
    text + "ret; }"
}

/// One product, or four: the registers of all lanes, the exact result, and the sum of the sizes of its
/// terms.
struct Tile {
    registers: Vec<u64>,
    exact: Box<[[[f64; 8]; 16]; 4]>,
    size: Box<[[[f64; 8]; 16]; 4]>,
}

impl Tile {
    fn random(form: MatrixForm, numbers: &mut Numbers, whole: bool) -> Tile {
        let [a, b, c] = form.registers();
        let kinds =
            [Kind::Factor(form.factors[0]), Kind::Factor(form.factors[1]), Kind::Sum(form.addends)];
        let (mut left, mut right) = (Box::new([[[0.0; 32]; 16]; 4]), Box::new([[[0.0; 8]; 32]; 4]));
        let mut exact = Box::new([[[0.0; 8]; 16]; 4]);
        let mut registers = Vec::with_capacity(32 * (a + b + c));
        for lane in 0..32 {
            for (matrix, (kind, count)) in kinds.into_iter().zip([a, b, c]).enumerate() {
                let (per, bits) = kind.packing();
                for register in 0..count {
                    let mut word = 0;
                    for part in 0..per {
                        let (element, value) = kind.random(numbers, whole);
                        word |= element << (bits * part);
                        let i = register * per + part;
                        match matrix {
                            0 => {
                                let (product, row, column) = place_of_a(form, i, lane);
                                left[product][row][column] = value;
                            }
                            1 => {
                                let (product, row, column) = place_of_b(form, i, lane);
                                right[product][row][column] = value;
                            }
                            _ => {
                                let (product, row, column) =
                                    place_of_sum(form, form.addends, i, lane);
                                exact[product][row][column] = value;
                            }
                        }
                    }
                    registers.push(word);
                }
            }
        }
        let mut size = exact.clone();
        size.as_flattened_mut().as_flattened_mut().iter_mut().for_each(|sum| *sum = sum.abs());
        for product in 0..products(form) {
            for row in 0..form.rows {
                for column in 0..8 {
                    for k in 0..form.depth {
                        let term = left[product][row][k] * right[product][k][column];
                        exact[product][row][column] += term;
                        size[product][row][column] += term.abs();
                    }
                }
            }
        }
        Tile { registers, exact, size }
    }

    /// Compares the registers of the result.
    fn check(&self, form: MatrixForm, result: &[u64], whole: bool) {
        let kind = Kind::Sum(form.sums);
        let (per, bits) = kind.packing();
        for (lane, registers) in result.chunks(RESULTS).enumerate() {
            for i in 0..form.results() * per {
                let value = kind.value(registers[i / per] >> (bits * (i % per)));
                let (product, row, column) = place_of_sum(form, form.sums, i, lane);
                let (exact, size) =
                    (self.exact[product][row][column], self.size[product][row][column]);
                let (exact, bound) = match form.sums {
                    ScalarType::S32 if form.saturates => {
                        (exact.clamp(i32::MIN.into(), i32::MAX.into()), 0.0)
                    }
                    ScalarType::S32 => (f64::from(exact as i64 as i32), 0.0),
                    _ if whole => (exact, 0.0),
                    // A rounding of each sum, and of the result.
                    ScalarType::F64 => (exact, size * f64::EPSILON * 32.0),
                    ScalarType::F32 => (exact, size * f64::from(f32::EPSILON) * 32.0),
                    _ => {
                        let half = exact.abs() / 1024.0 + f64::from(f16::MIN_POSITIVE_SUBNORMAL);
                        (exact, size * f64::from(f32::EPSILON) * 32.0 + half)
                    }
                };
                assert!(
                    (value - exact).abs() <= bound,
                    "{form:?}: {value} and not {exact} at {row}, {column}"
                );
            }
        }
    }
}

fn products(form: MatrixForm) -> usize {
    if form.arrangement == MatrixArrangement::Warp { 1 } else { 4 }
}

/// Multiplies so many blocks of two tiles. Whole numbers are small enough for exact sums, unless they are
/// of 8 bits.
fn check_products(device: &mut Device, form: MatrixForm, numbers: &mut Numbers, blocks: usize) {
    let is_byte = Kind::Factor(form.factors[0]).packing().1 == 8;
    for whole in [true, false] {
        device.reset();
        let tiles: Vec<_> = (0..2 * blocks).map(|_| Tile::random(form, numbers, whole)).collect();
        let registers: Vec<u64> = tiles.iter().flat_map(|tile| &tile.registers).copied().collect();
        let bytes = 2 * blocks * 32 * 8 * RESULTS;
        let (input, output) = (device.upload(&registers), device.allocate(bytes));
        let grid = [blocks as u32, 1, 1];
        device.launch("k", grid, [64, 1, 1], 0, &[&output, &input]).expect("no fault");
        let results: Vec<u64> = device.download(output);
        for (tile, result) in tiles.iter().zip(results.chunks(RESULTS * 32)) {
            tile.check(form, result, whole && !is_byte);
        }
    }
}

#[test]
fn products_of_matrices_are_those_of_the_manual() {
    for form in MatrixForm::all() {
        let mut numbers = Numbers(7);
        let mut device = Device::with(&kernel(form), 1 << 22);
        device.check = crate::abi::CheckLevel::Window;
        for _ in 0..tiles().div_ceil(200) {
            check_products(&mut device, form, &mut numbers, 50);
        }
    }
}

#[test]
fn products_of_matrices_are_the_same_thread_by_thread() {
    for form in MatrixForm::all() {
        at_each_level(&kernel(form), |device| {
            check_products(device, form, &mut Numbers(9), 2);
            device.mode = crate::program::ExecutionMode::Threads;
            check_products(device, form, &mut Numbers(10), 2);
        });
    }
}
