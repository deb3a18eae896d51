//! Sums, products, quotients, remainders and signs.

use super::{binary, unary};
use crate::ops::operand::{TensorOrScalar, expect_factor};
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{DType, Error, Result, Scalar, Tensor};

unary! {
    /// `-x`
    [[1, -2] => "tensor([-1,  2])"]
    NEG: neg, neg_ = common(|[x]| -x);
    /// The absolute value. That of the smallest integer is itself.
    [[1, -2] => "tensor([1, 2])"]
    ABS: abs, abs_ = common(|[x]| x.abs()).with_gradient(|g, [x], _| [g * x.sign()]);
    /// -1, 0 or 1; 0 for NaN.
    [[-3.0, 0.0] => "tensor([-1.,  0.])"]
    SIGN: sign, sign_ = common(|[x]| x.sign()).of(Kinds::ALL);
    /// [`Tensor::sign`]: the two differ only for complex numbers.
    [[-3.0, 0.0] => "tensor([-1.,  0.])"]
    SGN: sgn, sgn_ = common(|[x]| x.sign()).of(Kinds::ALL);
}

binary! {
    /// `self + other`; for truth values "or".
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.add(&tensor![10.0, 20.0]?)?.to_vec::<f32>()?, [11.0, 22.0, 13.0, 24.0]);
    /// assert_eq!(x.add(1)?.to_vec::<f32>()?, [2.0, 3.0, 4.0, 5.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    [[1.0, 2.0], &tensor![0.5, 3.0]? => "tensor([1.5000, 5.0000])"]
    ADD: add, add_ = common(|[a, b]| a + b).of(Kinds::ALL);
    /// `self * other`, element by element; for truth values "and".
    [[1.0, 2.0], 3.0 => "tensor([3., 6.])"]
    MUL: mul, mul_ = common(|[a, b]| a * b).of(Kinds::ALL);
    /// `self / other`. The quotient of integers is a float (true division).
    [[7, -7], 2 => "tensor([ 3.5000, -3.5000])"]
    DIV: div, div_ = float(|[a, b]| a / b)
        .with_gradient(|g, [a, b], _| {
            // First that of the divisor: reverse mode adds the parts of a second derivative from
            // the last to the first, and then those that cancel for `x / x` meet first.
            let of_b = -g * ((a / b) / b);
            [g / b, of_b]
        });
    /// `self / other`, rounded down. An integer divided by zero gives 0. The gradients are zeros.
    [[7, -7], 2 => "tensor([ 3, -4])"]
    FLOOR_DIVIDE: floor_divide, floor_divide_ = common(|[a, b]| a.floor_divide(b))
        .with_gradient(|g, _, _| [g.constant(0.0), g.constant(0.0)]);
    /// The remainder of `self / other`, with the sign of `other` as in Python. The remainder of an
    /// integer divided by zero is 0.
    [[7, -7], 3 => "tensor([1, 2])"]
    REMAINDER: remainder, remainder_ = common(|[a, b]| a.remainder(b))
        .with_gradient(|g, [a, b], _| [g, -g * a.floor_divide(b)]);
    /// The remainder of `other / self`, with the sign of `self`: Python's `other % self`.
    [[3, -3], 7 => "tensor([ 1, -2])"]
    RREMAINDER: rremainder = common(|[a, b]| b.remainder(a))
        .with_gradient(|g, [a, b], _| [-g * b.floor_divide(a), g]);
    /// The remainder of `self / other`, with the sign of `self` as in C. The remainder of an
    /// integer divided by zero is 0.
    [[7, -7], 3 => "tensor([ 1, -1])"]
    FMOD: fmod, fmod_ = common(|[a, b]| a.fmod(b))
        .with_gradient(|g, [a, b], _| [g, -g * (a / b).trunc()]);
    /// The size of `self` with the sign of `other`.
    [[1.0, -2.0], &tensor![-0.5, 3.0]? => "tensor([-1.,  2.])"]
    COPYSIGN: copysign, copysign_ = float(|[a, b]| a.copysign(b)).with_gradient(|g, [a, _], y| {
        [g * a.eq(0.0).select(0.0, y / a), g.constant(0.0)]
    });
    /// The number next to `self` towards `other`.
    [[1.0, 2.0], &tensor![2.0, 2.0]? => "tensor([1.0000, 2.0000])"]
    NEXTAFTER: nextafter, nextafter_ = common(|[a, b]| a.nextafter(b))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [a, b], _| [a.eq(b).select(0.0, g), g.constant(0.0)]);
}

