//! Comparisons, tests of single numbers, and logic: operations that give truth values.

use super::{binary, unary};
use crate::dispatch::{same_device, same_dtype};
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::Pointwise;
use crate::{Error, Result, Tensor};

binary! {
    /// `self == other`. The result of all comparisons is of dtype `Bool`, that of those in place of
    /// the tensor's; the operands are promoted to one dtype first. Comparisons with NaN are false,
    /// except `ne`.
    [[1, 2], 2 => "tensor([False,  True])"]
    EQ: eq, eq_ = predicate(|[a, b]| a.eq(b));
    /// `self != other`
    [[1, 2], 2 => "tensor([ True, False])"]
    NE: ne, ne_ = predicate(|[a, b]| a.ne(b));
    /// `self < other`
    [[1, 2], 2 => "tensor([ True, False])"]
    LT: lt, lt_ = predicate(|[a, b]| a.lt(b));
    /// `self <= other`
    [[1, 2], 2 => "tensor([True, True])"]
    LE: le, le_ = predicate(|[a, b]| a.le(b));
    /// `self > other`
    [[1, 2], 1 => "tensor([False,  True])"]
    GT: gt, gt_ = predicate(|[a, b]| a.gt(b));
    /// `self >= other`
    [[1, 2], 2 => "tensor([False,  True])"]
    GE: ge, ge_ = predicate(|[a, b]| a.ge(b));
    /// Logical "and": whether both elements differ from zero.
    [[0, 1], &tensor![1, 2]? => "tensor([False,  True])"]
    LOGICAL_AND: logical_and, logical_and_ = predicate(|[a, b]| a.logical_and(b));
    /// Logical "or": whether an element differs from zero, or both do.
    [[0, 1], &tensor![0, 0]? => "tensor([False,  True])"]
    LOGICAL_OR: logical_or, logical_or_ = predicate(|[a, b]| a.logical_or(b));
    /// Logical "exclusive or": whether exactly one of the elements differs from zero.
    [[0, 1], &tensor![1, 2]? => "tensor([ True, False])"]
    LOGICAL_XOR: logical_xor, logical_xor_ = predicate(|[a, b]| a.logical_xor(b));
}

unary! {
    /// Whether each element is zero; of dtype `Bool`.
    [[0, 5] => "tensor([ True, False])"]
    LOGICAL_NOT: logical_not, logical_not_ = predicate(|[x]| x.logical_not());
    /// Whether each element is NaN.
    [[f64::NAN, 1.0] => "tensor([ True, False])"]
    ISNAN: isnan = predicate(|[x]| x.isnan());
    /// Whether each element is infinite.
    [[f64::INFINITY, 1.0] => "tensor([ True, False])"]
    ISINF: isinf = predicate(|[x]| x.isinf());
    /// Whether each element is neither infinite nor NaN.
    [[f64::INFINITY, 1.0] => "tensor([False,  True])"]
    ISFINITE: isfinite = predicate(|[x]| x.isfinite());
    /// Whether each element is the positive infinity.
    [[f64::INFINITY, -f64::INFINITY] => "tensor([ True, False])"]
    ISPOSINF: isposinf = predicate(|[x]| x.isposinf());
    /// Whether each element is the negative infinity.
    [[f64::INFINITY, -f64::INFINITY] => "tensor([False,  True])"]
    ISNEGINF: isneginf = predicate(|[x]| x.isneginf());
    /// Whether the sign bit of each element is set, that of -0.0 included.
    [[-1.0, 1.0] => "tensor([ True, False])"]
    SIGNBIT: signbit = predicate(|[x]| x.signbit());
    /// Whether each element is a real number: there are no others.
    [[1.0, 2.0] => "tensor([True, True])"]
    ISREAL: isreal = predicate(|[x]| x.eq(x) | x.ne(x));
}

/// `|a - b| <= atol + |rtol * b|`, or equal.
static ISCLOSE: Pointwise<4> = Pointwise::predicate("isclose", |[a, b, rtol, atol]| {
    let distance = (a - b).abs();
    a.eq(b) | (distance.isfinite() & distance.le(atol + (rtol * b).abs()))
})
.in_floats()
.named(["self", "other", "rtol", "atol"]);
/// The same, and NaN is close to NaN.
static ISCLOSE_NAN: Pointwise<4> = Pointwise::predicate("isclose", |[a, b, rtol, atol]| {
    let distance = (a - b).abs();
    let close = a.eq(b) | (distance.isfinite() & distance.le(atol + (rtol * b).abs()));
    close | (a.isnan() & b.isnan())
})
.in_floats()
.named(["self", "other", "rtol", "atol"]);

impl Tensor {
    /// Whether the two have the same shape and the same elements. It blocks until the answer is
    /// there.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert!(tensor![1, 2]?.equal(&tensor![1, 2]?)?);
    /// assert!(!tensor![1, 2]?.equal(&tensor![[1, 2]]?)?, "other shapes");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ, or the tensors lie on different devices.
    #[track_caller]
    pub fn equal(&self, other: &Tensor) -> Result<bool> {
        const OP: &str = "equal";
        same_device(OP, &[("self", self), ("other", other)])?;
        same_dtype(OP, &[("self", self), ("other", other)])?;
        Ok(self.shape() == other.shape() && self.eq(other)?.all(())?.item()?)
    }

    /// Whether `|self - other| <= atol + rtol * |other|` holds for each element. Equal elements are
    /// close, infinities too; NaN is close to NaN only with `equal_nan`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let close = tensor![1.0, 2.0]?.isclose(&tensor![1.001, 2.1]?, 1e-2, 0.0, false)?;
    /// assert_eq!(close.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ; the operands lie on different devices or do not broadcast; a tolerance is
    /// negative.
    #[track_caller]
    pub fn isclose(&self, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
        const OP: &str = "isclose";
        same_dtype(OP, &[("self", self), ("other", other)])?;
        for (argument, value) in [("rtol", rtol), ("atol", atol)] {
            if value.is_nan() || value < 0.0 {
                let (value, why) = (value.to_string(), "a tolerance is not negative");
                return Err(Error::InvalidArgument { op: OP, argument, value, why });
            }
        }
        let operands: [TensorOrScalar<'_>; 4] =
            [self.into(), other.into(), rtol.into(), atol.into()];
        if equal_nan { ISCLOSE_NAN.apply(operands) } else { ISCLOSE.apply(operands) }
    }

    /// Whether all elements are close, as by [`Tensor::isclose`] of the two promoted to one dtype.
    /// It blocks until the answer is there.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert!(tensor![0.1]?.mul(3.0)?.allclose(&tensor![0.3]?, 1e-5, 1e-8)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast.
    #[track_caller]
    pub fn allclose(&self, other: &Tensor, rtol: f64, atol: f64) -> Result<bool> {
        ISCLOSE.apply([self.into(), other.into(), rtol.into(), atol.into()])?.all(())?.item()
    }
}
