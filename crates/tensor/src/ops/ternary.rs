//! Elementwise functions of three and four operands: `where`, `clamp`, and those that optimizers
//! use.

use super::operand::{SavedOperand, TensorOrScalar};
use super::pointwise::{Promotion, pointwise, pointwise_in_place};
use crate::autograd::{InPlace, SavedTensor, record, record_many};
use crate::dispatch::abi::Elementwise;
use crate::dispatch::{Operator, Signature};
use crate::host::ternary;
use crate::{DType, Error, Result, Scalar, Tensor};

static WHERE: Operator<Elementwise<4>> =
    Operator::new("where", ternary::where_).with_signature(Signature::Selects);
static CLAMP: Operator<Elementwise<4>> = Operator::new("clamp", ternary::clamp);
static LERP: Operator<Elementwise<4>> = Operator::new("lerp", ternary::lerp);
static ADD_SCALED: Operator<Elementwise<4>> = Operator::new("add_scaled", ternary::add_scaled);
static ADDCMUL: Operator<Elementwise<5>> = Operator::new("addcmul", ternary::addcmul);
static ADDCDIV: Operator<Elementwise<5>> = Operator::new("addcdiv", ternary::addcdiv);

impl Tensor {
    /// The elements of `a` where `condition` holds, of `b` elsewhere; all three are broadcast.
    /// (The name ends in `_` since `where` is a word of Rust; nothing is changed in place.)
    ///
    /// # Errors
    /// `condition` is not of dtype `Bool`; the operands lie on different devices or do not
    /// broadcast.
    #[track_caller]
    pub fn where_<'a, 'b>(
        condition: &Tensor,
        a: impl Into<TensorOrScalar<'a>>,
        b: impl Into<TensorOrScalar<'b>>,
    ) -> Result<Tensor> {
        let (a, b) = (a.into(), b.into());
        if condition.dtype() != DType::Bool {
            let arguments = vec![("condition", condition.dtype())];
            return Err(Error::DTypeMismatch { op: "where", arguments, rule: "it must be bool" });
        }
        let operands = [condition.into(), a, b];
        let names = ["condition", "a", "b"];
        let output = pointwise(&WHERE, Promotion::Common, names, operands)?;
        let inputs: Vec<&Tensor> = [a, b].into_iter().filter_map(TensorOrScalar::tensor).collect();
        // One gradient for each operand that is a tensor, in order.
        let first_is_a = a.tensor().is_some();
        Ok(record_many("where", &inputs, output, |saving| {
            let condition = saving.save(condition);
            move |grad: &Tensor, needs: &[bool]| {
                let condition = condition.get()?;
                let gradient = |(position, needed): (usize, &bool)| match needed {
                    false => Ok(None),
                    true if position == 0 && first_is_a => {
                        Tensor::where_(&condition, grad, 0).map(Some)
                    }
                    true => Tensor::where_(&condition, 0, grad).map(Some),
                };
                needs.iter().enumerate().map(gradient).collect()
            }
        }))
    }

    /// The elements limited to the range from `min` to `max`; if `min` is above `max`, the result
    /// is `max`.
    ///
    /// # Errors
    /// The dtype is `Bool`; memory or the runtime failed.
    #[track_caller]
    pub fn clamp(&self, min: impl Into<Scalar>, max: impl Into<Scalar>) -> Result<Tensor> {
        let (min, max) = (min.into(), max.into());
        let operands = [self.into(), TensorOrScalar::Scalar(min), TensorOrScalar::Scalar(max)];
        let output = pointwise(&CLAMP, Promotion::Common, ["self", "min", "max"], operands)?;
        Ok(record("clamp", [self], output, |saving| {
            let x = saving.save(self);
            move |grad: &Tensor, _| {
                let x = x.get()?;
                // At the bounds themselves the gradient is zero, as in PyTorch.
                let inside = x.gt(min)?.logical_and(&x.lt(max)?)?;
                Ok([Some(Tensor::where_(&inside, grad, 0)?)])
            }
        }))
    }

