//! Elementary functions, which LLVM makes vectors of when they are inlined into a loop: no branches,
//! calls or tables, but selections. The instruction sets with fused multiplications use them, and give
//! the same bits (but for those of NaN); the baseline rounds products, within the same bounds. Where
//! more than the working precision is needed, functions of `f32` are computed in `f64` with short
//! polynomials, and those of `f64` with sums of two numbers.
//!
//! The polynomials are made by `coefficients/fit.py`. Special numbers give what C's functions give
//! (C17, annex F), and what PyTorch gives where C has no such function. Subnormal numbers count.
//!
//! The largest errors, in units in the last place of the exact result: bounds, which the tests
//! assert in every set, and what was found before the larger sets fused: for `f32`, at 68 million
//! numbers of all exponents (exp, log, tanh, sigmoid), or at 17 million, and at 12 million pairs; for
//! `f64`, at 8,000 to 16,000 random numbers of several ranges, beside mpmath. Of one `f32`, 17 million
//! numbers gave no more in any set since; erf is as found there, in the baseline.
//!
//! | function | f32 bound | f32 found | f64 bound | f64 found |
//! |---|---|---|---|---|
//! | acos | 0.51 | 0.50 | 1.0 | 0.75 |
//! | acosh | 0.51 | 0.50 | 1.0 | 0.51 |
//! | asin | 0.51 | 0.50 | 1.1 | 1.01 |
//! | asinh | 0.51 | 0.51 | 1.0 | 0.51 |
//! | atan | 0.51 | 0.51 | 1.5 | 1.39 |
//! | atan2 | 0.51 | 0.51 | 1.5 | 1.48 |
//! | atanh | 0.51 | 0.51 | 1.0 | 0.50 |
//! | cos | 1.0 | 0.51 | 1.0 | 0.73 |
//! | cosh | 0.51 | 0.51 | 1.5 | 0.85 |
//! | digamma | 0.51 | 0.50 | 4.0 | 2.65 |
//! | erf | 2.0 | 1.86 | 1.5 | 1.08 |
//! | erfc | 0.51 | 0.51 | 3.0 | 2.51 |
//! | erfinv | 0.6 | 0.54 | 3.0 | 1.92 |
//! | exp | 1.0 | 0.99 | 1.0 | 0.91 |
//! | exp2 | 0.51 | 0.51 | 1.2 | 1.06 |
//! | expm1 | 0.51 | 0.51 | 1.0 | 0.78 |
//! | hypot | 0.51 | 0.50 | 1.0 | 0.50 |
//! | lgamma | 0.51 | 0.50 | 4.0 | 2.21 |
//! | log | 1.0 | 0.78 | 1.0 | 0.74 |
//! | log10 | 0.51 | 0.50 | 1.0 | 0.61 |
//! | log1p | 0.51 | 0.51 | 1.0 | 0.75 |
//! | log2 | 0.51 | 0.50 | 1.0 | 0.75 |
//! | pow | 0.51 | 0.51 | 1.0 | 0.59 |
//! | sigmoid | 2.5 | 2.31 | 2.5 | 2.04 |
//! | sin | 1.0 | 0.51 | 1.0 | 0.77 |
//! | sinh | 0.51 | 0.51 | 1.5 | 1.33 |
//! | tan | 1.0 | 0.80 | 2.0 | 1.73 |
//! | tanh | 1.1 | 1.08 | 1.5 | 0.93 |
//!
//! Remainders, floor division, integer powers and common divisors are exact, or what PyTorch's steps
//! give. `lgamma` and `digamma` are scalar, and their errors are those away from their zeros at
//! negative numbers; `igamma` and `igammac` are within 1e-12 of their values. Angles beyond 1.6 million, and remainders of quotients with very many bits, go
//! to `libm`, element by element.

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
mod multiply_add;
mod polynomial;
mod pow;
mod primitives;
mod remainder;
mod rounding;
mod short;
mod trigonometric;

pub(crate) use function::{BinaryFunction, BinaryLoop, UnaryFunction, UnaryLoop};
pub(crate) use primitives::*;
