//! Functions of the normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::polynomial::polynomial;
use crate::{ComputeType, Value};

/// The quantile around 1/2, of the square of the distance from there: the coefficients of the Cephes
/// Mathematical Library (S. L. Moshier, `ndtri.c`), the highest power first.
const CENTRE: [f64; 5] = [
    -59.96335010141079,
    98.00107541859997,
    -56.67628574690703,
    13.931260938727968,
    -1.2391658386738125,
];
const CENTRE_BELOW: [f64; 9] = [
    1.0,
    1.9544885833814176,
    4.676279128988815,
    86.36024213908905,
    -225.46268785411937,
    200.26021238006066,
    -82.03722561683334,
    15.90562251262117,
    -1.1833162112133,
];
/// The quantile in the tails, of the inverse of `sqrt(-2 log(p))`, up to 8 and beyond.
const TAIL: [f64; 9] = [
    4.0554489230596245,
    31.525109459989388,
    57.16281922464213,
    44.08050738932008,
    14.684956192885803,
    2.1866330685079025,
    -0.1402560791713545,
    -0.03504246268278482,
    -0.0008574567851546854,
];
const TAIL_BELOW: [f64; 9] = [
    1.0,
    15.779988325646675,
    45.39076351288792,
    41.3172038254672,
    15.04253856929075,
    2.504649462083094,
    -0.14218292285478779,
    -0.03808064076915783,
    -0.0009332594808954574,
];
const FAR_TAIL: [f64; 9] = [
    3.2377489177694603,
    6.915228890689842,
    3.9388102529247444,
    1.3330346081580755,
    0.20148538954917908,
    0.012371663481782003,
    0.00030158155350823543,
    2.6580697468673755e-6,
    6.239745391849833e-9,
];
const FAR_TAIL_BELOW: [f64; 9] = [
    1.0,
    6.02427039364742,
    3.6798356385616087,
    1.3770209948908132,
    0.21623699359449663,
    0.013420400608854318,
    0.00032801446468212774,
    2.8924786474538068e-6,
    6.790194080099813e-9,
];
/// The probability at which the tails begin: `exp(-2)`.
const TAIL_BEGINS: f64 = 0.1353352832366127;
const SQRT_2_PI: f64 = 2.5066282746310007;

impl<'t> Value<'t> {
    /// `exp(x²) erfc(x)`, in double precision within; the product of two numbers that neither overflow
    /// nor underflow, or the asymptotic series (DLMF 7.12.1) where they would.
    pub fn erfcx(self) -> Value<'t> {
        let of = self.compute_type();
        let x = self.convert(ComputeType::F64);
        // The square in two parts, of which the larger one is exact: its rounding would be multiplied
        // by the exponential function.
        let large = x.convert(ComputeType::F32).convert(ComputeType::F64);
        let rest = (x - large) * (x + large);
        let product = large.square().exp() * rest.exp() * x.erfc();
        let z = x.square().reciprocal() * -0.5;
        let series = polynomial(z, &[135135.0, 10395.0, 945.0, 105.0, 15.0, 3.0, 1.0, 1.0]);
        let far = series / x * (0.5 * FRAC_2_SQRT_PI);
        // Below -27 the function is infinite, where the parts of the square may be NaN.
        let value = x.gt(25.0).select(far, x.lt(-27.0).select(f64::INFINITY, product));
        value.convert(of)
    }

    /// The logarithm of the distribution function of the standard normal distribution, exact far
    /// below zero.
    pub fn log_ndtr(self) -> Value<'t> {
        let t = self * FRAC_1_SQRT_2;
        let left = ((-t).erfcx() * 0.5).log() - t.square();
        let right = (t.erfc() * -0.5).log1p();
        self.lt(-1.0).select(left, right)
    }

    /// The quantile function of the standard normal distribution: infinite at 0 and 1, NaN outside.
    pub fn ndtri(self) -> Value<'t> {
        let upper = self.gt(1.0 - TAIL_BEGINS);
        let p = upper.select(1.0 - self, self);
        let from_centre = p - 0.5;
        let z = from_centre.square();
        let bend = z * polynomial(z, &CENTRE) / polynomial(z, &CENTRE_BELOW);
        let centre = (from_centre + from_centre * bend) * SQRT_2_PI;

        let x = (p.log() * -2.0).sqrt();
        let z = x.reciprocal();
        let near = polynomial(z, &TAIL) / polynomial(z, &TAIL_BELOW);
        let far = polynomial(z, &FAR_TAIL) / polynomial(z, &FAR_TAIL_BELOW);
        let tail = x - x.log() * z - z * x.lt(8.0).select(near, far);
        let tail = p.eq(0.0).select(f64::INFINITY, tail);
        let tail = upper.select(tail, -tail);
        p.gt(TAIL_BEGINS).select(centre, tail)
    }
}
