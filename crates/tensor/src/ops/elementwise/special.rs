//! Special functions: the error function and its relatives, gamma functions, the logistic function.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use super::unary;
use crate::ops::pointwise::Pointwise;
use crate::{Result, Tensor};

unary! {
    /// `1 / (1 + exp(-x))`
    [[-1.5, 0.5] => "tensor([0.1824, 0.6225])"]
    SIGMOID: sigmoid, sigmoid_ = float(|[x]| x.sigmoid())
        .with_gradient(|g, _, y| [g * ((1.0 - y) * y)]);
    /// The error function.
    [[-1.5, 0.5] => "tensor([-0.9661,  0.5205])"]
    ERF: erf, erf_ = float(|[x]| x.erf())
        .with_gradient(|g, [x], _| [g * (-x.square()).exp() * FRAC_2_SQRT_PI]);
    /// `1 - erf(x)`, exact for large x.
    [[-1.5, 0.5] => "tensor([1.9661, 0.4795])"]
    ERFC: erfc, erfc_ = float(|[x]| x.erfc())
        .with_gradient(|g, [x], _| [g * (-x.square()).exp() * -FRAC_2_SQRT_PI]);
    /// The number whose error function is x.
    [[-0.5, 0.5] => "tensor([-0.4769,  0.4769])"]
    ERFINV: erfinv, erfinv_ = float(|[x]| x.erfinv())
        .with_gradient(|g, [x], _| [g * x.erfinv().square().exp() * (1.0 / FRAC_2_SQRT_PI)]);
    /// The distribution function of the standard normal distribution.
    [[-1.5, 0.5] => "tensor([0.0668, 0.6915])"]
    NDTR: ndtr = float(|[x]| (x * -FRAC_1_SQRT_2).erfc() * 0.5)
        .with_gradient(|g, [x], _| {
            [g * (x.square() * -0.5).exp() * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2)]
        });
    /// `exp(x²) erfc(x)`, which does not underflow for large x.
    [[-0.5, 2.0] => "tensor([1.9524, 0.2554])"]
    ERFCX: erfcx = float(|[x]| x.erfcx())
        .with_gradient(|g, [x], y| [g * (x * y * 2.0 - FRAC_2_SQRT_PI)]);
    /// The logarithm of [`Tensor::ndtr`], exact far below zero.
    [[-2.0, 0.5] => "tensor([-3.7832, -0.3689])"]
    LOG_NDTR: log_ndtr = float(|[x]| x.log_ndtr())
        .with_gradient(|g, [x], _| {
            [g / (x * -FRAC_1_SQRT_2).erfcx() * (FRAC_2_SQRT_PI * FRAC_1_SQRT_2)]
        });
    /// The inverse of [`Tensor::ndtr`]: the quantiles of the standard normal distribution.
    [[0.5, 0.975] => "tensor([0.0000, 1.9600])"]
    NDTRI: ndtri = float(|[p]| p.ndtri())
        .with_gradient(|g, _, y| {
            // The root of 2π.
            [g * (y.square() * 0.5).exp() * (PI * FRAC_1_SQRT_2 * FRAC_2_SQRT_PI)]
        });
    /// `-x log(x)`, 0 at 0 and minus infinity below.
    [[0.5, 1.0] => "tensor([0.3466, -0.0000])"]
    ENTR: entr = float(|[x]| {
        let inside = x.eq(0.0).select(0.0, -x * x.log());
        let value = x.ge(0.0).select(inside, f64::NEG_INFINITY);
        x.isnan().select(x, value)
    })
    .with_gradient(|g, [x], _| [g * (-1.0 - x.log())]);
    /// The logarithm of the absolute value of the gamma function.
    [[0.5, 4.0] => "tensor([0.5724, 1.7918])"]
    LGAMMA: lgamma, lgamma_ = float(|[x]| x.lgamma()).with_gradient(|g, [x], _| [g * x.digamma()]);
    /// The derivative of [`Tensor::lgamma`].
    [[0.5, 4.0] => "tensor([-1.9635,  1.2561])"]
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
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![0.5]?.logit(None)?.to_vec::<f32>()?, [0.0]);
    /// assert!(tensor![1.0]?.logit(Some(1e-6))?.item::<f32>()?.is_finite());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn logit(&self, eps: Option<f64>) -> Result<Tensor> {
        match eps {
            None => LOGIT.apply([self.into()]),
            Some(eps) => LOGIT_BOUNDED.apply([self.into(), eps.into()]),
        }
    }

    /// [`Tensor::logit`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![0.5]?;
    /// x.logit_(None)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn logit_(&self, eps: Option<f64>) -> Result<Tensor> {
        match eps {
            None => LOGIT.apply_in_place("logit_", self, [self.into()]),
            Some(eps) => LOGIT_BOUNDED.apply_in_place("logit_", self, [self.into(), eps.into()]),
        }
    }
}
