//! Bessel functions of the first and the second kind, of orders 0 and 1.
//!
//! Up to 5 they are rational functions of the square with their first zeros as factors, beyond it
//! the asymptotic forms of DLMF 10.17 with rational functions of 25/x². The coefficients are those
//! of the Cephes Mathematical Library (S. L. Moshier, `j0.c` and `j1.c`), but for the leading 1 of
//! denominators, which PyTorch leaves out: so the numbers are PyTorch's, and off by up to 9e-7 where
//! the asymptotic forms begin.

use std::f64::consts::{FRAC_2_PI, PI};

use super::polynomial::polynomial;
use crate::Value;

/// The asymptotic amplitudes of order 0: `P0 / P0_BELOW` stands beside the one wave, `Q0 / Q0_BELOW`
/// beside the other. The highest power is first, in all of these.
const P0: [f64; 7] = [
    0.0007969367292973471,
    0.08283523921074408,
    1.239533716464143,
    5.447250030587687,
    8.74716500199817,
    5.303240382353949,
    1.0,
];
const P0_BELOW: [f64; 7] = [
    0.0009244088105588637,
    0.08562884743544745,
    1.2535274390105895,
    5.470977403304171,
    8.761908832370695,
    5.306052882353947,
    1.0,
];
const Q0: [f64; 8] = [
    -0.011366383889846916,
    -1.2825271867050931,
    -19.553954425773597,
    -93.20601521237683,
    -177.68116798048806,
    -147.07750515495118,
    -51.41053267665993,
    -6.050143506007285,
];
const Q0_BELOW: [f64; 7] = [
    64.3178256118178,
    856.4300259769806,
    3882.4018360540163,
    7240.467741956525,
    5930.727011873169,
    2062.0933166032783,
    242.0057402402914,
];
/// The same of order 1.
const P1: [f64; 7] = [
    0.0007621256162081731,
    0.07313970569409176,
    1.1271960812968493,
    5.112079511468076,
    8.424045901417724,
    5.214515986823615,
    1.0,
];
const P1_BELOW: [f64; 7] = [
    0.0005713231280725487,
    0.06884559087544954,
    1.105142326340617,
    5.073863861286015,
    8.399855543276042,
    5.209828486823619,
    1.0,
];
const Q1: [f64; 8] = [
    0.05108625947501766,
    4.982138729512334,
    75.82382841325453,
    366.7796093601508,
    710.8563049989261,
    597.4896124006136,
    211.68875710057213,
    25.207020585802372,
];
const Q1_BELOW: [f64; 7] = [
    74.23732770356752,
    1056.4488603826283,
    4986.410583376536,
    9562.318924047562,
    7997.041604473507,
    2826.1927851763908,
    336.0936078106983,
];
/// J0 up to 5, over the product of its first two zeros.
const J0: [f64; 4] =
    [-4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0];
const J0_BELOW: [f64; 8] = [
    499.563147152651,
    173785.4016763747,
    48440965.83399621,
    11185553704.535683,
    2112775201154.892,
    310518229857422.56,
    3.1812195594320496e16,
    1.7108629408104315e18,
];
/// J1 up to 5, over x and the product of its first two zeros.
const J1: [f64; 4] =
    [-899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0];
const J1_BELOW: [f64; 8] = [
    620.8364781180543,
    256987.25675774884,
    83514679.14319493,
    22151159547.97925,
    4749141220799.914,
    784369607876235.9,
    8.952223361846274e16,
    5.322786203326801e18,
];
/// Y0 up to 5, but for the logarithm.
const Y0: [f64; 8] = [
    15592.436785523574,
    -14663929.59039716,
    5435264770.518765,
    -982136065717.9115,
    87590639439536.7,
    -3466283033847297.0,
    4.4273326857256984e16,
    -1.8495080043698668e16,
];
const Y0_BELOW: [f64; 7] = [
    1041.2835366425984,
    626107.330137135,
    268919633.39381415,
    86400248710.3935,
    20297961275010.555,
    3171577528429750.5,
    2.5059625617265306e17,
];
/// Y1 / x up to 5, but for the logarithm and the pole.
const Y1: [f64; 6] = [
    1263204747.9017804,
    -647355876379.1603,
    114509511541823.73,
    -8127702555013251.0,
    2.024394757135949e17,
    -7.788771962659501e17,
];
const Y1_BELOW: [f64; 8] = [
    594.3015923461282,
    235564.09294306856,
    73481194.44597217,
    18760131610.870617,
    3882312774962.3857,
    620557727146953.8,
    6.871410873553005e16,
    3.9727060811656064e18,
];
/// The squares of the first two zeros of J0 and of J1.
const J0_ZEROS: [f64; 2] = [5.783185962946784, 30.471262343662087];
const J1_ZEROS: [f64; 2] = [14.681970642123893, 49.2184563216946];

