//! Floating-point operations without vector instructions.

use super::super::{math, rounded};
use super::area::Area;
use super::widest;

/// The functions of floating-point numbers, of 32 bits unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum FloatCall {
    /// For hosts without such an instruction; the parameter is the width.
    FusedMultiplyAdd,
    /// An operation in a rounding mode: the parameter is the operation, and the mode from its
    /// eighth bit on.
    Rounded,
    /// The same with 64 bits.
    RoundedWide,
    ReciprocalSquareRoot,
    Sine,
    Cosine,
    Log2,
    Exp2,
    Tanh,
}

pub(crate) unsafe extern "C" fn float(area: *mut Area, call: FloatCall, parameter: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    let (op, mode) = (parameter & 0xff, parameter >> 8);
    widest(
        #[inline(always)]
        || match call {
            FloatCall::FusedMultiplyAdd if parameter == 32 => area.zip3(f32::mul_add),
            FloatCall::FusedMultiplyAdd => area.zip3(f64::mul_add),
            FloatCall::Rounded => {
                area.zip3(|a, b, c| rounded::rounded_f32(a, b, c, op, mode));
            }
            FloatCall::RoundedWide => {
                area.zip3(|a, b, c| rounded::rounded_f64(a, b, c, op, mode));
            }
            FloatCall::ReciprocalSquareRoot => {
                area.map(|a: f32| (1.0 / f64::from(a).sqrt()) as f32);
            }
            FloatCall::Sine => {
                area.map(math::small_sine);
                area.mend(|a| !math::is_small(a), |a| math::sine(a));
            }
            FloatCall::Cosine => {
                area.map(math::small_cosine);
                area.mend(|a| !math::is_small(a), |a| math::cosine(a));
            }
            FloatCall::Log2 => area.map(math::binary_logarithm),
            FloatCall::Exp2 => area.map(math::power_of_two),
            FloatCall::Tanh => area.map(math::hyperbolic_tangent),
        },
    );
}
