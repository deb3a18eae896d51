//! Functions that neither the standard library nor `libm` has, or not as PyTorch has them.

use std::f64::consts::PI;

/// The inverse of the error function: M. Giles' approximation ("Approximating the erfinv function",
/// GPU Computing Gems, 2011, single precision), and three steps of Halley's method, of which each
/// triples the digits. In the tails the complementary function keeps them.
pub(super) fn erfinv(y: f64) -> f64 {
    if y.abs() == 1.0 {
        return f64::INFINITY.copysign(y);
    }
    if y == 0.0 || y.is_nan() || y.abs() > 1.0 {
        return if y == 0.0 { y } else { f64::NAN };
    }
    let mut x = giles(y.abs());
    for _ in 0..3 {
        // erf(x) - |y|; both terms of the second are exact or small.
        let error =
            if y.abs() < 0.5 { libm::erf(x) - y.abs() } else { (1.0 - y.abs()) - libm::erfc(x) };
        let step = error / (2.0 / PI.sqrt() * (-x * x).exp());
        x -= step / (1.0 + x * step);
    }
    x.copysign(y)
}

fn giles(y: f64) -> f64 {
    let w = -((1.0 - y) * (1.0 + y)).ln();
    let (w, coefficients) = if w < 5.0 { (w - 2.5, CENTER) } else { (w.sqrt() - 3.0, TAILS) };
    coefficients.iter().fold(0.0, |sum, coefficient| sum * w + coefficient) * y
}

const CENTER: [f64; 9] = [
    2.810_226_36e-8,
    3.432_739_39e-7,
    -3.523_387_7e-6,
    -4.391_506_54e-6,
    0.000_218_580_87,
    -0.001_253_725_03,
    -0.004_177_681_64,
    0.246_640_727,
    1.501_409_41,
];

const TAILS: [f64; 9] = [
    -0.000_200_214_257,
    0.000_100_950_558,
    0.001_349_343_22,
    -0.003_673_428_44,
    0.005_739_507_73,
    -0.007_622_461_3,
    0.009_438_870_47,
    1.001_674_06,
    2.832_976_82,
];

/// The logarithm of the absolute value of the gamma function, infinite at its poles.
pub(super) fn lgamma(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { f64::INFINITY } else { libm::lgamma(x) }
}

/// The derivative of `lgamma`: by its recurrence up to where the asymptotic series holds, and by
/// its reflection from the negative side (Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18).
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.trunc() {
            return f64::NAN;
        }
        // The fraction first: `PI * x` would lose what `tan` lives on.
        return digamma(1.0 - x) - PI / (PI * x.fract()).tan();
    }
    if x == f64::INFINITY {
        return x;
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    // B(2k) / 2k, the last one first.
    let series = [
        1.0 / 12.0,
        -691.0 / 32760.0,
        1.0 / 132.0,
        -1.0 / 240.0,
        1.0 / 252.0,
        -1.0 / 120.0,
        1.0 / 12.0,
    ];
    let tail = series.iter().fold(0.0, |sum, coefficient| sum * z + coefficient) * z;
    sum + x.ln() - 0.5 / x - tail
}
