//! Losses: the distance between predictions and targets as one number.

use super::pointwise::{Kinds, Pointwise};
use crate::autograd::record;
use crate::{DType, Error, Result, Shape, Tensor};

/// The squared difference.
static SQUARED_ERROR: Pointwise<2> =
    Pointwise::common("mse_loss", |[x, target]| (x - target).square())
        .of(Kinds::FLOATS)
        .named(["self", "target"]);

/// The loss of one prediction: minus the logarithm of the probability of the target's class, and 0
/// for a target that is ignored.
static NEGATED_UNLESS_IGNORED: Pointwise<2> =
    Pointwise::common("nll_loss", |[log_probability, ignored]| {
        ignored.select(0.0, -log_probability)
    })
    .with_condition(1)
    .named(["self", "target"]);

/// The target that is no class and does not count (PyTorch's `ignore_index`).
const IGNORED: i64 = -100;

/// Losses, which are means over the batch (`reduction="mean"`). Gradients flow to `self`, and to a
/// target of floats too.
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
        const OP: &str = "cross_entropy";
        let dim = class_dim(self);
        if !target.dtype().is_float() {
            check(OP, self, target)?;
            return self.log_softmax(dim)?.nll_loss(target).map_err(|error| named(OP, error));
        }
        if self.dims() == 0 || self.shape() != target.shape() {
            let rule = "a `target` of floats has probabilities, and the shape of `self`; classes are \
                        int64";
            return Err(Error::ShapeMismatch { op: OP, shapes: shapes(self, target), rule });
        }
        let predictions = self.numel().checked_div(self.size(dim)?).unwrap_or(0);
        self.log_softmax(dim)?.mul(target)?.sum(())?.div(-(predictions as f64))
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
        check("nll_loss", self, target)?;
        let dim = class_dim(self);
        let (class, ignored) = classes(target, dim)?;
        let chosen = self.detach().gather(dim, &class).map_err(|error| named("nll_loss", error));
        let chosen = chosen?.squeeze(dim)?;
        let losses = NEGATED_UNLESS_IGNORED.apply([(&chosen).into(), (&ignored).into()])?;
        let output = losses.sum(())?.div(&ignored.logical_not()?.sum(())?)?;
        Ok(record("nll_loss", [self], output, |saving| {
            let (shape, target) = (self.layout().shape().clone(), saving.save(target));
            move |grad: &Tensor, _| {
                let (class, ignored) = classes(&target.get()?, dim)?;
                let share = grad.div(&ignored.logical_not()?.sum(())?)?.neg()?;
                let shares = Tensor::where_cond(&ignored, 0, &share)?.unsqueeze(dim)?;
                let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
                Ok([Some(zeros.scatter_add_(dim, &class, &shares)?)])
            }
        }))
    }

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
    #[track_caller]
    pub fn mse_loss(&self, target: &Tensor) -> Result<Tensor> {
        SQUARED_ERROR.apply([self.into(), target.into()])?.mean(())
    }
}

/// The classes as indices for the dimension `dim`, with 0 for those that are ignored, and which are.
#[track_caller]
fn classes(target: &Tensor, dim: isize) -> Result<(Tensor, Tensor)> {
    let ignored = target.eq(IGNORED)?;
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
