//! Numbers to try functions with, and errors in units in the last place.

use std::env;

use cpu_kernels::{InstructionSet, Program, StridedPointer};
use expression::{DType, Primitive};

use crate::primitives::of_one;

/// Numbers per call of a loop.
const BLOCK: usize = 1000;

/// In sets beyond the baseline, one number in so many is computed alone, too.
const ALONE: usize = 7;

/// How much denser than usual sweeps are: `SLUICE_SWEEP=100` for a hundred times as many numbers.
pub(super) fn density() -> u64 {
    env::var("SLUICE_SWEEP").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Special numbers, and some beside them.
pub(super) fn special_f32() -> Vec<f32> {
    let special: [f32; 11] = [
        0.0,
        f32::MIN_POSITIVE,
        1e-45,
        1.0,
        2.0,
        0.5,
        4.0,
        100.0,
        8_388_608.0,
        f32::MAX,
        f32::INFINITY,
    ];
    let neighbours = special.iter().flat_map(|x| [*x, x.next_down(), x.next_up()]);
    neighbours.flat_map(|x| [x, -x]).chain([f32::NAN]).collect()
}

/// Numbers of all exponents and signs, with mantissas as they come, and the special ones.
pub(super) fn numbers_f32() -> Vec<f32> {
    // An odd step: all low bits of mantissas occur.
    let step = ((1 << 32) / (300_000 * density()).min(1 << 31)) | 1;
    let swept = (0..1_u64 << 32).step_by(step as usize).map(|bits| f32::from_bits(bits as u32));
    special_f32().into_iter().chain(swept).collect()
}

/// Pairs of special numbers, of numbers of any exponents, and of some of moderate ones.
pub(super) fn pairs_f32() -> Vec<(f32, f32)> {
    let special = special_f32();
    let mut pairs: Vec<(f32, f32)> =
        special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).collect();
    let halves = |bits: u64| (f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
    let count = 200_000 * density() as usize;
    pairs.extend(random(2).map(halves).take(count));
    // Exponents from -8 to 7.
    let moderate = |x: f32| f32::from_bits((x.to_bits() & 0x87ff_ffff) + (119 << 23));
    pairs.extend(random(3).map(halves).map(|(a, b)| (moderate(a), moderate(b))).take(count));
    pairs
}

/// A sequence of pseudo-random 64-bit numbers: SplitMix64 (Steele, Lea and Flood, 2014).
pub(super) fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// A type of numbers, as far as tests have to know it.
pub(super) trait SweptNumber: Copy + PartialEq + std::fmt::Debug {
    const DTYPE: DType;

    fn same(self, other: Self) -> bool;
}

impl SweptNumber for f32 {
    const DTYPE: DType = DType::F32;

    fn same(self, other: f32) -> bool {
        self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
    }
}

impl SweptNumber for f64 {
    const DTYPE: DType = DType::F64;

    fn same(self, other: f64) -> bool {
        self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
    }
}

impl SweptNumber for i32 {
    const DTYPE: DType = DType::I32;

    fn same(self, other: i32) -> bool {
        self == other
    }
}

impl SweptNumber for i64 {
    const DTYPE: DType = DType::I64;

    fn same(self, other: i64) -> bool {
        self == other
    }
}

/// A primitive as a program over numbers of one type.
pub(super) fn program_of<T: SweptNumber>(primitive: Primitive, set: InstructionSet) -> Program {
    let dtypes = vec![T::DTYPE; primitive.arity()];
    let types = vec![T::DTYPE.compute_type(); primitive.arity()];
    Program::for_instruction_set(set, &of_one(primitive, &types), &dtypes, &[T::DTYPE])
}

/// The results of such a program, written apart from the operands.
pub(super) fn run_apart<T: SweptNumber>(program: &Program, operands: &[&[T]]) -> Vec<T> {
    let mut out = operands[0].to_vec();
    let operands = operands.iter().map(|operand| operand.as_ptr().cast_mut());
    run(program, out.len(), out.as_mut_ptr(), operands);
    out
}

/// The results of such a program, written over the first operand.
fn run_in_place<T: SweptNumber>(program: &Program, operands: &[&[T]]) -> Vec<T> {
    let mut out = operands[0].to_vec();
    let first = out.as_mut_ptr();
    let rest = operands[1..].iter().map(|operand| operand.as_ptr().cast_mut());
    run(program, out.len(), first, std::iter::once(first).chain(rest));
    out
}

fn run<T>(program: &Program, count: usize, out: *mut T, operands: impl Iterator<Item = *mut T>) {
    let pointer = |start: *mut T| StridedPointer::new(start.cast(), &[1]);
    let operands: Vec<_> = operands.map(pointer).collect();
    // SAFETY: all have so many elements, and the result is an operand or apart from them.
    unsafe { program.run(&[count], &[pointer(out)], &operands, &[]) };
}

/// A primitive of numbers, in each instruction set that there is.
///
/// Sets that fuse multiplications with additions agree, bit for bit. In each, a number alone gives
/// what it gives among others, and an operand is overwritten with the same results.
pub(super) fn apply<T: SweptNumber>(primitive: Primitive, operands: &[&[T]]) -> Vec<Vec<T>> {
    let in_set = |&set: &InstructionSet| {
        let program = program_of::<T>(primitive, set);
        let mut found = Vec::new();
        for start in (0..operands[0].len()).step_by(BLOCK) {
            let end = operands[0].len().min(start + BLOCK);
            let block: Vec<&[T]> = operands.iter().map(|operand| &operand[start..end]).collect();
            found.extend(run_apart(&program, &block));
            assert_same(&run_in_place(&program, &block), &found[start..]);
        }
        let step = if set == InstructionSet::Baseline { 1 } else { ALONE };
        for at in (0..found.len()).step_by(step) {
            let alone: Vec<&[T]> = operands.iter().map(|operand| &operand[at..=at]).collect();
            assert_same(&run_apart(&program, &alone), &found[at..=at]);
        }
        found
    };
    let found: Vec<Vec<T>> = InstructionSet::supported().iter().map(in_set).collect();
    found[1..].windows(2).for_each(|sets| assert_same(&sets[1], &sets[0]));
    found
}

fn assert_same<T: SweptNumber>(found: &[T], expected: &[T]) {
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(found.same(*expected), "of number {at}: {found:?}, not {expected:?}");
    }
}

/// The error of an `f32` in units in the last place of the exact result.
pub(super) fn error_f32(found: f32, exact: f64) -> f64 {
    if found.is_nan() || exact.is_nan() {
        return if found.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    // What rounds to infinity may be the largest number, and the other way round: half a unit.
    if exact.abs() >= f64::from(f32::MAX) && found.abs() >= f32::MAX {
        return if (found > 0.0) == (exact > 0.0) { 0.0 } else { f64::INFINITY };
    }
    if exact == 0.0 && found == 0.0 {
        return if found.is_sign_negative() == exact.is_sign_negative() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(-126);
    (f64::from(found) - exact).abs() / 2f64.powi(exponent - 23)
}
