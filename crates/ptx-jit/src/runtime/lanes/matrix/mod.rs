//! Products of small matrices whose elements lie in the registers of a warp, and the exchanges between
//! rows of matrices and lanes.
//!
//! Factors are widened, so that a product of two halves is exact, and sums are rounded after each
//! product, in the order of the depth. GPUs leave open how they round.

mod factors;
mod quad_pairs;
mod registers;
mod rows;
mod sums;

use ptx::{MatrixArrangement, MatrixForm, MatrixType, ScalarType};

use super::half::{Bf16, F16, Half};
use super::widest;
use factors::{
    ByteFactors, DoubleFactors, FactorNumbers, HalfFactors, IntegerFactors, WordFactors, halves,
};
pub(crate) use registers::{MatrixArea, MatrixRegisters};
pub(crate) use rows::{RowLoad, exchange, exchange_rows, load_rows};
use sums::{Doubles, Halves, Saturating, Singles, Sums, Wrapping};

/// Eight rows of N elements.
type EightRows<T, const N: usize> = [[T; N]; 8];

/// Multiplies the matrices in those registers, of the form with that number.
pub(crate) unsafe extern "C" fn multiply_matrices(
    registers: *mut MatrixRegisters,
    form: u32,
    _: u32,
) {
    let Some(form) = MatrixForm::numbered(form) else { return };
    // SAFETY: native code hands over the registers of this form, and nobody else knows them.
    multiply(unsafe { &mut *registers }, form);
}

/// The product of a form: its operands are the registers of a, b and c in the order of the
/// instruction.
pub(crate) fn multiply(registers: &mut MatrixRegisters, form: MatrixForm) {
    widest(
        #[inline(always)]
        || match form.arrangement {
            MatrixArrangement::Warp => whole_warp(registers, form),
            MatrixArrangement::QuadPairs { .. } => quad_pairs::multiply(registers, form),
        },
    );
}

#[inline(always)]
fn whole_warp(registers: &mut MatrixRegisters, form: MatrixForm) {
    let MatrixForm { rows, depth, factors, sums, .. } = form;
    match factors[0] {
        MatrixType::F16 => match (sums, depth) {
            (ScalarType::F32, 16) => of_halves::<F16, Singles, 16>(registers),
            (ScalarType::F32, _) => of_halves::<F16, Singles, 8>(registers),
            (_, 16) => of_halves::<F16, Halves, 16>(registers),
            _ => of_halves::<F16, Halves, 8>(registers),
        },
        MatrixType::BF16 => match depth {
            16 => of_halves::<Bf16, Singles, 16>(registers),
            _ => of_halves::<Bf16, Singles, 8>(registers),
        },
        MatrixType::TF32 => match depth {
            8 => product::<Singles, 4, 8, 2>(registers, [WordFactors; 2]),
            _ => product::<Singles, 4, 4, 2>(registers, [WordFactors; 2]),
        },
        MatrixType::F64 => match (rows, depth) {
            (8, _) => product::<Doubles, 4, 4, 1>(registers, [DoubleFactors; 2]),
            (_, 4) => product::<Doubles, 4, 4, 2>(registers, [DoubleFactors; 2]),
            (_, 8) => product::<Doubles, 4, 8, 2>(registers, [DoubleFactors; 2]),
            _ => product::<Doubles, 4, 16, 2>(registers, [DoubleFactors; 2]),
        },
        MatrixType::S8 | MatrixType::U8 => match form.saturates {
            true => of_integers::<Saturating>(registers, form),
            false => of_integers::<Wrapping>(registers, form),
        },
        MatrixType::E4M3 | MatrixType::E5M2 => {
            let factors = factors.map(ByteFactors);
            match (sums, depth) {
                (ScalarType::F32, 16) => product::<Singles, 16, 16, 2>(registers, factors),
                (ScalarType::F32, _) => product::<Singles, 16, 32, 2>(registers, factors),
                (_, 16) => product::<Halves, 16, 16, 2>(registers, factors),
                _ => product::<Halves, 16, 32, 2>(registers, factors),
            }
        }
    }
}

#[inline(always)]
fn of_halves<H: Half, S: Sums<Factor = f32>, const DEPTH: usize>(registers: &mut MatrixRegisters) {
    product::<S, 8, DEPTH, 2>(registers, [HalfFactors::<H>::ALL; 2]);
}

#[inline(always)]
fn of_integers<S: Sums<Factor = i32>>(registers: &mut MatrixRegisters, form: MatrixForm) {
    let factors = form.factors.map(IntegerFactors::of);
    match (form.rows, form.depth) {
        (8, _) => product::<S, 16, 16, 1>(registers, factors),
        (_, 16) => product::<S, 16, 16, 2>(registers, factors),
        _ => product::<S, 16, 32, 2>(registers, factors),
    }
}

/// The product of 8 DOWN rows, from pieces of P columns. `factors` are those of a and of b.
#[inline(always)]
fn product<S: Sums, const P: usize, const DEPTH: usize, const DOWN: usize>(
    registers: &mut MatrixRegisters,
    factors: [impl FactorNumbers<P, Number = S::Factor>; 2],
) {
    let pieces = DEPTH / P;
    let mut b = [[S::Factor::default(); 8]; DEPTH];
    for (index, rows) in b.chunks_exact_mut(P).enumerate() {
        rows.copy_from_slice(&factors[1].columns(registers, DOWN * pieces + index));
    }
    // All sums are there before the first is put where an operand may lie. Closures of any length would
    // be called, by code that is compiled for any processor.
    let mut sums = [[[S::Sum::default(); 8]; 8]; DOWN];
    for (down, c) in sums.iter_mut().enumerate() {
        *c = S::load(registers, (DOWN + 1) * pieces + S::REGISTERS * down);
        for along in 0..pieces {
            let a = factors[0].rows(registers, DOWN * along + down);
            let b = &b[P * along..][..P];
            for (c, a) in c.iter_mut().zip(&a) {
                for (&x, b) in a.iter().zip(b) {
                    c.iter_mut().zip(b).for_each(|(c, &y)| *c = S::add(*c, x, y));
                }
            }
        }
    }
    for (down, sums) in sums.iter().enumerate() {
        S::store(registers, S::REGISTERS * down, sums);
    }
}
