//! Losses: the distance between predictions and targets as one number.

use crate::autograd::record;
use crate::{DType, Error, Result, Shape, Tensor};

/// Losses, which are means over the batch (`reduction="mean"`). Gradients flow to `self`, and for
/// `mse_loss` to the target too.
impl Tensor {
    /// The cross-entropy between logits `[batch, classes]` (or `[classes]`, or with more dimensions
    /// `[batch, classes, ..]`) and the classes' indices `[batch]` (or `[]`, or `[batch, ..]`), as
    /// `I64`: `nll_loss` of `log_softmax`.
    ///
    /// # Errors
    /// The shapes do not fit, the target is not of dtype `I64`, or lies on another device; on the
    /// CPU also a target that is no class (on CUDA that is an assertion on the device, which loses
    /// it).
    #[track_caller]
    pub fn cross_entropy(&self, target: &Tensor) -> Result<Tensor> {
        check("cross_entropy", self, target)?;
        self.log_softmax(class_dim(self))?.nll_loss(target)
    }

    /// The mean of the negated log-probabilities of the target classes; shapes as for
    /// [`Tensor::cross_entropy`].
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy`].
    #[track_caller]
    pub fn nll_loss(&self, target: &Tensor) -> Result<Tensor> {
        check("nll_loss", self, target)?;
        let dim = class_dim(self);
        let chosen = target.unsqueeze(dim)?;
        let output = self.detach().gather(dim, &chosen)?.mean()?.neg()?;
        Ok(record("nll_loss", [self], output, |saving| {
            let (shape, dtype) = (self.layout().shape().clone(), self.dtype());
            let chosen = saving.save(&chosen);
            move |grad: &Tensor, _| {
                let chosen = chosen.get()?;
                let share = grad.div(chosen.numel())?.neg()?.expand(chosen.shape())?;
                let zeros = Tensor::zeros(&shape, (dtype, grad.device()))?;
                Ok([Some(zeros.scatter_add_(dim, &chosen, &share)?)])
            }
        }))
    }

    /// The mean of the squared differences.
    ///
    /// # Errors
    /// The shapes differ; the operands lie on different devices; the dtype is not a floating one.
    #[track_caller]
    pub fn mse_loss(&self, target: &Tensor) -> Result<Tensor> {
        if self.shape() != target.shape() {
            let shapes = shapes(self, target);
            return Err(Error::ShapeMismatch {
                op: "mse_loss",
                shapes,
                rule: "they must be equal",
            });
        }
        self.sub(target)?.square()?.mean()
    }
}

/// The dimension of the classes: the second, or the only one.
fn class_dim(logits: &Tensor) -> isize {
    isize::from(logits.dims() > 1)
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
