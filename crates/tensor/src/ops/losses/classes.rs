//! Losses of predictions of one class among many.

use super::Reduction;
use super::distances::refused;
use crate::autograd::{SavedTensor, record_many};
use crate::ops::autocast;
use crate::ops::pointwise::Pointwise;
use crate::{DType, Error, Result, Shape, Tensor};

/// The loss of one prediction: minus the logarithm of the probability of the target's class, times
/// the weight of the class, and 0 for a target that is ignored.
static NEGATED_UNLESS_IGNORED: Pointwise<3> =
    Pointwise::common("nll_loss", |[log_probability, ignored, weight]| {
        ignored.select(0.0, -(log_probability * weight))
    })
    .with_condition(1)
    .named(["self", "target", "weight"]);

/// The part of one class in the loss of a prediction whose target has a probability of each: the
/// probability mixed with that of a uniform distribution, which has `share` in each class.
static OF_PROBABILITIES: Pointwise<5> = Pointwise::common(
    "cross_entropy",
    |[log_probability, probability, weight, smoothing, share]| {
        let mixed = probability * (1.0 - smoothing) + share;
        -(log_probability * mixed * weight)
    },
)
.promoted_by_first(3)
.named(["self", "target", "weight", "label_smoothing", "share"]);

/// The target that is no class and does not count, unless another is given (PyTorch's
/// `ignore_index`).
const IGNORED: i64 = -100;

/// Losses of classes, which are means over the batch unless another [`Reduction`] is given. Gradients
/// flow to `self`, and to a target of floats too.
impl Tensor {
    /// The cross-entropy between logits `[batch, classes]` (or `[classes]`, or with more dimensions
    /// `[batch, classes, ..]`) and the classes' indices `[batch]` (or `[]`, or `[batch, ..]`), as
    /// `I64`: `nll_loss` of `log_softmax`. A target of floats has the shape of the logits, and is
    /// the probability of each class.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (scores, classes) = (tensor![[0.0, 0.0], [2.0, 0.0]]?, tensor![0, 1]?);
    /// let loss = scores.cross_entropy(&classes)?.item::<f32>()?;
    /// assert!((loss - 1.41).abs() < 1e-4);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not fit, or the target lies on another device or is of another dtype; on the
    /// CPU also a target that is no class and not -100 (on CUDA that is an assertion on the device,
    /// which loses it).
    #[track_caller]
    pub fn cross_entropy(&self, target: &Tensor) -> Result<Tensor> {
        self.cross_entropy_with(target, None, IGNORED, 0.0, Reduction::Mean)
    }

    /// [`Tensor::cross_entropy`] with a weight of each class, another target that is ignored, labels
    /// that are smoothed (their probabilities are mixed with a uniform distribution, which has the
    /// share `label_smoothing`), and another reduction. A mean is divided by the sum of the weights
    /// of the targets, or, of probabilities, by the number of predictions.
    ///
    /// C. Szegedy et al.: "Rethinking the Inception Architecture for Computer Vision" (CVPR 2016).
    ///
    /// ```
    /// use tensor::{Reduction, tensor};
    /// let (scores, classes) = (tensor![[0.0, 0.0], [2.0, 0.0]]?, tensor![0, 7]?);
    /// let losses = scores.cross_entropy_with(&classes, None, 7, 0.1, Reduction::None)?;
    /// assert!((losses.to_vec::<f32>()?[0] - 2f32.ln()).abs() < 1e-6);
    /// assert_eq!(losses.to_vec::<f32>()?[1], 0.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy`]; `weight` has another shape than `[classes]`, or does not fit
    /// otherwise; `label_smoothing` does not lie in [0, 1].
    #[track_caller]
    pub fn cross_entropy_with(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        ignore_index: i64,
        label_smoothing: f64,
        reduction: Reduction,
    ) -> Result<Tensor> {
        const OP: &str = "cross_entropy";
        if !(0.0..=1.0).contains(&label_smoothing) {
            let why = "it must lie in [0, 1]";
            return Err(refused(OP, "label_smoothing", label_smoothing, why));
        }
        let cast = autocast(OP, [self, target])?;
        let ([x, target], weight) = (cast.operands(), cast.optional(weight)?);
        let weight = weight.as_deref();
        let dim = class_dim(x);
        if target.dtype().is_float() {
            expect_probabilities(OP, x, target)?;
        } else {
            check(OP, x, target)?;
        }
        expect_weight(OP, x, weight)?;
        let log_probabilities = x.log_softmax(dim)?;
        if target.dtype().is_float() {
            return of_probabilities(
                &log_probabilities,
                target,
                weight,
                label_smoothing,
                reduction,
            );
        }
        let loss = log_probabilities.nll_loss_with(target, weight, ignore_index, reduction);
        let loss = loss.map_err(|error| named(OP, error))?;
        if label_smoothing == 0.0 {
            return Ok(loss);
        }
        let weighted = match weight {
            Some(weight) => log_probabilities.mul(&along(weight, &log_probabilities)?)?,
            None => log_probabilities,
        };
        let (class, ignored) = classes(target, dim, ignore_index)?;
        let smooth = weighted.sum(dim)?.neg()?.masked_fill(&ignored, 0)?;
        let smooth = match reduction {
            Reduction::Mean => smooth.sum(())?.div(&total(weight, &class, &ignored, dim)?)?,
            _ => reduction.of(&smooth)?,
        };
        let share = label_smoothing / weighted.size(dim)? as f64;
        loss.mul(1.0 - label_smoothing)?.add(&smooth.mul(share)?)
    }