pub(in crate::ops) static SUB: Pointwise<2> = Pointwise::common("sub", |[a, b]| a - b);
static RSUB: Pointwise<2> = Pointwise::common("rsub", |[a, b]| b - a);
static DIV_TRUNC: Pointwise<2> = Pointwise::common("div", |[a, b]| a.div_trunc(b))
    .with_gradient(|g, _, _| [g.constant(0.0), g.constant(0.0)]);

/// `self + alpha * other`
static ADD_SCALED: Pointwise<3> = Pointwise::common("add", |[a, b, alpha]| a + alpha * b)
    .of(Kinds::ALL)
    .promoted_by_first(2)
    .named(["self", "other", "alpha"]);
static SUB_SCALED: Pointwise<3> = Pointwise::common("sub", |[a, b, alpha]| a - alpha * b)
    .promoted_by_first(2)
    .named(["self", "other", "alpha"]);
static RSUB_SCALED: Pointwise<3> = Pointwise::common("rsub", |[a, b, alpha]| b - alpha * a)
    .promoted_by_first(2)
    .named(["self", "other", "alpha"]);

/// The rounding of a quotient (PyTorch's `rounding_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundingMode {
    /// Towards zero, as C divides integers.
    Trunc,
    /// Down, as Python's `//`.
    Floor,
}

/// Arithmetic with another tensor, which is broadcast, or with a number.
///
/// The result has the shape that the operands broadcast to, the dtype that they are promoted to,
/// and lies on their device. Integers wrap around. On CUDA the work is enqueued on the device's
/// current stream, and nothing is waited for. Methods that end in `_` write the tensor's own memory
/// and give the same handle.
///
/// All fail if the operands lie on different devices, if their shapes do not broadcast, or if the
/// operation has no such dtype. Those in place also fail if the tensor cannot be written in place,
/// if the result would have another shape than the tensor, or a dtype of a higher category (a float
/// for an integer tensor).
impl Tensor {
    /// The tensor itself (Python's `+x`); not of truth values.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.positive()?.id(), x.id());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn positive(&self) -> Result<Tensor> {
        match self.dtype() {
            DType::Bool => {
                let device = self.device();
                Err(Error::UnsupportedDType { op: "positive", dtype: DType::Bool, device })
            }
            _ => Ok(self.clone()),
        }
    }

    /// `self - other`; not of truth values.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.sub(1.5)?.to_vec::<f32>()?, [-0.5, 0.5, 1.5]);
    /// assert_eq!(x.sub(&x)?.to_vec::<f32>()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn sub<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        difference(&SUB, [self.into(), other.into()])
    }

    /// [`Tensor::sub`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.sub_(0.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5, 1.5, 2.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn sub_<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        let operands = [self.into(), other.into()];
        not_of_bools("sub_", &operands)?;
        SUB.apply_in_place("sub_", self, operands)
    }

    /// `other - self`; not of truth values.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.rsub(1.0)?.to_vec::<f32>()?, [0.0, -1.0, -2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn rsub<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        difference(&RSUB, [self.into(), other.into()])
    }

    /// `other - alpha * self` (PyTorch's `rsub` with `alpha`); not of truth values.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.rsub_scaled(1.0, 2.0)?.to_vec::<f32>()?, [-1.0, -3.0, -5.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn rsub_scaled<'a>(
        &self,
        other: impl Into<TensorOrScalar<'a>>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let operands = scaled(&RSUB_SCALED, self, other.into(), alpha.into())?;
        not_of_bools("rsub", &operands[..2])?;
        RSUB_SCALED.apply(operands)
    }

    /// `self / other`; the same as [`Tensor::div`].
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1, 2]?.true_divide(2)?.to_vec::<f32>()?, [0.5, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn true_divide<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        self.div(other)
    }

    /// [`Tensor::true_divide`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.true_divide_(2.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5, 1.0, 1.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn true_divide_<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        self.div_(other)
    }

    /// `self / other` rounded to a whole number, in the dtype that the operands are promoted to.
    ///
    /// ```
    /// use tensor::{RoundingMode, tensor};
    /// let x = tensor![-7, 7]?;
    /// assert_eq!(x.div_with(2, RoundingMode::Floor)?.to_vec::<i64>()?, [-4, 3]);
    /// assert_eq!(x.div_with(2, RoundingMode::Trunc)?.to_vec::<i64>()?, [-3, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn div_with<'a>(
        &self,
        other: impl Into<TensorOrScalar<'a>>,
        rounding: RoundingMode,
    ) -> Result<Tensor> {
        rounded_quotient(rounding).apply([self.into(), other.into()])
    }

    /// [`Tensor::div_with`] in place.
    ///
    /// ```
    /// use tensor::{RoundingMode, tensor};
    /// let x = tensor![-7, 7]?;
    /// x.div_with_(2, RoundingMode::Floor)?;
    /// assert_eq!(x.to_vec::<i64>()?, [-4, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn div_with_<'a>(
        &self,
        other: impl Into<TensorOrScalar<'a>>,
        rounding: RoundingMode,
    ) -> Result<Tensor> {
        let operands = [self.into(), other.into()];
        rounded_quotient(rounding).apply_in_place("div_", self, operands)
    }

    /// `self + alpha * other` (PyTorch's `add` with `alpha`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.add_scaled(&x, 10.0)?.to_vec::<f32>()?, [11.0, 22.0, 33.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn add_scaled<'a>(
        &self,
        other: impl Into<TensorOrScalar<'a>>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let operands = scaled(&ADD_SCALED, self, other.into(), alpha.into())?;
        ADD_SCALED.apply(operands)
    }

    /// [`Tensor::add_scaled`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.add_scaled_(&tensor![1.0, 1.0, 1.0]?, -0.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5, 1.5, 2.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn add_scaled_<'a>(
        &self,
        other: impl Into<TensorOrScalar<'a>>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let operands = scaled(&ADD_SCALED, self, other.into(), alpha.into())?;
        ADD_SCALED.apply_in_place("add_", self, operands)
    }

    /// `self - alpha * other` (PyTorch's `sub` with `alpha`); not of truth values.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.sub_scaled(&x, 2.0)?.to_vec::<f32>()?, [-1.0, -2.0, -3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn sub_scaled<'a>(
        &self,
        other: impl Into<TensorOrScalar<'a>>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let operands = scaled(&SUB_SCALED, self, other.into(), alpha.into())?;
        not_of_bools("sub", &operands[..2])?;
        SUB_SCALED.apply(operands)
    }

    /// [`Tensor::sub_scaled`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.sub_scaled_(&tensor![1.0, 1.0, 1.0]?, 0.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5, 1.5, 2.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn sub_scaled_<'a>(
        &self,
        other: impl Into<TensorOrScalar<'a>>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let operands = scaled(&SUB_SCALED, self, other.into(), alpha.into())?;
        not_of_bools("sub_", &operands[..2])?;
        SUB_SCALED.apply_in_place("sub_", self, operands)
    }
}

