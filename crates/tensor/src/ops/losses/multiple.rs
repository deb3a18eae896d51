//! Losses of margins between classes, and of several classes of one sample.

use super::binary::expect_same_shape;
use super::{Reduction, losses};
use crate::autograd::recomputed;
use crate::ops::autocast;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{DType, Error, Result, Tensor};

/// The amount that the score of one class lacks to be below that of the target by the margin, and 0
/// for the target itself.
static MULTI_MARGIN: Pointwise<4> =
    Pointwise::common("multi_margin_loss", |[x, of_target, is_target, margin]| {
        is_target.select(0.0, (margin - of_target + x).relu())
    })
    .of(Kinds::FLOATS)
    .with_condition(2)
    .named(["self", "target", "is_target", "margin"]);

/// The same amount for one of several targets, which counts if it is there, and a class that is none.
static MULTILABEL_MARGIN: Pointwise<3> =
    Pointwise::common("multilabel_margin_loss", |[x, of_target, counts]| {
        counts.select((1.0 - of_target + x).relu(), 0.0)
    })
    .of(Kinds::FLOATS)
    .with_condition(2)
    .named(["self", "target", "is_target"]);

static MULTILABEL_SOFT_MARGIN: Pointwise<3> =
    Pointwise::common("multilabel_soft_margin_loss", |[x, target, weight]| {
        -((target * x.logsigmoid() + (1.0 - target) * (-x).logsigmoid()) * weight)
    })
    .of(Kinds::FLOATS)
    .named(["self", "target", "weight"])
    .with_gradient(|g, [x, target, weight], _| {
        let (log, log_of_other) = (x.logsigmoid(), (-x).logsigmoid());
        let slope = target * (-x).sigmoid() - (1.0 - target) * x.sigmoid();
        let loss = target * log + (1.0 - target) * log_of_other;
        [-(g * slope * weight), -(g * weight * (log - log_of_other)), -(g * loss)]
    });

losses! {
    /// The mean over classes and batch of what scores of other classes lack to be below those of the
    /// targets by 1. Scores are `[batch, classes]`, `[classes]` or `[]`; targets, of dtype `I64`, have the
    /// same shape: of each sample the classes, up to the first -1.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.1, 0.2, 0.4, 0.8]]?;
    /// let loss = x.multilabel_margin_loss(&tensor![[3, 0, -1, 1]]?)?;
    /// assert!((loss.item::<f32>()? - 0.85).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not fit; the operands lie on different devices; the dtype is not a floating one,
    /// or that of the targets not `I64`; on the CPU also a target that is no class.
    multilabel_margin_loss, multilabel_margin_loss_with(target;) = multilabel_margin;
}

impl Tensor {
    /// The mean over classes and batch of what scores of other classes lack to be below that of the
    /// target by 1. Scores are `[batch, classes]` and targets `[batch]`, or without the batch
    /// `[classes]` and `[]`; `[]` is one class.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.1, 0.2, 0.4, 0.8]]?;
    /// let loss = x.multi_margin_loss(&tensor![3]?)?;
    /// assert!((loss.item::<f32>()? - 0.325).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::multi_margin_loss_with`].
    #[track_caller]
    pub fn multi_margin_loss(&self, target: &Tensor) -> Result<Tensor> {
        self.multi_margin_loss_with(target, 1, 1.0, None, Reduction::Mean)
    }

