//! The Airy function of the first kind.
//!
//! Beyond 2.09 on either side it is an asymptotic form (DLMF 9.7) with rational functions of the
//! inverse of `2/3 |x|^(3/2)`, between them its power series (DLMF 9.4.1). The coefficients are those
//! of the Cephes Mathematical Library (S. L. Moshier, `airy.c`), but for the leading 1 of the waves'
//! denominators, which PyTorch leaves out: so the numbers are PyTorch's, and off by up to 3e-6 where
//! the asymptotic form begins.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::polynomial::polynomial;
use crate::Value;

/// The amplitude for positive x: `DECAY / DECAY_BELOW`. The highest power is first, in all of these.
const DECAY: [f64; 8] = [
    0.346538101525629,
    12.007595273964581,
    76.27960536152345,
    168.08922493463058,
    159.75639135016442,
    70.53609068404442,
    14.026469116338967,
    1.0,
];
const DECAY_BELOW: [f64; 8] = [
    0.5675945326387702,
    14.75625625848472,
    84.51389701414746,
    177.31808814540045,
    164.2346928715297,
    71.47784008255756,
    14.095913560783403,
    1.0,
];
/// The amplitudes of the two waves for negative x.
const SINE: [f64; 9] = [
    -0.1316963234183318,
    -0.6264565444319123,
    -0.6931580360369335,
    -0.2797799815451191,
    -0.04919001326095003,
    -0.004062659235948854,
    -0.0001592764962392621,
    -2.776491081552329e-6,
    -1.6778769848911465e-8,
];
const SINE_BELOW: [f64; 9] = [
    13.356042070655324,
    32.682503279522464,
    26.736704094149957,
    9.187074029072596,
    1.4752914677166642,
    0.11568717379518804,
    0.004402916416152112,
    7.547203482874142e-5,
    4.5185009297058035e-7,
];
const COSINE: [f64; 11] = [
    0.01973399320916857,
    0.39110302961568827,
    1.0657989759959559,
    0.9391692298166502,
    0.35146565610554764,
    0.06338889196289255,
    0.005858041130483885,
    0.000282851600836737,
    6.98793669997261e-6,
    8.117892395543892e-8,
    3.415517847659236e-10,
];
const COSINE_BELOW: [f64; 10] = [
    9.30892908077442,
    19.835292871831214,
    15.564662893286462,
    5.476860694229755,
    0.9542936116189619,
    0.08645808263523921,
    0.004126565238242226,
    0.00010125908511650914,
    1.1716673321441352e-6,
    4.9183457006293e-9,
];
/// The size of x at which the asymptotic forms begin.
const BOUND: f64 = 2.09;
/// The values of the function and of its slope at 0, of which the slope is negative.
const AT_ZERO: f64 = 0.3550280538878172;
const SLOPE: f64 = 0.2588194037928068;
/// The number of terms that the power series needs at its bounds in double precision.
const TERMS: usize = 14;

impl<'t> Value<'t> {
    /// The Airy function of the first kind; NaN at the infinities, as in PyTorch.
    pub fn airy_ai(self) -> Value<'t> {
        let size = self.abs();
        let root = size.sqrt();
        let zeta = size * root * (2.0 / 3.0);
        let inverse = zeta.reciprocal();
        let scale = (root.sqrt().reciprocal()) * (0.5 * FRAC_2_SQRT_PI);

        let amplitude = polynomial(inverse, &DECAY) / polynomial(inverse, &DECAY_BELOW);
        let right = scale * 0.5 * amplitude * (-zeta).exp();

        // The sine and the cosine of zeta + π/4, without the rounding of that angle.
        let (sine, cosine) = (zeta.sin(), zeta.cos());
        let (turned_sine, turned_cosine) = (sine + cosine, cosine - sine);
        let z = inverse.square();
        let of_sine = z * polynomial(z, &SINE) / polynomial(z, &SINE_BELOW) + 1.0;
        let of_cosine = inverse * polynomial(z, &COSINE) / polynomial(z, &COSINE_BELOW);
        let waves = turned_sine * of_sine - turned_cosine * of_cosine;
        let left = scale * FRAC_1_SQRT_2 * waves;

        let far = self.lt(0.0).select(left, right);
        let value = size.lt(BOUND).select(self.airy_series(), far);
        self.isinf().select(f64::NAN, value)
    }

    fn airy_series(self) -> Value<'t> {
        let cube = self.square() * self;
        let (mut even, mut odd) = (self.constant(1.0), self.constant(1.0));
        // The innermost term first, so that the sums are Horner's.
        for term in (1..=TERMS).rev() {
            let k = 3.0 * term as f64;
            even = even * cube * (1.0 / (k * (k - 1.0))) + 1.0;
            odd = odd * cube * (1.0 / (k * (k + 1.0))) + 1.0;
        }
        even * AT_ZERO - odd * self * SLOPE
    }
}