/// Applies a difference.
#[track_caller]
fn difference(
    operation: &'static Pointwise<2>,
    operands: [TensorOrScalar<'_>; 2],
) -> Result<Tensor> {
    not_of_bools(operation.name(), &operands)?;
    operation.apply(operands)
}

/// # Errors
/// One of the operands is a truth value, of which there are no differences.
pub(in crate::ops) fn not_of_bools(
    op: &'static str,
    operands: &[TensorOrScalar<'_>],
) -> Result<()> {
    let dtype = |operand: &TensorOrScalar<'_>| match operand {
        TensorOrScalar::Tensor(tensor) => tensor.dtype(),
        TensorOrScalar::Scalar(number) => number.dtype(),
    };
    if operands.iter().all(|operand| dtype(operand) != DType::Bool) {
        return Ok(());
    }
    let arguments = ["self", "other"].into_iter().zip(operands.iter().map(dtype)).collect();
    let rule = "truth values have no differences; use logical_xor, or convert to another dtype";
    Err(Error::DTypeMismatch { op, arguments, rule })
}

/// The operands of a sum or difference of which one is multiplied by `alpha`.
///
/// # Errors
/// `alpha` is a float beside integers, or a truth value beside numbers.
fn scaled<'a>(
    operation: &Pointwise<3>,
    x: &'a Tensor,
    other: TensorOrScalar<'a>,
    alpha: Scalar,
) -> Result<[TensorOrScalar<'a>; 3]> {
    let operands = [x.into(), other, TensorOrScalar::Scalar(alpha)];
    expect_factor(operation.name(), alpha, operation.computed_dtype(&operands))?;
    Ok(operands)
}

fn rounded_quotient(rounding: RoundingMode) -> &'static Pointwise<2> {
    match rounding {
        RoundingMode::Trunc => &DIV_TRUNC,
        RoundingMode::Floor => &FLOOR_DIVIDE,
    }
}
