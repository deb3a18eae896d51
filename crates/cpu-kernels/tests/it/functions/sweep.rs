//! Numbers to try functions with, and errors in units in the last place.

use std::env;

use super::super::function::{BinaryFunction, BinaryLoop, UnaryFunction, UnaryLoop};
use crate::InstructionSet;
use crate::instruction_set::Baseline;

/// Numbers per call of a loop.
const BLOCK: usize = 1000;

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
pub(super) trait Number: Copy + PartialEq + std::fmt::Debug + 'static {
    fn same(self, other: Self) -> bool;
}

impl Number for f32 {
    fn same(self, other: f32) -> bool {
        self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
    }
}

impl Number for f64 {
    fn same(self, other: f64) -> bool {
        self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
    }
}

impl Number for i32 {
    fn same(self, other: i32) -> bool {
        self == other
    }
}

/// The loop's results on operands of so many numbers, which `run` is given a block at a time, in each
/// instruction set that there is.
///
/// Sets that fuse multiplications with additions agree, bit for bit, and so does the function of a
/// single number with the baseline.
fn apply_in_sets<T: Number>(
    single: Vec<T>,
    run: impl Fn(InstructionSet, std::ops::Range<usize>, &mut [T]),
) -> Vec<Vec<T>> {
    let in_set = |&set: &InstructionSet| {
        let mut found = single.clone();
        for (number, block) in found.chunks_mut(BLOCK).enumerate() {
            let start = number * BLOCK;
            run(set, start..start + block.len(), block);
        }
        found
    };
    let found: Vec<Vec<T>> = InstructionSet::supported().iter().map(in_set).collect();
    let assert_same = |found: &[T], expected: &[T]| {
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!(found.same(*expected), "of number {at}: {found:?}, not {expected:?}");
        }
    };
    assert_same(&found[0], &single);
    found[1..].windows(2).for_each(|sets| assert_same(&sets[1], &sets[0]));
    found
}

/// The function of each number, in each instruction set and after the checks of [`apply_in_sets`].
pub(super) fn apply<F: UnaryFunction<T>, T: Number>(numbers: &[T]) -> Vec<Vec<T>> {
    apply_in_sets(numbers.iter().map(|&x| F::any::<Baseline>(x)).collect(), |set, range, out| {
        // In place; the next test is of operands apart.
        out.copy_from_slice(&numbers[range.clone()]);
        let in_set = set.version::<UnaryLoop<F, T>>();
        // SAFETY: operand and result have so many elements, and the processor the set.
        unsafe { in_set((out.as_mut_ptr(), out.as_ptr(), out.len())) };
        let mut apart = out.to_vec();
        // SAFETY: both have so many elements, and are apart.
        unsafe { in_set((apart.as_mut_ptr(), numbers[range].as_ptr(), apart.len())) };
        assert!(apart.iter().zip(out).all(|(a, b)| a.same(*b)), "apart and in place");
    })
}

/// The function of each pair of numbers, as [`apply`].
pub(super) fn apply_binary<F: BinaryFunction<T>, T: Number>(a: &[T], b: &[T]) -> Vec<Vec<T>> {
    let single = a.iter().zip(b).map(|(&a, &b)| F::any::<Baseline>(a, b)).collect();
    apply_in_sets(single, |set, range, out| {
        let operands = (a[range.clone()].as_ptr(), b[range].as_ptr());
        // SAFETY: operands and result have so many elements, and the processor the set.
        unsafe { set.version::<BinaryLoop<F, T>>()((out.as_mut_ptr(), operands, out.len())) };
    })
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