impl<'t> Value<'t> {
    /// The Bessel function of the first kind, order 0.
    pub fn bessel_j0(self) -> Value<'t> {
        let x = self.abs();
        let Waves { p, q, sum, difference } = Waves::of_order_0(x);
        let far = (p * sum - q * difference) / (x * PI).sqrt();
        x.le(5.0).select(j0_near(x), far)
    }

    /// The Bessel function of the first kind, order 1.
    pub fn bessel_j1(self) -> Value<'t> {
        let x = self.abs();
        let Waves { p, q, sum, difference } = Waves::of_order_1(x);
        let far = (p * difference + q * sum) / (x * PI).sqrt();
        let value = x.le(5.0).select(j1_near(x), far);
        // It is odd, and of either sign on either side.
        self.signbit().select(-value, value)
    }

    /// The Bessel function of the second kind, order 0: minus infinity at 0, NaN below.
    pub fn bessel_y0(self) -> Value<'t> {
        let x = self;
        let z = x.square();
        let regular = polynomial(z, &Y0) / polynomial(z, &Y0_BELOW);
        let near = regular + x.log() * j0_near(x) * FRAC_2_PI;
        let Waves { p, q, sum, difference } = Waves::of_order_0(x);
        x.le(5.0).select(near, (p * difference + q * sum) / (x * PI).sqrt())
    }

    /// The Bessel function of the second kind, order 1: minus infinity at 0, NaN below.
    pub fn bessel_y1(self) -> Value<'t> {
        let x = self;
        let z = x.square();
        let regular = polynomial(z, &Y1) / polynomial(z, &Y1_BELOW) * x;
        let near = regular + (j1_near(x) * x.log() - x.reciprocal()) * FRAC_2_PI;
        let Waves { p, q, sum, difference } = Waves::of_order_1(x);
        let far = (q * difference - p * sum) / (x * PI).sqrt();
        let value = x.le(5.0).select(near, far);
        // There the product of 0 and the logarithm is NaN.
        x.eq(0.0).select(f64::NEG_INFINITY, value)
    }

    /// The spherical Bessel function of the first kind, order 0: `sin(x) / x`, 1 at 0.
    pub fn spherical_bessel_j0(self) -> Value<'t> {
        let quotient = self.eq(0.0).select(1.0, self.sin() / self);
        self.isinf().select(0.0, quotient)
    }
}

fn j0_near(x: Value<'_>) -> Value<'_> {
    let z = x.square();
    let zeros = (z - J0_ZEROS[0]) * (z - J0_ZEROS[1]);
    zeros * polynomial(z, &J0) / polynomial(z, &J0_BELOW)
}

fn j1_near(x: Value<'_>) -> Value<'_> {
    let z = x.square();
    let zeros = (z - J1_ZEROS[0]) * (z - J1_ZEROS[1]);
    polynomial(z, &J1) / polynomial(z, &J1_BELOW) * x * zeros
}

/// The parts of the asymptotic forms: the two amplitudes, the sum of sine and cosine of x, and their
/// difference. The latter are the sine and the cosine of an angle that is turned by odd multiples of
/// π/4, times the root of 2, without the rounding of that angle.
struct Waves<'t> {
    p: Value<'t>,
    q: Value<'t>,
    sum: Value<'t>,
    difference: Value<'t>,
}

impl<'t> Waves<'t> {
    fn of_order_0(x: Value<'t>) -> Waves<'t> {
        Waves::new(x, [&P0, &P0_BELOW, &Q0, &Q0_BELOW])
    }

    fn of_order_1(x: Value<'t>) -> Waves<'t> {
        Waves::new(x, [&P1, &P1_BELOW, &Q1, &Q1_BELOW])
    }

    fn new(x: Value<'t>, [p, p_below, q, q_below]: [&[f64]; 4]) -> Waves<'t> {
        let inverse = x.reciprocal() * 5.0;
        let z = inverse.square();
        let (sine, cosine) = (x.sin(), x.cos());
        Waves {
            p: polynomial(z, p) / polynomial(z, p_below),
            q: polynomial(z, q) / polynomial(z, q_below) * inverse,
            sum: sine + cosine,
            difference: sine - cosine,
        }
    }
}
