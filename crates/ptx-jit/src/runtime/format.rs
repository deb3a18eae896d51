//! The binary floating-point formats, taken apart and put together.

use ptx::{Rounding, ScalarType};

/// A binary floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Format {
    F16,
    Bf16,
    F32,
    F64,
    /// Without infinities.
    E4M3,
    E5M2,
}

/// A number of some format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnpackedFloat {
    NaN,
    Infinity {
        negative: bool,
    },
    /// `significand * 2^exponent`; zero has a sign too.
    Finite {
        negative: bool,
        significand: u128,
        exponent: i32,
    },
}

impl Format {
    pub(crate) fn of(ty: ScalarType) -> Format {
        match ty {
            ScalarType::F16 | ScalarType::F16x2 => Format::F16,
            ScalarType::BF16 | ScalarType::BF16x2 => Format::Bf16,
            ScalarType::F32 => Format::F32,
            ScalarType::E4M3x2 => Format::E4M3,
            ScalarType::E5M2x2 => Format::E5M2,
            _ => Format::F64,
        }
    }

    /// The format that native code names by its number.
    pub(super) fn from_code(code: u32) -> Format {
        let known = [Format::F16, Format::Bf16, Format::F32, Format::F64, Format::E4M3];
        known.get(code as usize).copied().unwrap_or(Format::E5M2)
    }

    /// The bits of the fraction.
    fn fraction_bits(self) -> u32 {
        match self {
            Format::F16 => 10,
            Format::Bf16 => 7,
            Format::F32 => 23,
            Format::F64 => 52,
            Format::E4M3 => 3,
            Format::E5M2 => 2,
        }
    }

    fn exponent_bits(self) -> u32 {
        match self {
            Format::F16 | Format::E5M2 => 5,
            Format::Bf16 | Format::F32 => 8,
            Format::F64 => 11,
            Format::E4M3 => 4,
        }
    }

    /// The exponent of the lowest bit of the smallest numbers.
    fn least_exponent(self) -> i32 {
        2 - (1 << (self.exponent_bits() - 1)) - self.fraction_bits() as i32
    }

    /// The least magnitude that is not finite.
    fn infinity(self) -> u64 {
        match self {
            Format::E4M3 => self.nan(),
            _ => ((1 << self.exponent_bits()) - 1) << self.fraction_bits(),
        }
    }

    fn sign(self) -> u64 {
        1 << (self.exponent_bits() + self.fraction_bits())
    }

    /// The NaN that operations give where no operand is one.
    pub(super) fn nan(self) -> u64 {
        match self {
            Format::F64 => 0xfff8_0000_0000_0000,
            _ => self.sign() - 1,
        }
    }

    /// The number that some bits stand for.
    pub(super) fn unpack(self, bits: u64) -> UnpackedFloat {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        if magnitude >= self.infinity() {
            return match magnitude == self.infinity() && self != Format::E4M3 {
                true => UnpackedFloat::Infinity { negative },
                false => UnpackedFloat::NaN,
            };
        }
        let exponent = (magnitude >> self.fraction_bits()) as i32;
        let fraction = u128::from(magnitude & ((1 << self.fraction_bits()) - 1));
        let hidden = if exponent == 0 { 0 } else { 1 << self.fraction_bits() };
        let exponent = self.least_exponent() + exponent.max(1) - 1;
        UnpackedFloat::Finite { negative, significand: fraction | hidden, exponent }
    }

    /// The bits of the number of the format that is nearest, of which there is always a finite one.
    pub(super) fn pack_finite(self, number: UnpackedFloat) -> u64 {
        let bits = self.pack(number, false, Rounding::Nearest);
        match number {
            UnpackedFloat::NaN => bits,
            _ if bits & (self.sign() - 1) >= self.infinity() => bits - 1,
            _ => bits,
        }
    }

    /// The bits of a number, rounded to the format. `inexact` says that the number is a little
    /// larger than given.
    pub(super) fn pack(self, number: UnpackedFloat, inexact: bool, rounding: Rounding) -> u64 {
        let (negative, significand, exponent) = match number {
            UnpackedFloat::NaN => return self.nan(),
            UnpackedFloat::Infinity { negative } => return self.signed(negative, self.infinity()),
            UnpackedFloat::Finite { negative, significand, exponent } => {
                (negative, significand, exponent)
            }
        };
        if significand == 0 && !inexact {
            return self.signed(negative, 0);
        }
        let precision = self.fraction_bits() as i32 + 1;
        let length = 128 - significand.leading_zeros() as i32;
        // The place of the lowest bit that the format keeps, given where the number begins.
        let lowest = (exponent + length - precision).max(self.least_exponent());
        let drop = lowest - exponent;
        let (mut kept, rest) = split(significand, drop, inexact);
        if rounds_up(rounding, negative, kept & 1 != 0, rest) {
            kept += 1;
        }
        // A carry into a new bit, or out of the subnormal numbers, is right in the sum of both
        // fields.
        let biased = (lowest - self.least_exponent()) as u64;
        let bits = (biased << self.fraction_bits()) + kept as u64;
        if bits < self.infinity() {
            return self.signed(negative, bits);
        }
        self.signed(negative, self.overflow(rounding, negative))
    }

    fn overflow(self, rounding: Rounding, negative: bool) -> u64 {
        let away = match rounding {
            Rounding::Nearest => true,
            Rounding::TowardZero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if away { self.infinity() } else { self.infinity() - 1 }
    }

    fn signed(self, negative: bool, magnitude: u64) -> u64 {
        if negative { magnitude | self.sign() } else { magnitude }
    }
}

/// The size of what is dropped, compared with half of the lowest bit kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    BelowHalf,
    Half,
    AboveHalf,
}

/// Drops bits from the low end, or appends zeros.
fn split(significand: u128, drop: i32, inexact: bool) -> (u128, Rest) {
    let below = if inexact { Rest::BelowHalf } else { Rest::Nothing };
    if drop <= 0 {
        return (significand << -drop, below);
    }
    if drop > 128 {
        return (0, Rest::BelowHalf);
    }
    let kept = significand.checked_shr(drop as u32).unwrap_or(0);
    let half = 1 << (drop - 1);
    let dropped = significand & (half | (half - 1));
    let rest = match dropped.cmp(&half) {
        std::cmp::Ordering::Less if dropped == 0 => below,
        std::cmp::Ordering::Less => Rest::BelowHalf,
        std::cmp::Ordering::Equal if !inexact => Rest::Half,
        _ => Rest::AboveHalf,
    };
    (kept, rest)
}

fn rounds_up(rounding: Rounding, negative: bool, odd: bool, rest: Rest) -> bool {
    match rounding {
        _ if rest == Rest::Nothing => false,
        Rounding::Nearest => rest == Rest::AboveHalf || rest == Rest::Half && odd,
        Rounding::TowardZero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
    }
}
