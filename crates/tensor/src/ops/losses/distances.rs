//! Losses that are distances between predictions and targets, element by element.

use std::f64::consts::TAU;

use super::losses;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Tensor};

/// The squared difference.
static SQUARED_ERROR: Pointwise<2> =
    Pointwise::common("mse_loss", |[x, target]| (x - target).square())
        .of(Kinds::FLOATS)
        .named(["self", "target"]);

static ABSOLUTE_ERROR: Pointwise<2> =
    Pointwise::common("l1_loss", |[x, target]| (x - target).abs()).named(["self", "target"]);

static SMOOTH_L1: Pointwise<3> = Pointwise::common("smooth_l1_loss", |[x, target, beta]| {
    let size = (x - target).abs();
    size.lt(beta).select(size.square() * 0.5 / beta, size - beta * 0.5)
})
.of(Kinds::FLOATS)
.promoted_by_first(2)
.named(["self", "target", "beta"])
.with_gradient(|g, [x, target, beta], _| {
    let slope = ((x - target) / beta).clamp(-1.0, 1.0);
    [g * slope, -(g * slope), g.constant(0.0)]
});

static HUBER: Pointwise<3> = Pointwise::common("huber_loss", |[x, target, delta]| {
    let size = (x - target).abs();
    size.le(delta).select(size.square() * 0.5, delta * (size - delta * 0.5))
})
.of(Kinds::FLOATS)
.promoted_by_first(2)
.named(["self", "target", "delta"])
.with_gradient(|g, [x, target, delta], _| {
    let slope = (x - target).clamp(-delta, delta);
    [g * slope, -(g * slope), g.constant(0.0)]
});

static KL_DIV: Pointwise<2> =
    Pointwise::common("kl_div", |[x, target]| target.xlogy(target) - target * x)
        .of(Kinds::FLOATS)
        .named(["self", "target"]);

static KL_DIV_OF_LOG: Pointwise<2> =
    Pointwise::common("kl_div", |[x, target]| target.exp() * (target - x))
        .of(Kinds::FLOATS)
        .named(["self", "target"]);

static POISSON_OF_LOG: Pointwise<2> =
    Pointwise::common("poisson_nll_loss", |[x, target]| x.exp() - target * x)
        .of(Kinds::FLOATS)
        .named(["self", "target"]);

static POISSON: Pointwise<3> =
    Pointwise::common("poisson_nll_loss", |[x, target, eps]| x - target * (x + eps).log())
        .of(Kinds::FLOATS)
        .promoted_by_first(2)
        .named(["self", "target", "eps"]);

/// Stirling's approximation of the logarithm of a factorial.
static STIRLING: Pointwise<1> = Pointwise::float("poisson_nll_loss", |[target]| {
    let approximation = target * target.log() - target + (target * TAU).log() * 0.5;
    target.le(1.0).select(0.0, approximation)
});

/// A variance below `eps` counts as `eps`, but its gradient is as if it were that.
static GAUSSIAN: Pointwise<4> =
    Pointwise::common("gaussian_nll_loss", |[x, target, variance, eps]| {
        let variance = variance.maximum(eps);
        (variance.log() + (x - target).square() / variance) * 0.5
    })
    .of(Kinds::FLOATS)
    .promoted_by_first(3)
    .named(["self", "target", "var", "eps"])
    .with_gradient(|g, [x, target, variance, eps], _| {
        let variance = variance.maximum(eps);
        let share = (x - target) / variance;
        let of_variance = (1.0 / variance - share.square()) * 0.5;
        [g * share, -(g * share), g * of_variance, g.constant(0.0)]
    });

static SOFT_MARGIN: Pointwise<2> =
    Pointwise::common("soft_margin_loss", |[x, target]| (-target * x).exp().log1p())
        .of(Kinds::FLOATS)
        .named(["self", "target"])
        .with_gradient(|g, [x, target], _| {
            let slope = -(g * (-target * x).sigmoid());
            [slope * target, slope * x]
        });

