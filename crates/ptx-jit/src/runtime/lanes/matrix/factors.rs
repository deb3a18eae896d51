//! Registers of a warp as eight rows of a factor.

use ptx::MatrixType;

use super::EightRows;
use super::sums::column_at;
use crate::runtime::lanes::area::{LANES, LaneArray, Plain};
use crate::runtime::lanes::half::{F16, Half};

/// Numbers of 16 bits, of which a register holds two.
#[inline(always)]
pub(super) fn halves<H: Half>(register: &LaneArray) -> EightRows<f32, 8> {
    let halves: &[[u16; 2]; LANES] = register.lanes();
    let mut rows = [[0.0; 8]; 8];
    for (row, lanes) in rows.iter_mut().zip(halves.as_chunks::<4>().0) {
        for (value, &half) in row.iter_mut().zip(lanes.as_flattened()) {
            *value = H::widen(half);
        }
    }
    rows
}

/// The same numbers with rows and columns exchanged, in the order of [`column_at`]: two rows of each
/// lane's pair, which are exchanged before they are taken apart.
#[inline(always)]
pub(super) fn halves_across<H: Half>(register: &LaneArray) -> [[f32; 8]; 8] {
    let words: &[u32; LANES] = register.lanes();
    let mut rows = [[0.0; 8]; 8];
    for (pair, [low, high]) in rows.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let pairs: [u32; 8] = std::array::from_fn(|place| words[4 * column_at(place) + pair]);
        *low = pairs.map(|pair| H::widen(pair as u16));
        *high = pairs.map(|pair| H::widen((pair >> 16) as u16));
    }
    rows
}

/// Numbers whose lowest 13 bits do not count.
#[inline(always)]
pub(super) fn words(register: &LaneArray) -> EightRows<f32, 4> {
    one_by_one(register.lanes::<u32>()).map(|row| row.map(|bits| f32::from_bits(bits & !0x1fff)))
}

#[inline(always)]
pub(super) fn doubles(register: &LaneArray) -> EightRows<f64, 4> {
    one_by_one(register.lanes())
}

/// Integers of 8 bits, of which a register holds four.
#[inline(always)]
pub(super) fn integers(register: &LaneArray, signed: bool) -> EightRows<i32, 16> {
    // Where numbers are signed, the highest bit counts as negative.
    let sign = if signed { 0x80 } else { 0 };
    by_fours(register, |byte| (i32::from(byte) ^ sign) - sign)
}

/// Floating-point numbers of 8 bits, of which a register holds four.
#[inline(always)]
pub(super) fn bytes(register: &LaneArray, ty: MatrixType) -> EightRows<f32, 16> {
    match ty {
        // It is the upper half of an `f16`.
        MatrixType::E5M2 => by_fours(register, |byte| F16::widen(u16::from(byte) << 8)),
        _ => by_fours(register, small),
    }
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
fn by_fours<T: Copy + Default>(register: &LaneArray, widen: impl Fn(u8) -> T) -> EightRows<T, 16> {
    let bytes: &[[u8; 4]; LANES] = register.lanes();
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
