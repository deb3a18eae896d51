//! The larger and the smaller of two, and bounds. Where tensors are equal, each gets half of the
//! gradient; at a bound that is a number it is 0.

use super::binary;
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{DType, Error, Result, Tensor};

binary! {
    /// The larger of the two; NaN if one of them is. Where both are equal, each gets half of the
    /// gradient.
    [[1.0, 5.0], &tensor![3.0, 4.0]? => "tensor([3., 5.])"]
    MAXIMUM: maximum = common(|[a, b]| a.maximum(b)).of(Kinds::ALL);
    /// The smaller of the two; NaN if one of them is. Where both are equal, each gets half of the
    /// gradient.
    [[1.0, 5.0], &tensor![3.0, 4.0]? => "tensor([1., 4.])"]
    MINIMUM: minimum = common(|[a, b]| a.minimum(b)).of(Kinds::ALL);
    /// The larger of the two; if one of them is NaN, the other.
    [[1.0, f64::NAN], &tensor![3.0, 4.0]? => "tensor([3., 4.])"]
    FMAX: fmax = common(|[a, b]| a.fmax(b)).of(Kinds::ALL);
    /// The smaller of the two; if one of them is NaN, the other.
    [[1.0, f64::NAN], &tensor![3.0, 4.0]? => "tensor([1., 4.])"]
    FMIN: fmin = common(|[a, b]| a.fmin(b)).of(Kinds::ALL);
}

static CLAMP_MIN: Pointwise<2> =
    Pointwise::common("clamp_min", |[x, min]| x.maximum(min)).of(Kinds::ALL).named(["self", "min"]);
static CLAMP_MAX: Pointwise<2> =
    Pointwise::common("clamp_max", |[x, max]| x.minimum(max)).of(Kinds::ALL).named(["self", "max"]);
static CLAMP: Pointwise<3> =
    Pointwise::common("clamp", |[x, min, max]| x.clamp(min, max)).named(["self", "min", "max"]);

impl Tensor {
    /// The elements that are not below `min`, a number or a tensor, and `min` in place of those that
    /// are; NaN if one of them is.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.clamp_min(2.0)?.to_vec::<f32>()?, [2.0, 2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast; truth values are compared with a
    /// number.
    #[track_caller]
    pub fn clamp_min<'a>(&self, min: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        CLAMP_MIN.apply(self.with_bound(&CLAMP_MIN, min.into())?)
    }

    /// [`Tensor::clamp_min`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.clamp_min_(2.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [2.0, 2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp_min_<'a>(&self, min: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        let operands = self.with_bound(&CLAMP_MIN, min.into())?;
        CLAMP_MIN.apply_in_place("clamp_min_", self, operands)
    }

    /// The elements that are not above `max`, a number or a tensor, and `max` in place of those that
    /// are; NaN if one of them is.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.clamp_max(2.0)?.to_vec::<f32>()?, [1.0, 2.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::clamp_min`].
    #[track_caller]
    pub fn clamp_max<'a>(&self, max: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        CLAMP_MAX.apply(self.with_bound(&CLAMP_MAX, max.into())?)
    }

    /// [`Tensor::clamp_max`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.clamp_max_(2.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp_max_<'a>(&self, max: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        let operands = self.with_bound(&CLAMP_MAX, max.into())?;
        CLAMP_MAX.apply_in_place("clamp_max_", self, operands)
    }

    /// The tensor and a bound. As in PyTorch, a number is no bound for truth values.
    fn with_bound<'a>(
        &'a self,
        operation: &Pointwise<2>,
        bound: TensorOrScalar<'a>,
    ) -> Result<[TensorOrScalar<'a>; 2]> {
        let operands = [self.into(), bound];
        let dtype = operation.computed_dtype(&operands);
        if dtype == DType::Bool && bound.tensor().is_none() {
            let (op, device) = (operation.name(), self.device());
            return Err(Error::UnsupportedDType { op, dtype, device });
        }
        Ok(operands)
    }

    /// The elements limited to the range from `min` to `max`, which are numbers or tensors; where
    /// `min` is above `max`, the result is `max`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.clamp(1.5, 2.5)?.to_vec::<f32>()?, [1.5, 2.0, 2.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
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
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.clamp_(1.5, 2.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.5, 2.0, 2.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp_<'a, 'b>(
        &self,
        min: impl Into<TensorOrScalar<'a>>,
        max: impl Into<TensorOrScalar<'b>>,
    ) -> Result<Tensor> {
        CLAMP.apply_in_place("clamp_", self, [self.into(), min.into(), max.into()])
    }
}