losses! {
    /// The mean of the squared differences. `target` is broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![1.0, 2.0]?.mse_loss(&tensor![1.0, 4.0]?)?;
    /// assert_eq!(loss.item::<f32>()?, 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not broadcast; the operands lie on different devices; the dtype is not a
    /// floating one.
    mse_loss, mse_loss_with(target;) = squared_error;

    /// The mean of the absolute differences. `target` is broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![1.0, 2.0]?.l1_loss(&tensor![1.0, 4.0]?)?;
    /// assert_eq!(loss.item::<f32>()?, 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    l1_loss, l1_loss_with(target;) = absolute_error;

    /// The mean of the absolute differences less half of `beta` (1), where they are as large as
    /// that, and of their squares divided by twice `beta`, where they are smaller. `target` is
    /// broadcast.
    ///
    /// R. Girshick: "Fast R-CNN" (ICCV 2015).
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![0.5, 2.0]?.smooth_l1_loss(&tensor![0.0, 0.0]?)?;
    /// assert_eq!(loss.item::<f32>()?, (0.125 + 1.5) / 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`]; or `beta` is negative.
    smooth_l1_loss, smooth_l1_loss_with(target; beta: f64 = 1.0) = smooth_l1;

    /// The mean of half of the squared differences where they are at most `delta` (1), and of
    /// `delta` times the absolute difference less half of `delta` where they are larger. `target` is
    /// broadcast.
    ///
    /// P. Huber: "Robust Estimation of a Location Parameter" (1964).
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![0.5, 2.0]?.huber_loss(&tensor![0.0, 0.0]?)?;
    /// assert_eq!(loss.item::<f32>()?, (0.125 + 1.5) / 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`]; or `delta` is not positive.
    huber_loss, huber_loss_with(target; delta: f64 = 1.0) = huber;

    /// The mean of `target * (log(target) - x)`: the divergence of Kullback and Leibler, from a
    /// distribution `target`, of one whose logarithm is x. With `log_target`, `target` is a logarithm
    /// too. [`Reduction::BatchMean`](crate::Reduction::BatchMean) is the divergence as it is defined.
    ///
    /// ```
    /// use tensor::{Reduction, tensor};
    /// let (x, target) = (tensor![[0.0, 0.0]]?, tensor![[1.0, 0.0]]?);
    /// let loss = x.log_softmax(-1)?.kl_div_with(&target, false, Reduction::BatchMean)?;
    /// assert!((loss.item::<f32>()? - 2f32.ln()).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    kl_div, kl_div_with(target; log_target: bool = false) = kl_div;

    /// The mean of `exp(x) - target * x`: minus the logarithm of the probability of a number of
    /// events, whose expected number has the logarithm x. Without `log_input`, x is the number itself,
    /// to which `eps` (1e-8) is added before its logarithm is taken. `full` adds Stirling's
    /// approximation of the logarithm of the factorial of the target.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![0.0, 0.0]?.poisson_nll_loss(&tensor![1.0, 5.0]?)?;
    /// assert_eq!(loss.item::<f32>()?, 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    poisson_nll_loss, poisson_nll_loss_with(target; log_input: bool = true, full: bool = false, eps: f64 = 1e-8)
        = poisson;

    /// The mean of `(log(variance) + (x - target)² / variance) / 2`: minus the logarithm of the
    /// density of a normal distribution at `target`, but for a constant, which `full` adds. Variances
    /// below `eps` (1e-6) count as that; they have the shape of x, but for one dimension along which
    /// there may be one number.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (x, target, variance) = (tensor![1.0, 2.0]?, tensor![3.0, 2.0]?, tensor![1.0, 1.0]?);
    /// assert_eq!(x.gaussian_nll_loss(&target, &variance)?.item::<f32>()?, 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`]; or the variances have another shape.
    gaussian_nll_loss, gaussian_nll_loss_with(target, variance; full: bool = false, eps: f64 = 1e-6) = gaussian;

    /// The mean of `log(1 + exp(-target * x))`, for targets that are 1 or -1.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![0.0, 0.0]?.soft_margin_loss(&tensor![1.0, -1.0]?)?;
    /// assert!((loss.item::<f32>()? - 2f32.ln()).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    soft_margin_loss, soft_margin_loss_with(target;) = soft_margin;
}

