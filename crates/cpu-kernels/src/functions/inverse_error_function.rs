//! The inverse of the error function: polynomials of the logarithm of 1 - x², after Giles,
//! "Approximating the erfinv function" (GPU Computing Gems, 2011), with coefficients for more bits.

use super::error_function::{erf_f64, erfc_f64};
use super::exp::exp_f64;
use super::polynomial::polynomial_f64;
use super::short::log2_short;
use crate::instruction_set::Isa;

/// erfinv(x) = x p(w - 3.5) with w = -log2(1 - x²) up to 7. `coefficients/fit.py`: error 2^-29.
const MIDDLE: [f64; 11] = [
    1.4831393528234407,
    0.17137196048842554,
    -0.0018699731330530927,
    -0.00043878528064037457,
    5.074636782551537e-5,
    -5.426227169795549e-7,
    -4.07898999896512e-7,
    3.499752128687456e-8,
    1.3383163065301137e-9,
    -3.385595452419775e-10,
    6.3177869856713555e-12,
];
/// erfinv(x) = x p(√w - 4) for w from 7 to 23. `coefficients/fit.py`: error 2^-29.
const TAIL_SHORT: [f64; 11] = [
    3.1645586482276107,
    0.8375941606586146,
    0.0031579488185079527,
    -0.0017616533204537926,
    0.0009140737929971808,
    -0.0005055921287889046,
    0.0002512305860032966,
    -0.00010109008539475172,
    1.3676729263992738e-5,
    1.5394448071154777e-5,
    -3.552010401085777e-6,
];
/// erfinv(x) = x p(√w - 4) for w from 7 to 53. `coefficients/fit.py`: error 2^-20.
const TAIL_F64: [f64; 10] = [
    3.1645611503422932,
    0.8375882349723832,
    0.003125411807608253,
    -0.0017315172646113835,
    0.0009727918769656012,
    -0.0005654264421397014,
    0.000228467295162716,
    -5.112531664235419e-5,
    5.061981237088749e-6,
    -9.794822607610043e-8,
];

/// erfinv(x), where that is a number, with a polynomial for the tails.
#[inline(always)]
fn estimate<I: Isa>(x: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let w = -log2_short::<I>((1.0 - x) * (1.0 + x));
    let middle = polynomial_f64::<I, _>(w - 3.5, MIDDLE);
    x * if w > 7.0 { tail(w.sqrt() - 4.0) } else { middle }
}

/// erfinv(x), where `y` is good for what lies between -1 and 1.
#[inline(always)]
fn limits(x: f64, y: f64) -> f64 {
    let y = if x.abs() == 1.0 { f64::INFINITY.copysign(x) } else { y };
    if x.abs() > 1.0 { f64::NAN } else { y }
}

/// The inverse of the error function.
#[inline(always)]
pub(crate) fn erfinv_f32<I: Isa>(x: f32) -> f32 {
    let x = f64::from(x);
    limits(x, estimate::<I>(x, |v| polynomial_f64::<I, _>(v, TAIL_SHORT))) as f32
}

/// The inverse of the error function.
#[inline(always)]
pub(crate) fn erfinv_f64<I: Isa>(x: f64) -> f64 {
    let size = x.abs();
    let y = estimate::<I>(size, |v| polynomial_f64::<I, _>(v, TAIL_F64));
    // A step of Halley's method, with the complements where those have more digits.
    let difference =
        if size > 0.5 { (1.0 - size) - erfc_f64::<I>(y) } else { erf_f64::<I>(y) - size };
    const HALF_ROOT_OF_PI: f64 = 0.886_226_925_452_758;
    let step = difference * HALF_ROOT_OF_PI * exp_f64::<I>(y * y);
    limits(x, (y - step / (1.0 + y * step)).copysign(x))
}
