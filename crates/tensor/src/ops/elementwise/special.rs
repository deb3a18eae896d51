//! Special functions: the error function and its relatives, gamma functions, the logistic function.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::unary;
use crate::ops::pointwise::Pointwise;
use crate::{Result, Tensor};

unary! {
    /// `1 / (1 + exp(-x))`
    SIGMOID: sigmoid, sigmoid_ = float(|[x]| x.sigmoid())
        .with_gradient(|g, _, y| [g * ((1.0 - y) * y)]);
    /// The error function.
    ERF: erf, erf_ = float(|[x]| x.erf())
        .with_gradient(|g, [x], _| [g * (-x.square()).exp() * FRAC_2_SQRT_PI]);
    /// `1 - erf(x)`, exact for large x.
    ERFC: erfc, erfc_ = float(|[x]| x.erfc())
        .with_gradient(|g, [x], _| [g * (-x.square()).exp() * -FRAC_2_SQRT_PI]);
    /// The number whose error function is x.
    ERFINV: erfinv, erfinv_ = float(|[x]| x.erfinv())
        .with_gradient(|g, [x], _| [g * x.erfinv().square().exp() * (1.0 / FRAC_2_SQRT_PI)]);
    /// The distribution function of the standard normal distribution.
    NDTR: ndtr = float(|[x]| (x * -FRAC_1_SQRT_2).erfc() * 0.5)
        .with_gradient(|g, [x], _| {
            [g * (x.square() * -0.5).exp() * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2)]
        });
    /// `-x log(x)`, 0 at 0 and minus infinity below.
    ENTR: entr = float(|[x]| {
        let inside = x.eq(0.0).select(0.0, -x * x.log());
        let value = x.ge(0.0).select(inside, f64::NEG_INFINITY);
        x.isnan().select(x, value)
    })
    .with_gradient(|g, [x], _| [g * (-1.0 - x.log())]);
    /// The logarithm of the absolute value of the gamma function.
    LGAMMA: lgamma, lgamma_ = float(|[x]| x.lgamma()).with_gradient(|g, [x], _| [g * x.digamma()]);
    /// The derivative of [`Tensor::lgamma`].
    DIGAMMA: digamma, digamma_ = float(|[x]| x.digamma())
        .with_gradient(|g, [x], _| [g * x.trigamma()]);
}

static LOGIT: Pointwise<1> =
    Pointwise::float("logit", |[x]| (x / (1.0 - x)).log()).with_gradient(|g, [x], _| {
        let outside = x.lt(0.0) | x.gt(1.0);
        [outside.select(f64::NAN, g / (x * (1.0 - x)))]
    });
static LOGIT_BOUNDED: Pointwise<2> = Pointwise::float("logit", |[x, eps]| {
    let upper = 1.0 - eps;
    let x = x.lt(eps).select(eps, x.gt(upper).select(upper, x));
    (x / (1.0 - x)).log()
})
.named(["self", "eps"])
.with_gradient(|g, [x, eps], _| {
    let outside = x.lt(eps) | x.gt(1.0 - eps);
    [outside.select(0.0, g / (x * (1.0 - x))), g.constant(0.0)]
});

impl Tensor {
    /// `log(x / (1 - x))`, the inverse of [`Tensor::sigmoid`]. With `eps`, x is first brought
    /// between `eps` and `1 - eps`.
    #[track_caller]
    pub fn logit(&self, eps: Option<f64>) -> Result<Tensor> {
        match eps {
            None => LOGIT.apply([self.into()]),
            Some(eps) => LOGIT_BOUNDED.apply([self.into(), eps.into()]),
        }
    }

    /// [`Tensor::logit`] in place.
    #[track_caller]
    pub fn logit_(&self, eps: Option<f64>) -> Result<Tensor> {
        match eps {
            None => LOGIT.apply_in_place("logit_", self, [self.into()]),
            Some(eps) => LOGIT_BOUNDED.apply_in_place("logit_", self, [self.into(), eps.into()]),
        }
    }
}