    /// The mean of the negated log-probabilities of the target classes; shapes as for
    /// [`Tensor::cross_entropy`]. Targets of -100 are left out.
    ///
    /// ```
    /// use tensor::tensor;
    /// let log_probabilities = tensor![[-1.0, -2.0], [-3.0, -5.0]]?;
    /// let loss = log_probabilities.nll_loss(&tensor![0, 1]?)?;
    /// assert_eq!(loss.item::<f32>()?, 3.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy`].
    #[track_caller]
    pub fn nll_loss(&self, target: &Tensor) -> Result<Tensor> {
        self.nll_loss_with(target, None, IGNORED, Reduction::Mean)
    }

    /// [`Tensor::nll_loss`] with a weight of each class, another target that is ignored, and another
    /// reduction. A mean is divided by the sum of the weights of the targets.
    ///
    /// ```
    /// use tensor::{Reduction, tensor};
    /// let log_probabilities = tensor![[-1.0, -2.0], [-3.0, -5.0]]?;
    /// let (target, weight) = (tensor![0, 1]?, tensor![1.0, 3.0]?);
    /// let loss = log_probabilities.nll_loss_with(&target, Some(&weight), -100, Reduction::Mean)?;
    /// assert_eq!(loss.item::<f32>()?, 4.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy`]; or `weight` has another shape than `[classes]`, or does not fit
    /// otherwise.
    #[track_caller]
    pub fn nll_loss_with(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        ignore_index: i64,
        reduction: Reduction,
    ) -> Result<Tensor> {
        const OP: &str = "nll_loss";
        let cast = autocast(OP, [self])?;
        let ([own], weight) = (cast.operands(), cast.optional(weight)?);
        let weight = weight.as_deref();
        check(OP, own, target)?;
        expect_weight(OP, own, weight)?;
        let dim = class_dim(own);
        let weight = weight.map(Tensor::detach);
        let (class, ignored) = classes(target, dim, ignore_index)?;
        let chosen = own.detach().gather(dim, &class).map_err(|error| named(OP, error));
        let chosen = chosen?.squeeze(dim)?;
        let of_target = weight.as_ref().map(|weight| weights(weight, &class, dim)).transpose()?;
        let factor = of_target.as_ref().map_or(1.0.into(), Into::into);
        let losses = NEGATED_UNLESS_IGNORED.apply([(&chosen).into(), (&ignored).into(), factor])?;
        let output = match reduction {
            Reduction::Mean => {
                losses.sum(())?.div(&total(weight.as_ref(), &class, &ignored, dim)?)?
            }
            _ => reduction.of(&losses)?,
        };
        Ok(record_many(OP, &[own], output, |saving| {
            let (shape, target) = (own.layout().shape().clone(), saving.save(target));
            let weight = weight.as_ref().map(|weight| saving.save(weight));
            move |grad: &Tensor, _| {
                let (class, ignored) = classes(&target.get()?, dim, ignore_index)?;
                let weight = weight.as_ref().map(SavedTensor::get).transpose()?;
                let share = match reduction {
                    Reduction::Mean => grad.div(&total(weight.as_ref(), &class, &ignored, dim)?)?,
                    Reduction::BatchMean => match ignored.shape().first() {
                        Some(&batch) => grad.div(batch)?,
                        None => grad.clone(),
                    },
                    Reduction::None | Reduction::Sum => grad.clone(),
                };
                let share = match &weight {
                    Some(weight) => share.mul(&weights(weight, &class, dim)?)?,
                    None => share,
                };
                let shares = Tensor::where_cond(&ignored, 0, &share.neg()?)?.unsqueeze(dim)?;
                let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
                Ok(smallvec::smallvec![Some(zeros.scatter_add_(dim, &class, &shares)?)])
            }
        }))
    }
}

