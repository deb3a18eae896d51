//! Losses of probabilities of two classes.

use super::Reduction;
use crate::ops::autocast;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Tensor};

/// Logarithms below -100 count as that, as in PyTorch, so that no loss is infinite.
static BINARY_CROSS_ENTROPY: Pointwise<3> =
    Pointwise::common("binary_cross_entropy", |[x, target, weight]| {
        let (log, log_of_other) = (x.log().maximum(-100.0), (-x).log1p().maximum(-100.0));
        ((target - 1.0) * log_of_other - target * log) * weight
    })
    .of(Kinds::FLOATS)
    .named(["self", "target", "weight"])
    .with_gradient(|g, [x, target, weight], _| {
        let slope = (x - target) / ((1.0 - x) * x).maximum(1e-12);
        let (log, log_of_other) = (x.log(), (1.0 - x).log());
        let (least, other) = (log.maximum(-100.0), (-x).log1p().maximum(-100.0));
        let loss = (target - 1.0) * other - target * least;
        [g * slope * weight, g * (log_of_other - log) * weight, g * loss]
    });

static OF_LOGITS: Pointwise<4> = Pointwise::common(
    "binary_cross_entropy_with_logits",
    |[x, target, weight, positive_weight]| {
        let of_log = (positive_weight - 1.0) * target + 1.0;
        ((1.0 - target) * x - of_log * x.logsigmoid()) * weight
    },
)
.of(Kinds::FLOATS)
.named(["self", "target", "weight", "pos_weight"])
.with_gradient(|g, [x, target, weight, positive_weight], _| {
    let of_log = (positive_weight - 1.0) * target + 1.0;
    let (log, g_weighted) = (x.logsigmoid(), g * weight);
    [
        g_weighted * (1.0 - target - of_log * (-x).sigmoid()),
        -(g_weighted * (x + (positive_weight - 1.0) * log)),
        g * ((1.0 - target) * x - of_log * log),
        -(g_weighted * target * log),
    ]
});

/// Cross-entropies of truth values and their probabilities.
impl Tensor {
    /// The mean of `-(target * log(x) + (1 - target) * log(1 - x))`: the cross-entropy between
    /// probabilities and truth values, or other probabilities, of the same shape. Logarithms below
    /// -100 count as that. What is no probability gives NaN.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![0.5, 0.5]?.binary_cross_entropy(&tensor![1.0, 0.0]?)?;
    /// assert!((loss.item::<f32>()? - 2f32.ln()).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes differ; the operands lie on different devices; the dtype is not a floating one.
    #[track_caller]
    pub fn binary_cross_entropy(&self, target: &Tensor) -> Result<Tensor> {
        self.binary_cross_entropy_with(target, None, Reduction::Mean)
    }

    /// [`Tensor::binary_cross_entropy`] with a factor of each loss, which is broadcast, and another
    /// reduction.
    ///
    /// # Errors
    /// As [`Tensor::binary_cross_entropy`]; or the weight does not broadcast.
    #[track_caller]
    pub fn binary_cross_entropy_with(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Result<Tensor> {
        const OP: &str = "binary_cross_entropy";
        expect_same_shape(OP, self, target)?;
        let cast = autocast(OP, [self, target])?;
        let [x, target] = cast.operands();
        let weight = weight.map_or(1.0.into(), Into::into);
        reduction.of(&BINARY_CROSS_ENTROPY.apply([x.into(), target.into(), weight])?)
    }

    /// [`Tensor::binary_cross_entropy`] of the [`sigmoid`](Tensor::sigmoid)s of the tensor, computed
    /// without overflow.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![0.0, 500.0]?.binary_cross_entropy_with_logits(&tensor![1.0, 1.0]?)?;
    /// assert!((loss.item::<f32>()? - 2f32.ln() / 2.0).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::binary_cross_entropy`].
    #[track_caller]
    pub fn binary_cross_entropy_with_logits(&self, target: &Tensor) -> Result<Tensor> {
        self.binary_cross_entropy_with_logits_with(target, None, None, Reduction::Mean)
    }

    /// [`Tensor::binary_cross_entropy_with_logits`] with a factor of each loss, one of the positive
    /// part of each (PyTorch's `pos_weight`), both of which are broadcast, and another reduction.
    ///
    /// # Errors
    /// As [`Tensor::binary_cross_entropy`]; or a weight does not broadcast.
    #[track_caller]
    pub fn binary_cross_entropy_with_logits_with(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        pos_weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Result<Tensor> {
        const OP: &str = "binary_cross_entropy_with_logits";
        expect_same_shape(OP, self, target)?;
        let cast = autocast(OP, [self, target])?;
        let [x, target] = cast.operands();
        let [weight, positive] = [weight, pos_weight].map(|x| x.map_or(1.0.into(), Into::into));
        reduction.of(&OF_LOGITS.apply([x.into(), target.into(), weight, positive])?)
    }
}

/// # Errors
/// The shapes differ.
pub(super) fn expect_same_shape(op: &'static str, x: &Tensor, target: &Tensor) -> Result<()> {
    if x.shape() == target.shape() {
        return Ok(());
    }
    let shapes =
        vec![("self", x.layout().shape().clone()), ("target", target.layout().shape().clone())];
    Err(Error::ShapeMismatch { op, shapes, rule: "`target` must have the shape of `self`" })
}
