//! Elementary functions of floats that loops over them make vectors of, with the same bits in every
//! instruction set: nothing is fused, since the baseline has no instruction for it.
mod double_word;
mod error_function;
mod exp;
mod exponent;
mod function;
mod gamma;
mod hyperbolic;
mod hypot;
mod integer;
mod inverse_error_function;
mod inverse_trigonometric;
mod log;
mod polynomial;
mod pow;
mod primitives;
mod remainder;
mod rounding;
mod short;
mod trigonometric;

pub(crate) use function::{BinaryFunction, BinaryLoop, UnaryFunction, UnaryLoop};
pub(crate) use primitives::*;

#[cfg(test)]
mod tests;
