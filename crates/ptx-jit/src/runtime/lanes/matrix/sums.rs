//! Sums of products: the types in which they are held, and the registers from which they come and to
//! which they go.

use super::EightRows;
use super::registers::MatrixRegisters;
use crate::runtime::lanes::area::{LANES, Plain};
use crate::runtime::lanes::half::{F16, Half};

/// A type of sums of a product of a whole warp.
pub(super) trait Sums {
    type Factor: Copy + Default;
    type Sum: Copy + Default;
    /// The number of registers for eight rows.
    const REGISTERS: usize;

    /// Eight rows from an operand and those that follow, with their columns in the order of [`column_at`].
    fn load(registers: &MatrixRegisters, first: usize) -> EightRows<Self::Sum, 8>;

    /// A sum and one more product.
    fn add(sum: Self::Sum, x: Self::Factor, y: Self::Factor) -> Self::Sum;

    /// Puts eight rows into a result and those that follow.
    fn store(registers: &mut MatrixRegisters, first: usize, sums: &EightRows<Self::Sum, 8>);
}

/// Sums in `f32`.
pub(super) struct Singles;

/// Sums in `f32` that are rounded to `f16` once.
pub(super) struct Halves;

/// Sums in `f64`.
pub(super) struct Doubles;

/// Sums in `s32` that wrap.
pub(super) struct Wrapping;

/// Sums in `s32` that stop at the ends of the type.
pub(super) struct Saturating;

/// A sum of type `f32` as a register holds it: NaN is the one of PTX.
#[inline(always)]
pub(super) fn single(sum: f32) -> f32 {
    if sum.is_nan() { f32::from_bits(0x7fff_ffff) } else { sum }
}

impl Sums for Singles {
    type Factor = f32;
    type Sum = f32;
    const REGISTERS: usize = 2;

    #[inline(always)]
    fn load(registers: &MatrixRegisters, first: usize) -> EightRows<f32, 8> {
        pairs(registers, first)
    }

    #[inline(always)]
    fn add(sum: f32, x: f32, y: f32) -> f32 {
        sum + x * y
    }

    #[inline(always)]
    fn store(registers: &mut MatrixRegisters, first: usize, sums: &EightRows<f32, 8>) {
        put_pairs(registers, first, &sums.map(|row| row.map(single)));
    }
}

impl Sums for Halves {
    type Factor = f32;
    type Sum = f32;
    const REGISTERS: usize = 1;

    #[inline(always)]
    fn load(registers: &MatrixRegisters, first: usize) -> EightRows<f32, 8> {
        let rows = super::halves::<F16>(registers, first);
        rows.map(|row| std::array::from_fn(|at| row[column_at(at)]))
    }

    #[inline(always)]
    fn add(sum: f32, x: f32, y: f32) -> f32 {
        sum + x * y
    }

    #[inline(always)]
    fn store(registers: &mut MatrixRegisters, first: usize, sums: &EightRows<f32, 8>) {
        let result: &mut [[u16; 2]; LANES] = registers.result(first);
        for (lane, pair) in result.iter_mut().enumerate() {
            let (row, even) = (&sums[lane / 4], lane % 4);
            *pair = [F16::narrow(row[even]), F16::narrow(row[even + 4])];
        }
    }
}

impl Sums for Doubles {
    type Factor = f64;
    type Sum = f64;
    const REGISTERS: usize = 2;

    #[inline(always)]
    fn load(registers: &MatrixRegisters, first: usize) -> EightRows<f64, 8> {
        pairs(registers, first)
    }

    #[inline(always)]
    fn add(sum: f64, x: f64, y: f64) -> f64 {
        x.mul_add(y, sum)
    }

    #[inline(always)]
    fn store(registers: &mut MatrixRegisters, first: usize, sums: &EightRows<f64, 8>) {
        let nan = f64::from_bits(0xfff8_0000_0000_0000);
        put_pairs(
            registers,
            first,
            &sums.map(|row| row.map(|sum| if sum.is_nan() { nan } else { sum })),
        );
    }
}

impl Sums for Wrapping {
    type Factor = i32;
    type Sum = i32;
    const REGISTERS: usize = 2;

    #[inline(always)]
    fn load(registers: &MatrixRegisters, first: usize) -> EightRows<i32, 8> {
        pairs(registers, first)
    }

    #[inline(always)]
    fn add(sum: i32, x: i32, y: i32) -> i32 {
        sum.wrapping_add(x * y)
    }

    #[inline(always)]
    fn store(registers: &mut MatrixRegisters, first: usize, sums: &EightRows<i32, 8>) {
        put_pairs(registers, first, sums);
    }
}

impl Sums for Saturating {
    type Factor = i32;
    type Sum = i64;
    const REGISTERS: usize = 2;

    #[inline(always)]
    fn load(registers: &MatrixRegisters, first: usize) -> EightRows<i64, 8> {
        pairs::<i32>(registers, first).map(|row| row.map(i64::from))
    }

    #[inline(always)]
    fn add(sum: i64, x: i32, y: i32) -> i64 {
        sum + i64::from(x * y)
    }

    #[inline(always)]
    fn store(registers: &mut MatrixRegisters, first: usize, sums: &EightRows<i64, 8>) {
        let clamp = |sum: i64| sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        put_pairs(registers, first, &sums.map(|row| row.map(clamp)));
    }
}

/// The column at a place of a row of sums: first come the even ones, then the odd ones, since a register
/// holds the ones or the others of four lanes side by side.
#[inline(always)]
pub(super) const fn column_at(place: usize) -> usize {
    place % 4 * 2 + place / 4
}

/// Eight rows of sums, whose even columns one register holds, and the odd ones the next.
#[inline(always)]
fn pairs<T: Plain>(registers: &MatrixRegisters, first: usize) -> EightRows<T, 8> {
    let [even, odd]: [&[T; LANES]; 2] = [0, 1].map(|next| registers.operand(first + next));
    std::array::from_fn(|row| {
        std::array::from_fn(|at| match at {
            ..4 => even[4 * row + at],
            _ => odd[4 * row + at - 4],
        })
    })
}

#[inline(always)]
fn put_pairs<T: Plain>(registers: &mut MatrixRegisters, first: usize, sums: &EightRows<T, 8>) {
    for next in 0..2 {
        let result: &mut [T; LANES] = registers.result(first + next);
        for (lanes, row) in result.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
            lanes.copy_from_slice(&row[4 * next..][..4]);
        }
    }
}
