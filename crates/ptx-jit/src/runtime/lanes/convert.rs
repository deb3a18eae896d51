//! Conversions without vector instructions.

use ptx::Rounding;

use super::super::Format;
use super::super::rounded;
use super::area::{Area, Plain};
use super::half::{Bf16, F16, Half};
use super::widest;

/// The conversions. The parameter is that of [`ConvertCall::parameter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ConvertCall {
    HalfToFloat,
    /// To the nearest half of the format `to`.
    FloatToHalf,
    /// 64-bit integers to the nearest numbers of the format `to`, of 32 or 64 bits.
    IntegerToNearest,
    /// 64-bit integers to numbers of any format, in any mode.
    IntegerToFloat,
    /// Numbers of the format `from`, 32 or 64 bits, rounded to whole ones and to 64-bit integers.
    FloatToInteger,
    /// The same, to 32-bit integers.
    FloatToWord,
    /// Between any formats, in any mode.
    FloatToFloat,
    /// Pairs of 8-bit numbers of the format `from` to pairs of halves.
    FromBytes,
    /// Pairs of halves to pairs of 8-bit numbers of the format `to`.
    HalvesToBytes,
    /// Two numbers to a pair of 8-bit ones, the first to the upper byte.
    ToBytes,
}

/// The bit of the parameter that says that integers are signed, or for bytes that negative numbers
/// become 0.
const FLAG: u32 = 1 << 12;

impl ConvertCall {
    /// Packs the parameter: the formats, the mode, and whether integers are signed, or for bytes
    /// negative numbers become 0.
    pub(crate) fn parameter(from: Format, to: Format, mode: Rounding, flag: bool) -> u32 {
        from as u32 | (to as u32) << 4 | (mode as u32) << 8 | if flag { FLAG } else { 0 }
    }

    /// The part of the parameter that says how wide the integers are that come of NaN: their
    /// highest bit is set.
    pub(crate) fn width(bits: u32) -> u32 {
        bits << 16
    }
}

pub(crate) unsafe extern "C" fn convert(area: *mut Area, call: ConvertCall, parameter: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    widest(
        #[inline(always)]
        || apply(area, call, parameter),
    );
}

#[inline(always)]
fn apply(area: &mut Area, call: ConvertCall, parameter: u32) {
    let (from, to) = (parameter & 15, parameter >> 4 & 15);
    let (mode, flag) = (parameter >> 8 & 15, parameter & FLAG != 0);
    let relu = |value: f32| if flag && value <= 0.0 { 0.0 } else { value };
    match call {
        ConvertCall::HalfToFloat => area.map(F16::widen),
        ConvertCall::FloatToHalf if to == Format::F16 as u32 => area.map(F16::narrow),
        ConvertCall::FloatToHalf => area.map(Bf16::narrow),
        ConvertCall::IntegerToNearest => match (to == Format::F32 as u32, flag) {
            (true, true) => area.map(|value: i64| value as f32),
            (true, false) => area.map(|value: u64| value as f32),
            (false, true) => area.map(|value: i64| value as f64),
            (false, false) => area.map(|value: u64| value as f64),
        },
        ConvertCall::IntegerToFloat => {
            let convert = |value| rounded::integer_to_float(value, u32::from(flag), to, mode);
            match to {
                _ if to == Format::F32 as u32 => area.map(|value| convert(value) as u32),
                _ if to == Format::F64 as u32 => area.map(convert),
                _ => area.map(|value| convert(value) as u16),
            }
        }
        ConvertCall::FloatToInteger => match (from == Format::F32 as u32, flag) {
            (true, true) => area.map(|value: f32| signed(f64::from(value), mode, 64)),
            (true, false) => area.map(|value: f32| unsigned(f64::from(value), mode, 64)),
            (false, true) => area.map(|value: f64| signed(value, mode, 64)),
            (false, false) => area.map(|value: f64| unsigned(value, mode, 64)),
        },
        ConvertCall::FloatToWord => match (flag, parameter >> 16) {
            (true, bits) => area.map(|value: f64| {
                signed(value, mode, bits).clamp(i32::MIN.into(), i32::MAX.into()) as i32
            }),
            (false, bits) => {
                area.map(|value: f64| unsigned(value, mode, bits).min(u32::MAX.into()) as u32)
            }
        },
        ConvertCall::FloatToFloat => {
            let convert = |bits| rounded::float_to_float(bits, from, to, mode);
            match from {
                _ if from == Format::F32 as u32 => {
                    to_format(area, to, |bits: u32| convert(bits.into()))
                }
                _ if from == Format::F64 as u32 => to_format(area, to, convert),
                _ => to_format(area, to, |bits: u16| convert(bits.into())),
            }
        }
        ConvertCall::FromBytes => area.map(|pair: u16| {
            [pair & 255, pair >> 8]
                .map(|byte| F16::narrow(relu(rounded::byte_to_f32(byte.into(), from))))
        }),
        ConvertCall::HalvesToBytes => area.map(|pair: [u16; 2]| {
            let [low, high] =
                pair.map(|half| rounded::f32_to_byte(relu(F16::widen(half)), to) as u16);
            high << 8 | low
        }),
        ConvertCall::ToBytes => area.zip(|high: f32, low: f32| {
            let [low, high] = [low, high].map(|value| rounded::f32_to_byte(relu(value), to) as u16);
            high << 8 | low
        }),
    }
}

/// Writes the low bits that a format has.
#[inline(always)]
fn to_format<A: Plain>(area: &mut Area, to: u32, convert: impl Fn(A) -> u64) {
    match to {
        _ if to == Format::F32 as u32 => area.map(|value| convert(value) as u32),
        _ if to == Format::F64 as u32 => area.map(convert),
        _ => area.map(|value| convert(value) as u16),
    }
}

/// The nearest signed integer. NaN gives the least one with so many bits (PTX ISA, `cvt`).
#[inline(always)]
fn signed(value: f64, mode: u32, bits: u32) -> i64 {
    if value.is_nan() { i64::MIN >> (64 - bits) } else { whole(value, mode) as i64 }
}

/// The nearest unsigned integer. NaN gives the highest bit of so many.
#[inline(always)]
fn unsigned(value: f64, mode: u32, bits: u32) -> u64 {
    if value.is_nan() { 1 << (bits - 1) } else { whole(value, mode) as u64 }
}

/// Rounded to a whole number.
#[inline(always)]
fn whole(value: f64, mode: u32) -> f64 {
    match mode {
        _ if mode == Rounding::Nearest as u32 => value.round_ties_even(),
        _ if mode == Rounding::TowardZero as u32 => value.trunc(),
        _ if mode == Rounding::Down as u32 => value.floor(),
        _ => value.ceil(),
    }
}