    /// [`Tensor::multi_margin_loss`] of the power `p` (1 or 2), with another margin, a weight of each
    /// class, and another reduction over the batch.
    ///
    /// # Errors
    /// The shapes do not fit; the operands lie on different devices; the dtype is not a floating one,
    /// or that of the targets not `I64`; `p` is neither 1 nor 2; on the CPU also a target that is no
    /// class.
    #[track_caller]
    pub fn multi_margin_loss_with(
        &self,
        target: &Tensor,
        p: i64,
        margin: f64,
        weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Result<Tensor> {
        const OP: &str = "multi_margin_loss";
        if p != 1 && p != 2 {
            let (argument, value) = ("p", p.to_string());
            let why = "it must be 1 or 2";
            return Err(Error::InvalidArgument { op: OP, argument, value, why });
        }
        let (fits, classes) = match *self.shape() {
            // Without a batch, a target of one element will do.
            [] => (target.numel() == 1 && target.dims() <= 1, 1),
            [classes] => (target.numel() == 1 && target.dims() <= 1, classes),
            [batch, classes] => (target.shape() == [batch], classes),
            _ => (false, 0),
        };
        if !fits || classes == 0 || weight.is_some_and(|weight| weight.shape() != [classes]) {
            let rule = "`self` must be [batch, classes] and `target` [batch], or without the batch; \
                        `weight` must be [classes]";
            let named = [("self", Some(self)), ("target", Some(target)), ("weight", weight)];
            let there = named.into_iter().filter_map(|(name, x)| Some((name, x?)));
            let shapes = there.map(|(name, x)| (name, x.layout().shape().clone())).collect();
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        expect_classes(OP, target)?;
        let cast = autocast(OP, [self])?;
        let ([x], weight) = (cast.operands(), cast.optional(weight)?);
        let operands = [Some(x), Some(target), weight.as_deref()];
        let there: Vec<&Tensor> = operands.into_iter().flatten().collect();
        let losses = recomputed(&there, move |operands: &[Tensor]| {
            multi_margin(&operands[0], &operands[1], p, margin, operands.get(2))
        })?;
        reduction.of(&losses)
    }

    /// The mean over classes and batch of [`Tensor::binary_cross_entropy_with_logits`], of scores
    /// `[.., classes]` and truth values of the same shape.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 0.0]]?;
    /// let loss = x.multilabel_soft_margin_loss(&tensor![[1.0, 0.0]]?)?;
    /// assert!((loss.item::<f32>()? - 2f32.ln()).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not broadcast; the operands lie on different devices; the dtype is not a
    /// floating one.
    #[track_caller]
    pub fn multilabel_soft_margin_loss(&self, target: &Tensor) -> Result<Tensor> {
        self.multilabel_soft_margin_loss_with(target, None, Reduction::Mean)
    }

    /// [`Tensor::multilabel_soft_margin_loss`] with a factor of each class, which is broadcast, and
    /// another reduction over the batch.
    ///
    /// # Errors
    /// As [`Tensor::multilabel_soft_margin_loss`]; or the weight does not broadcast.
    #[track_caller]
    pub fn multilabel_soft_margin_loss_with(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Result<Tensor> {
        let cast = autocast("multilabel_soft_margin_loss", [self, target])?;
        let [x, target] = cast.operands();
        let weight = weight.map_or(1.0.into(), Into::into);
        let parts = MULTILABEL_SOFT_MARGIN.apply([x.into(), target.into(), weight])?;
        reduction.of(&parts.mean(-1)?)
    }
}

/// The losses of `[batch, classes]` or `[classes]`.
#[track_caller]
fn multi_margin(
    x: &Tensor,
    target: &Tensor,
    p: i64,
    margin: f64,
    weight: Option<&Tensor>,
) -> Result<Tensor> {
    let classes = x.shape().last().copied().unwrap_or(1);
    let class = target.unsqueeze(-1)?;
    // Without a batch, the loss has the target's shape.
    let x = &match x.dims() == class.dims() {
        true => x.clone(),
        false => x.reshape([target.shape(), &[classes]].concat())?,
    };
    let of_target = x.gather(-1, &class)?;
    let is_target = positions(x)?.eq(&class)?;
    let operands = [x.into(), (&of_target).into(), (&is_target).into(), margin.into()];
    let mut parts = MULTI_MARGIN.apply(operands)?;
    if p == 2 {
        parts = parts.square()?;
    }
    if let Some(weight) = weight {
        parts = parts.mul(&weight.take(&class)?)?;
    }
    parts.sum(-1)?.div(classes)
}

#[track_caller]
fn multilabel_margin(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    const OP: &str = "multilabel_margin_loss";
    expect_same_shape(OP, x, target)?;
    expect_classes(OP, target)?;
    if x.dims() == 0 {
        return multilabel_margin(&x.reshape([1])?, &target.reshape([1])?);
    }
    if !matches!(*x.shape(), [classes] | [_, classes] if classes > 0) {
        let shapes = vec![("self", x.layout().shape().clone())];
        let rule = "`self` must be [batch, classes] or [classes], with classes";
        return Err(Error::ShapeMismatch { op: OP, shapes, rule });
    }
    recomputed(&[x, target], |operands: &[Tensor]| {
        multilabel_margin_of_classes(&operands[0], &operands[1])
    })
}

/// The losses of `[batch, classes]` or `[classes]`.
#[track_caller]
fn multilabel_margin_of_classes(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    let classes = x.shape().last().copied().unwrap_or(1);
    // Of the targets those before the first -1: none of those so far is negative.
    let is_there = target.lt(0)?.to(DType::I64)?.cumsum(-1)?.eq(0)?;
    let class = target.masked_fill(&is_there.logical_not()?, 0)?;
    let zeros = Tensor::zeros(x.shape(), (DType::I64, x.device()))?;
    let is_target = zeros.scatter_add(-1, &class, &is_there.to(DType::I64)?)?.gt(0)?;
    let counts = is_there.unsqueeze(-1)?.logical_and(&is_target.logical_not()?.unsqueeze(-2)?)?;
    let (of_target, x) = (x.gather(-1, &class)?.unsqueeze(-1)?, x.unsqueeze(-2)?);
    let parts = MULTILABEL_MARGIN.apply([(&x).into(), (&of_target).into(), (&counts).into()])?;
    parts.sum((-2, -1))?.div(classes)
}

/// The position along the last dimension.
#[track_caller]
fn positions(x: &Tensor) -> Result<Tensor> {
    let classes = x.shape().last().copied().unwrap_or(0);
    Tensor::arange(0..classes as i64, (DType::I64, x.device()))
}

/// # Errors
/// The targets are not of dtype `I64`.
fn expect_classes(op: &'static str, target: &Tensor) -> Result<()> {
    if target.dtype() == DType::I64 {
        return Ok(());
    }
    let arguments = vec![("target", target.dtype())];
    let rule = "targets are indices of classes, as int64";
    Err(Error::DTypeMismatch { op, arguments, rule })
}