#[track_caller]
fn squared_error(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    SQUARED_ERROR.apply([x.into(), target.into()])
}

#[track_caller]
fn absolute_error(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    ABSOLUTE_ERROR.apply([x.into(), target.into()])
}

#[track_caller]
fn smooth_l1(x: &Tensor, target: &Tensor, beta: f64) -> Result<Tensor> {
    if beta.is_nan() || beta < 0.0 {
        return Err(refused("smooth_l1_loss", "beta", beta, "it must not be negative"));
    }
    match beta == 0.0 {
        true => absolute_error(x, target),
        false => SMOOTH_L1.apply([x.into(), target.into(), beta.into()]),
    }
}

#[track_caller]
fn huber(x: &Tensor, target: &Tensor, delta: f64) -> Result<Tensor> {
    if delta.is_nan() || delta <= 0.0 {
        return Err(refused("huber_loss", "delta", delta, "it must be positive"));
    }
    HUBER.apply([x.into(), target.into(), delta.into()])
}

#[track_caller]
fn kl_div(x: &Tensor, target: &Tensor, log_target: bool) -> Result<Tensor> {
    let divergence = if log_target { &KL_DIV_OF_LOG } else { &KL_DIV };
    divergence.apply([x.into(), target.into()])
}

#[track_caller]
fn poisson(x: &Tensor, target: &Tensor, log_input: bool, full: bool, eps: f64) -> Result<Tensor> {
    // Of integers the products are computed as such, and wrap around.
    let is_float = x.dtype().is_float() || target.dtype().is_float();
    let losses = match (log_input, is_float) {
        (true, true) => POISSON_OF_LOG.apply([x.into(), target.into()])?,
        (false, true) => POISSON.apply([x.into(), target.into(), eps.into()])?,
        (true, false) => x.exp()?.sub(&target.mul(x)?)?,
        (false, false) => x.sub(&target.mul(&x.add(eps)?.log()?)?)?,
    };
    if full { losses.add(&STIRLING.apply([target.into()])?) } else { Ok(losses) }
}

#[track_caller]
fn gaussian(
    x: &Tensor,
    target: &Tensor,
    variance: &Tensor,
    full: bool,
    eps: f64,
) -> Result<Tensor> {
    const OP: &str = "gaussian_nll_loss";
    let (shape, own) = (x.shape(), variance.shape());
    let is_one_of_last = !shape.is_empty() && own == &shape[..shape.len() - 1];
    let mut others = own.iter().zip(shape).filter(|(own, theirs)| own != theirs);
    let is_repeated = own.len() == shape.len()
        && others.next().is_some_and(|(own, _)| *own == 1)
        && others.next().is_none();
    if own != shape && !is_one_of_last && !is_repeated {
        let shapes = [("self", x), ("target", target), ("var", variance)];
        let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
        let rule = "`var` must have the shape of `self`, but for one dimension of size 1, or for the \
                    last, which it may lack";
        return Err(Error::ShapeMismatch { op: OP, shapes, rule });
    }
    let variance =
        if own != shape && is_one_of_last { variance.unsqueeze(-1)? } else { variance.clone() };
    let losses = GAUSSIAN.apply([x.into(), target.into(), (&variance).into(), eps.into()])?;
    if full { losses.add(0.5 * TAU.ln()) } else { Ok(losses) }
}

#[track_caller]
fn soft_margin(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    SOFT_MARGIN.apply([x.into(), target.into()])
}

/// The error of a parameter that makes no sense.
pub(super) fn refused(
    op: &'static str,
    argument: &'static str,
    value: f64,
    why: &'static str,
) -> Error {
    Error::InvalidArgument { op, argument, value: value.to_string(), why }
}