/// The loss of targets that have a probability of each class.
#[track_caller]
fn of_probabilities(
    log_probabilities: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    label_smoothing: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    let dim = class_dim(log_probabilities);
    let classes = log_probabilities.size(dim)?;
    let weight = weight.map(|weight| along(weight, log_probabilities)).transpose()?;
    let weight = weight.as_ref().map_or(1.0.into(), Into::into);
    let share = label_smoothing / classes as f64;
    let operands =
        [log_probabilities.into(), target.into(), weight, label_smoothing.into(), share.into()];
    let parts = OF_PROBABILITIES.apply(operands)?;
    if reduction == Reduction::Mean {
        let predictions = log_probabilities.numel().checked_div(classes).unwrap_or(0);
        return parts.sum(())?.div(predictions as f64);
    }
    reduction.of(&parts.sum(dim)?)
}

/// A number of each class as a tensor that is broadcast along the others of `x`'s dimensions.
#[track_caller]
fn along(weight: &Tensor, x: &Tensor) -> Result<Tensor> {
    let mut shape = vec![1; x.dims()];
    shape[class_dim(x) as usize] = weight.numel();
    weight.reshape(shape)
}

/// The weight of each target.
#[track_caller]
fn weights(weight: &Tensor, class: &Tensor, dim: isize) -> Result<Tensor> {
    weight.take(class)?.squeeze(dim)
}

/// The sum of the weights of the targets that count, or their number.
#[track_caller]
fn total(weight: Option<&Tensor>, class: &Tensor, ignored: &Tensor, dim: isize) -> Result<Tensor> {
    match weight {
        Some(weight) => weights(weight, class, dim)?.masked_fill(ignored, 0)?.sum(()),
        None => ignored.logical_not()?.sum(()),
    }
}

/// # Errors
/// The weight has not one number for each class, lies elsewhere, or is of another dtype.
fn expect_weight(op: &'static str, logits: &Tensor, weight: Option<&Tensor>) -> Result<()> {
    let Some(weight) = weight else { return Ok(()) };
    crate::dispatch::same_device(op, &[("self", logits), ("weight", weight)])?;
    crate::dispatch::same_dtype(op, &[("self", logits), ("weight", weight)])?;
    if weight.shape() != [logits.size(class_dim(logits))?] {
        let shapes = vec![
            ("self", logits.layout().shape().clone()),
            ("weight", weight.layout().shape().clone()),
        ];
        let rule = "`weight` must have one number for each class";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    Ok(())
}

/// # Errors
/// The target has not a probability of each class.
fn expect_probabilities(op: &'static str, logits: &Tensor, target: &Tensor) -> Result<()> {
    if logits.dims() > 0 && logits.shape() == target.shape() {
        return Ok(());
    }
    let rule = "a `target` of floats has probabilities, and the shape of `self`; classes are \
                int64";
    Err(Error::ShapeMismatch { op, shapes: shapes(logits, target), rule })
}

/// The classes as indices for the dimension `dim`, with 0 for those that are ignored, and which are.
#[track_caller]
fn classes(target: &Tensor, dim: isize, ignore_index: i64) -> Result<(Tensor, Tensor)> {
    let ignored = target.eq(ignore_index)?;
    Ok((target.masked_fill(&ignored, 0)?.unsqueeze(dim)?, ignored))
}

/// The dimension of the classes: the second, or the only one.
fn class_dim(logits: &Tensor) -> isize {
    isize::from(logits.dims() > 1)
}

/// The error of a class that there is not, as one of the operation that the program called.
fn named(op: &'static str, error: Error) -> Error {
    match error {
        Error::IndexOutOfRange { position, index, size, .. } => {
            Error::IndexOutOfRange { op, position, index, size }
        }
        error => error,
    }
}

fn check(op: &'static str, logits: &Tensor, target: &Tensor) -> Result<()> {
    crate::dispatch::same_device(op, &[("self", logits), ("target", target)])?;
    if target.dtype() != DType::I64 {
        let arguments = vec![("target", target.dtype())];
        let rule = "targets are indices of classes, as int64";
        return Err(Error::DTypeMismatch { op, arguments, rule });
    }
    let without_classes = logits.layout().shape().without(class_dim(logits) as usize);
    if logits.dims() == 0 || *target.shape() != *without_classes {
        let rule = "`target` must have the shape of `self` without its dimension of classes";
        return Err(Error::ShapeMismatch { op, shapes: shapes(logits, target), rule });
    }
    Ok(())
}

fn shapes(x: &Tensor, target: &Tensor) -> Vec<(&'static str, Shape)> {
    vec![("self", x.layout().shape().clone()), ("target", target.layout().shape().clone())]
}