    /// `self + weight * (end - self)`
    ///
    /// # Errors
    /// The dtype is not a floating one; the operands lie on different devices or do not broadcast.
    #[track_caller]
    pub fn lerp<'a>(&self, end: &Tensor, weight: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        let weight = weight.into();
        let operands = [self.into(), end.into(), weight];
        let output = pointwise(&LERP, Promotion::Common, ["self", "end", "weight"], operands)?;
        let mut inputs = vec![self, end];
        inputs.extend(weight.tensor());
        Ok(record_many("lerp", &inputs, output, |saving| {
            let [start, end, weight] =
                [self.into(), end.into(), weight].map(|operand| SavedOperand::new(saving, operand));
            move |grad: &Tensor, needs: &[bool]| {
                let (start, end, weight) = (start.get()?, end.get()?, weight.get()?);
                let toward_end = || grad.mul(weight.operand());
                let gradient = |(position, needed): (usize, &bool)| match (needed, position) {
                    (false, _) => Ok(None),
                    (true, 0) => grad.sub(&toward_end()?).map(Some),
                    (true, 1) => toward_end().map(Some),
                    (true, _) => {
                        grad.mul(end.operand())?.sub(&grad.mul(start.operand())?).map(Some)
                    }
                };
                needs.iter().enumerate().map(gradient).collect()
            }
        }))
    }

    /// `self + alpha * other` (PyTorch's `add` with `alpha`).
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast; the dtype is `Bool`.
    #[track_caller]
    pub fn add_scaled(&self, other: &Tensor, alpha: impl Into<Scalar>) -> Result<Tensor> {
        let alpha = alpha.into();
        let operands = [self.into(), other.into(), TensorOrScalar::Scalar(alpha)];
        let names = ["self", "other", "alpha"];
        let output = pointwise(&ADD_SCALED, Promotion::Common, names, operands)?;
        Ok(record("add_scaled", [self, other], output, |_| {
            move |grad: &Tensor, [_, other]: [bool; 2]| {
                Ok([Some(grad.clone()), other.then(|| grad.mul(alpha)).transpose()?])
            }
        }))
    }

    /// `self + value * a * b`
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast; the dtype is `Bool`.
    #[track_caller]
    pub fn addcmul(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        let value = value.into();
        let names = ["self", "a", "b", "value"];
        let operands = [self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value)];
        let output = pointwise(&ADDCMUL, Promotion::Common, names, operands)?;
        Ok(record("addcmul", [self, a, b], output, |saving| {
            let (a, b) = (saving.save(a), saving.save(b));
            move |grad: &Tensor, [_, needs_a, needs_b]: [bool; 3]| {
                let times = |other: &SavedTensor| grad.mul(&other.get()?)?.mul(value);
                Ok([
                    Some(grad.clone()),
                    needs_a.then(|| times(&b)).transpose()?,
                    needs_b.then(|| times(&a)).transpose()?,
                ])
            }
        }))
    }

    /// `self + value * a / b`
    ///
    /// # Errors
    /// The dtype is not a floating one; the operands lie on different devices or do not broadcast.
    #[track_caller]
    pub fn addcdiv(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        let value = value.into();
        let names = ["self", "a", "b", "value"];
        let operands = [self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value)];
        let output = pointwise(&ADDCDIV, Promotion::Common, names, operands)?;
        Ok(record("addcdiv", [self, a, b], output, |saving| {
            let (a, b) = (saving.save(a), saving.save(b));
            move |grad: &Tensor, [_, needs_a, needs_b]: [bool; 3]| {
                let over_b = || grad.mul(value)?.div(&b.get()?);
                let of_b = || over_b()?.mul(&a.get()?)?.div(&b.get()?)?.neg();
                Ok([
                    Some(grad.clone()),
                    needs_a.then(over_b).transpose()?,
                    needs_b.then(of_b).transpose()?,
                ])
            }
        }))
    }
}

/// Steps of optimizers, in place. They give the same handle, and fail as [`Tensor::add_`] does.
impl Tensor {
    /// `self += alpha * other`
    #[track_caller]
    pub fn add_scaled_(&self, other: &Tensor, alpha: impl Into<Scalar>) -> Result<Tensor> {
        let alpha = alpha.into();
        let operands = [self.into(), other.into(), TensorOrScalar::Scalar(alpha)];
        let write = InPlace::begin("add_scaled_", self, &[other])?;
        pointwise_in_place("add_scaled_", &ADD_SCALED, Promotion::Common, self, operands)?;
        Ok(write.finish(|_| {
            move |grad: &Tensor, needs: &[bool]| {
                Ok(vec![Some(grad.clone()), needs[1].then(|| grad.mul(alpha)).transpose()?])
            }
        }))
    }

    /// `self += value * a * b`
    #[track_caller]
    pub fn addcmul_(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        let value = value.into();
        let operands = [self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value)];
        let write = InPlace::begin("addcmul_", self, &[a, b])?;
        pointwise_in_place("addcmul_", &ADDCMUL, Promotion::Common, self, operands)?;
        Ok(write.finish(|saving| {
            let (a, b) = (saving.save(a), saving.save(b));
            move |grad: &Tensor, needs: &[bool]| {
                let times = |other: &SavedTensor| grad.mul(&other.get()?)?.mul(value);
                Ok(vec![
                    Some(grad.clone()),
                    needs[1].then(|| times(&b)).transpose()?,
                    needs[2].then(|| times(&a)).transpose()?,
                ])
            }
        }))
    }

    /// `self += value * a / b`
    #[track_caller]
    pub fn addcdiv_(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
        let value = value.into();
        let operands = [self.into(), a.into(), b.into(), TensorOrScalar::Scalar(value)];
        let write = InPlace::begin("addcdiv_", self, &[a, b])?;
        pointwise_in_place("addcdiv_", &ADDCDIV, Promotion::Common, self, operands)?;
        Ok(write.finish(|saving| {
            let (a, b) = (saving.save(a), saving.save(b));
            move |grad: &Tensor, needs: &[bool]| {
                let over_b = || grad.mul(value)?.div(&b.get()?);
                let of_b = || over_b()?.mul(&a.get()?)?.div(&b.get()?)?.neg();
                Ok(vec![
                    Some(grad.clone()),
                    needs[1].then(over_b).transpose()?,
                    needs[2].then(of_b).transpose()?,
                ])
            }
        }))
    }
}
