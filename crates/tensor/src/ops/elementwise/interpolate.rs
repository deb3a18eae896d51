//! Interpolation, and the fused products and quotients that optimizers use.

use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Result, Scalar, Tensor};

static LERP: Pointwise<3> = Pointwise::common("lerp", |[a, b, weight]| a.lerp(b, weight))
    .of(Kinds::FLOATS)
    .named(["self", "end", "weight"])
    .with_gradient(|g, [a, b, weight], _| [g * (1.0 - weight), g * weight, g * (b - a)]);

static ADDCMUL: Pointwise<4> = Pointwise::common("addcmul", |[x, a, b, value]| x + value * a * b)
    .promoted_by_first(3)
    .named(["self", "a", "b", "value"]);

static ADDCDIV: Pointwise<4> = Pointwise::common("addcdiv", |[x, a, b, value]| x + value * a / b)
    .of(Kinds::FLOATS)
    .promoted_by_first(3)
    .named(["self", "a", "b", "value"])
    .with_gradient(|g, [_, a, b, value], _| {
        [g, g * (value / b), -g * value * ((a / b) / b), g.constant(0.0)]
    });

impl Tensor {
    /// `self + weight * (end - self)`
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.lerp(&tensor![3.0, 3.0, 3.0]?, 0.5)?.to_vec::<f32>()?, [2.0, 2.5, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; the operands lie on different devices or do not broadcast.
    #[track_caller]
    pub fn lerp<'a>(&self, end: &Tensor, weight: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        LERP.apply([self.into(), end.into(), weight.into()])
    }

    /// [`Tensor::lerp`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.lerp_(&tensor![3.0, 3.0, 3.0]?, 0.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [2.0, 2.5, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn lerp_<'a>(&self, end: &Tensor, weight: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        LERP.apply_in_place("lerp_", self, [self.into(), end.into(), weight.into()])
    }

    /// `self + value * a * b`
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.addcmul(&x, &x, 0.5)?.to_vec::<f32>()?, [1.5, 4.0, 7.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast; the dtype is `Bool`.
    #[track_caller]
    pub fn addcmul(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        ADDCMUL.apply([self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value.into())])
    }

    /// [`Tensor::addcmul`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?;
    /// x.addcmul_(&tensor![2.0, 3.0]?, &tensor![4.0, 5.0]?, 0.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [5.0, 9.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn addcmul_(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        let operands = [self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value.into())];
        ADDCMUL.apply_in_place("addcmul_", self, operands)
    }

    /// `self + value * a / b`
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.addcdiv(&x, &x, 0.5)?.to_vec::<f32>()?, [1.5, 2.5, 3.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; the operands lie on different devices or do not broadcast.
    #[track_caller]
    pub fn addcdiv(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        ADDCDIV.apply([self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value.into())])
    }

    /// [`Tensor::addcdiv`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?;
    /// x.addcdiv_(&tensor![4.0, 9.0]?, &tensor![2.0, 3.0]?, 0.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [2.0, 3.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn addcdiv_(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        let operands = [self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value.into())];
        ADDCDIV.apply_in_place("addcdiv_", self, operands)
    }
}
