//! Registers of a warp as eight rows of a factor.

use std::marker::PhantomData;

use ptx::MatrixType;

use super::EightRows;
use super::registers::MatrixRegisters;
use super::sums::column_at;
use crate::runtime::lanes::area::{LANES, Plain};
use crate::runtime::lanes::half::{F16, Half};

/// The numbers that a register holds, eight rows of P.
///
/// They are read by methods that are always inlined, and not by functions that are handed on: whoever
/// calls those does it by way of code that is compiled for any processor.
pub(super) trait FactorNumbers<const P: usize> {
    type Number: Copy + Default;

    /// The numbers of an operand.
    fn rows(&self, registers: &MatrixRegisters, index: usize) -> EightRows<Self::Number, P>;

    /// The same numbers with rows and columns exchanged, in the order of [`column_at`].
    #[inline(always)]
    fn columns(&self, registers: &MatrixRegisters, index: usize) -> [[Self::Number; 8]; P] {
        let rows = self.rows(registers, index);
        std::array::from_fn(|column| std::array::from_fn(|place| rows[column_at(place)][column]))
    }
}

/// Numbers of 16 bits, of which a register holds two.
pub(super) struct HalfFactors<H>(PhantomData<H>);

/// Numbers of 32 bits whose lowest 13 bits do not count.
#[derive(Clone, Copy)]
pub(super) struct WordFactors;

/// Numbers of 64 bits.
#[derive(Clone, Copy)]
pub(super) struct DoubleFactors;

/// Integers of 8 bits, of which a register holds four.
#[derive(Clone, Copy)]
pub(super) struct IntegerFactors {
    /// All ones in the highest bit, if it counts as negative.
    sign: i32,
}

/// Floating-point numbers of 8 bits, of which a register holds four.
#[derive(Clone, Copy)]
pub(super) struct ByteFactors(pub(super) MatrixType);

impl<H> HalfFactors<H> {
    pub(super) const ALL: HalfFactors<H> = HalfFactors(PhantomData);
}

impl<H: Half> FactorNumbers<8> for HalfFactors<H> {
    type Number = f32;

    #[inline(always)]
    fn rows(&self, registers: &MatrixRegisters, index: usize) -> EightRows<f32, 8> {
        halves::<H>(registers, index)
    }

    /// Two rows of each lane's pair, which are exchanged before they are taken apart.
    #[inline(always)]
    fn columns(&self, registers: &MatrixRegisters, index: usize) -> [[f32; 8]; 8] {
        let words: &[u32; LANES] = registers.operand(index);
        let mut rows = [[0.0; 8]; 8];
        for (pair, [low, high]) in rows.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let pairs: [u32; 8] = std::array::from_fn(|place| words[4 * column_at(place) + pair]);
            *low = pairs.map(|pair| H::widen(pair as u16));
            *high = pairs.map(|pair| H::widen((pair >> 16) as u16));
        }
        rows
    }
}

impl FactorNumbers<4> for WordFactors {
    type Number = f32;

    #[inline(always)]
    fn rows(&self, registers: &MatrixRegisters, index: usize) -> EightRows<f32, 4> {
        let words = one_by_one(registers.operand::<u32>(index));
        words.map(|row| row.map(|bits| f32::from_bits(bits & !0x1fff)))
    }
}

impl FactorNumbers<4> for DoubleFactors {
    type Number = f64;

    #[inline(always)]
    fn rows(&self, registers: &MatrixRegisters, index: usize) -> EightRows<f64, 4> {
        one_by_one(registers.operand(index))
    }
}

impl IntegerFactors {
    pub(super) fn of(ty: MatrixType) -> IntegerFactors {
        IntegerFactors { sign: if ty == MatrixType::S8 { 0x80 } else { 0 } }
    }
}

impl FactorNumbers<16> for IntegerFactors {
    type Number = i32;

    #[inline(always)]
    fn rows(&self, registers: &MatrixRegisters, index: usize) -> EightRows<i32, 16> {
        let bytes = registers.operand(index);
        by_fours(bytes, |byte| (i32::from(byte) ^ self.sign) - self.sign)
    }
}

impl FactorNumbers<16> for ByteFactors {
    type Number = f32;

    #[inline(always)]
    fn rows(&self, registers: &MatrixRegisters, index: usize) -> EightRows<f32, 16> {
        let bytes = registers.operand(index);
        match self.0 {
            // It is the upper half of an `f16`.
            MatrixType::E5M2 => by_fours(bytes, |byte| F16::widen(u16::from(byte) << 8)),
            _ => by_fours(bytes, small),
        }
    }
}

/// Eight rows of numbers of 16 bits.
#[inline(always)]
pub(super) fn halves<H: Half>(registers: &MatrixRegisters, index: usize) -> EightRows<f32, 8> {
    let halves: &[[u16; 2]; LANES] = registers.operand(index);
    let mut rows = [[0.0; 8]; 8];
    for (row, lanes) in rows.iter_mut().zip(halves.as_chunks::<4>().0) {
        for (value, &half) in row.iter_mut().zip(lanes.as_flattened()) {
            *value = H::widen(half);
        }
    }
    rows
}

/// A number of the type e4m3: an `f16` with an exponent that counts from 8 less, and without its
/// infinities. All bits of the exponent and of the fraction make a NaN.
#[inline(always)]
fn small(byte: u8) -> f32 {
    let (sign, rest) = (u16::from(byte & 0x80) << 8, u16::from(byte & 0x7f));
    let value = F16::widen(sign | rest << 7) * 256.0;
    if rest == 0x7f { f32::NAN } else { value }
}

#[inline(always)]
fn by_fours<T: Copy + Default>(
    bytes: &[[u8; 4]; LANES],
    widen: impl Fn(u8) -> T,
) -> EightRows<T, 16> {
    let mut rows = [[T::default(); 16]; 8];
    for (row, lanes) in rows.iter_mut().zip(bytes.as_chunks::<4>().0) {
        for (value, &byte) in row.iter_mut().zip(lanes.as_flattened()) {
            *value = widen(byte);
        }
    }
    rows
}

#[inline(always)]
fn one_by_one<T: Plain>(lanes: &[T; LANES]) -> EightRows<T, 4> {
    std::array::from_fn(|row| std::array::from_fn(|column| lanes[4 * row + column]))
}
