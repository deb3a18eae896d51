//! The bits of particular floating-point numbers.

use ptx::ScalarType;

/// The bits of the NaN that operations of a type give.
pub(super) fn canonical_nan_bits(ty: ScalarType) -> u64 {
    match ty {
        ScalarType::F64 => 0xfff8_0000_0000_0000,
        ScalarType::F32 => 0x7fff_ffff,
        _ => 0x7fff,
    }
}

/// The bit that is the sign.
pub(super) fn sign_bit(ty: ScalarType) -> u64 {
    1 << (ty.bits() - 1)
}

/// The bits of positive infinity, which are those of the exponent.
pub(super) fn infinity(ty: ScalarType) -> u64 {
    match ty {
        ScalarType::F64 => 0x7ff0_0000_0000_0000,
        ScalarType::F32 => 0x7f80_0000,
        ScalarType::BF16 => 0x7f80,
        _ => 0x7c00,
    }
}
