//! The larger and the smaller of two, and bounds. Where tensors are equal, each gets half of the
//! gradient; at a bound that is a number it is 0.

use super::binary;
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Result, Tensor};

binary! {
    /// The larger of the two; NaN if one of them is. Where both are equal, each gets half of the
    /// gradient.
    MAXIMUM: maximum = common(|[a, b]| a.maximum(b)).of(Kinds::ALL);
    /// The smaller of the two; NaN if one of them is. Where both are equal, each gets half of the
    /// gradient.
    MINIMUM: minimum = common(|[a, b]| a.minimum(b)).of(Kinds::ALL);
    /// The larger of the two; if one of them is NaN, the other.
    FMAX: fmax = common(|[a, b]| a.fmax(b)).of(Kinds::ALL);
    /// The smaller of the two; if one of them is NaN, the other.
    FMIN: fmin = common(|[a, b]| a.fmin(b)).of(Kinds::ALL);
    /// The elements that are not below `other`, and `other` in place of those that are; NaN if one
    /// of them is.
    CLAMP_MIN: clamp_min, clamp_min_ = common(|[x, min]| x.maximum(min))
        .of(Kinds::ALL)
        .named(["self", "min"]);
    /// The elements that are not above `other`, and `other` in place of those that are; NaN if one
    /// of them is.
    CLAMP_MAX: clamp_max, clamp_max_ = common(|[x, max]| x.minimum(max))
        .of(Kinds::ALL)
        .named(["self", "max"]);
}

static CLAMP: Pointwise<3> =
    Pointwise::common("clamp", |[x, min, max]| x.clamp(min, max)).named(["self", "min", "max"]);

impl Tensor {
    /// The elements limited to the range from `min` to `max`, which are numbers or tensors; where
    /// `min` is above `max`, the result is `max`.
    ///
    /// # Errors
    /// The dtype is `Bool`; the operands lie on different devices or do not broadcast.
    #[track_caller]
    pub fn clamp<'a, 'b>(
        &self,
        min: impl Into<TensorOrScalar<'a>>,
        max: impl Into<TensorOrScalar<'b>>,
    ) -> Result<Tensor> {
        CLAMP.apply([self.into(), min.into(), max.into()])
    }

    /// [`Tensor::clamp`] in place.
    #[track_caller]
    pub fn clamp_<'a, 'b>(
        &self,
        min: impl Into<TensorOrScalar<'a>>,
        max: impl Into<TensorOrScalar<'b>>,
    ) -> Result<Tensor> {
        CLAMP.apply_in_place("clamp_", self, [self.into(), min.into(), max.into()])
    }
}
