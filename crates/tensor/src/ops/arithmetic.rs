//! Elementwise functions of two operands: arithmetic, powers, extremes.

use smallvec::SmallVec;

use super::compare;
use super::operand::{SavedOperand, TensorOrScalar};
use super::pointwise::{Promotion, pointwise, pointwise_in_place};
use crate::autograd::{InPlace, Saving, record};
use crate::dispatch::abi::Elementwise;
use crate::dispatch::{HostKernels, Operator};
use crate::host::binary;
use crate::{DType, Result, Tensor};

/// An elementwise function of two operands, with its derivatives.
pub(super) struct Binary {
    operator: Operator<Elementwise<3>>,
    promotion: Promotion,
    left: BinaryDerivative,
    right: BinaryDerivative,
}

/// The derivative with respect to one operand: computes its gradient from that of the output.
enum BinaryDerivative {
    /// The gradient depends on both operands, which are saved.
    OfOperands(fn(&Tensor, TensorOrScalar<'_>, TensorOrScalar<'_>) -> Result<Tensor>),
    /// The gradient depends on nothing else, so nothing is saved.
    Linear(fn(&Tensor) -> Result<Tensor>),
    /// The function is a step function, so its result is a constant for autograd.
    Constant,
}
use BinaryDerivative::{Constant, Linear, OfOperands};

const fn binary(
    name: &'static str,
    kernels: HostKernels<Elementwise<3>>,
    promotion: Promotion,
    left: BinaryDerivative,
    right: BinaryDerivative,
) -> Binary {
    Binary { operator: Operator::new(name, kernels), promotion, left, right }
}

pub(super) static ADD: Binary =
    binary("add", binary::add, Promotion::Common, Linear(same), Linear(same));
pub(super) static SUB: Binary =
    binary("sub", binary::sub, Promotion::Common, Linear(same), Linear(|grad| grad.neg()));
pub(super) static MUL: Binary = binary(
    "mul",
    binary::mul,
    Promotion::Common,
    OfOperands(|grad, _, b| grad.mul(b)),
    OfOperands(|grad, a, _| grad.mul(a)),
);
pub(super) static DIV: Binary = binary(
    "div",
    binary::div,
    Promotion::Float,
    OfOperands(|grad, _, b| grad.div(b)),
    OfOperands(|grad, a, b| grad.mul(a)?.div(b)?.div(b)?.neg()),
);
pub(super) static POW: Binary = binary(
    "pow",
    binary::pow,
    Promotion::Common,
    OfOperands(pow_base_backward),
    OfOperands(pow_exponent_backward),
);
static MAXIMUM: Binary = binary(
    "maximum",
    binary::maximum,
    Promotion::Common,
    OfOperands(chosen),
    OfOperands(|grad, a, b| chosen(grad, b, a)),
);
static MINIMUM: Binary = binary(
    "minimum",
    binary::minimum,
    Promotion::Common,
    OfOperands(|grad, a, b| chosen(grad, b, a)),
    OfOperands(chosen),
);
static REMAINDER: Binary = binary(
    "remainder",
    binary::remainder,
    Promotion::Common,
    Linear(same),
    OfOperands(|grad, a, b| grad.mul(&FLOOR_DIVIDE.apply(a, b)?)?.neg()),
);
static FLOOR_DIVIDE: Binary =
    binary("floor_divide", binary::floor_divide, Promotion::Common, Constant, Constant);

fn same(grad: &Tensor) -> Result<Tensor> {
    Ok(grad.clone())
}

/// `grad * b * a^(b - 1)`, and 0 where b is 0, even where a is 0 too.
#[track_caller]
fn pow_base_backward(
    grad: &Tensor,
    a: TensorOrScalar<'_>,
    b: TensorOrScalar<'_>,
) -> Result<Tensor> {
    match b {
        TensorOrScalar::Scalar(exponent) if exponent.to_f64() == 0.0 => grad.zeros_like(),
        TensorOrScalar::Scalar(exponent) => {
            let power = POW.apply(a, (exponent.to_f64() - 1.0).into())?;
            grad.mul(&power)?.mul(exponent)
        }
        TensorOrScalar::Tensor(exponent) => {
            let power = POW.apply(a, TensorOrScalar::Tensor(&exponent.sub(1)?))?;
            let slope = grad.mul(&power)?.mul(exponent)?;
            Tensor::where_(&exponent.eq(0)?, 0, &slope)
        }
    }
}

/// `grad * a^b * ln(a)`, and 0 where a is 0 and b is not negative.
#[track_caller]
fn pow_exponent_backward(
    grad: &Tensor,
    a: TensorOrScalar<'_>,
    b: TensorOrScalar<'_>,
) -> Result<Tensor> {
    let power = grad.mul(&POW.apply(a, b)?)?;
    let base = match a {
        TensorOrScalar::Tensor(base) => base.clone(),
        TensorOrScalar::Scalar(base) => Tensor::scalar(base, (grad.dtype(), crate::Device::Cpu))?,
    };
    let flat = base.eq(0)?.logical_and(&compare::GE.apply(b, 0.into())?)?;
    Tensor::where_(&flat, 0, &power.mul(&base.log()?)?)
}

/// The gradient of `a` in `maximum(a, b)`: that of the output where `a` is the larger one, and half
/// of it where both are equal.
fn chosen(grad: &Tensor, a: TensorOrScalar<'_>, b: TensorOrScalar<'_>) -> Result<Tensor> {
    let alone = Tensor::where_(&compare::GT.apply(a, b)?, grad, 0)?;
    Tensor::where_(&compare::EQ.apply(a, b)?, &grad.mul(0.5)?, &alone)
}

impl Binary {
    #[track_caller]
    pub(super) fn apply(
        &'static self,
        a: TensorOrScalar<'_>,
        b: TensorOrScalar<'_>,
    ) -> Result<Tensor> {
        let output = pointwise(&self.operator, self.promotion, ["self", "other"], [a, b])?;
        if matches!(self.left, Constant) {
            return Ok(output);
        }
        let name = self.operator.name();
        let save = |saving: &Saving<'_>| {
            let needed = matches!(self.left, OfOperands(_)) || matches!(self.right, OfOperands(_));
            needed.then(|| [SavedOperand::new(saving, a), SavedOperand::new(saving, b)])
        };
        Ok(match (a, b) {
            (TensorOrScalar::Tensor(x), TensorOrScalar::Tensor(y)) => {
                record(name, [x, y], output, |saving| {
                    let saved = save(saving);
                    move |grad: &Tensor, [x, y]| {
                        let gradient = |side: &BinaryDerivative| side.apply(grad, saved.as_ref());
                        Ok([
                            x.then(|| gradient(&self.left)).transpose()?,
                            y.then(|| gradient(&self.right)).transpose()?,
                        ])
                    }
                })
            }
            (TensorOrScalar::Tensor(x), TensorOrScalar::Scalar(_)) => {
                record(name, [x], output, |saving| {
                    let saved = save(saving);
                    move |grad: &Tensor, _| Ok([Some(self.left.apply(grad, saved.as_ref())?)])
                })
            }
            (TensorOrScalar::Scalar(_), TensorOrScalar::Tensor(y)) => {
                record(name, [y], output, |saving| {
                    let saved = save(saving);
                    move |grad: &Tensor, _| Ok([Some(self.right.apply(grad, saved.as_ref())?)])
                })
            }
            (TensorOrScalar::Scalar(_), TensorOrScalar::Scalar(_)) => output,
        })
    }

    #[track_caller]
    fn apply_in_place(
        &'static self,
        name: &'static str,
        target: &Tensor,
        other: TensorOrScalar<'_>,
    ) -> Result<Tensor> {
        let operands = [target.into(), other];
        let others: SmallVec<[&Tensor; 1]> = other.tensor().into_iter().collect();
        let write = InPlace::begin(name, target, &others)?;
        let of_other = other.tensor().is_some() && write.needs(1);
        let saves = matches!(self.left, OfOperands(_)) && write.needs(0)
            || matches!(self.right, OfOperands(_)) && of_other;
        let before = write.copy_if(saves)?;
        pointwise_in_place(name, &self.operator, self.promotion, target, operands)?;
        Ok(write.finish(|saving| {
            let before = before.map(|before| SavedOperand::Tensor(before.save(saving)));
            let saved = before.map(|before| [before, SavedOperand::new(saving, other)]);
            move |grad: &Tensor, needs: &[bool]| {
                let sides = [&self.left, &self.right];
                let gradient = |(side, needed): (&BinaryDerivative, &bool)| {
                    needed.then(|| side.apply(grad, saved.as_ref())).transpose()
                };
                sides.into_iter().zip(needs).map(gradient).collect()
            }
        }))
    }
}

impl BinaryDerivative {
    #[track_caller]
    fn apply(&self, grad: &Tensor, saved: Option<&[SavedOperand; 2]>) -> Result<Tensor> {
        match (self, saved) {
            (OfOperands(derivative), Some([a, b])) => {
                let (a, b) = (a.get()?, b.get()?);
                derivative(grad, a.operand(), b.operand())
            }
            (Linear(derivative), _) => derivative(grad),
            (OfOperands(_), None) | (Constant, _) => {
                unreachable!("`Binary::apply` saves for the former and does not record the latter")
            }
        }
    }
}

/// Arithmetic with another tensor, which is broadcast, or with a number.
///
/// The result has the shape that the operands broadcast to, the dtype that they are promoted to,
/// and lies on their device. Integers wrap around. On CUDA the work is enqueued on the device's
/// current stream, and nothing is waited for. Methods that end in `_` write the tensor's own memory
/// and give the same handle.
///
/// All fail if the operands lie on different devices, if their shapes do not broadcast, or if the
/// operation has no such dtype. Those in place also fail if the tensor or an operand requires
/// gradients, if the result would have another shape than the tensor, or a dtype of a higher
/// category (a float for an integer tensor).
impl Tensor {
    /// `self + other`; for truth values "or".
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.add(&tensor![10.0, 20.0]?)?.to_vec::<f32>()?, [11.0, 22.0, 13.0, 24.0]);
    /// assert_eq!(x.add(1)?.to_vec::<f32>()?, [2.0, 3.0, 4.0, 5.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn add<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        ADD.apply(self.into(), other.into())
    }

    /// `self - other`
    #[track_caller]
    pub fn sub<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        SUB.apply(self.into(), other.into())
    }

    /// `self * other`, element by element; for truth values "and".
    #[track_caller]
    pub fn mul<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        MUL.apply(self.into(), other.into())
    }

    /// `self / other`. The quotient of integers is a float (true division).
    #[track_caller]
    pub fn div<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        DIV.apply(self.into(), other.into())
    }

    /// `self` to the power of `exponent`. An integer to a negative power is 0, except for 1 and -1.
    #[track_caller]
    pub fn pow<'a>(&self, exponent: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        let exponent = exponent.into();
        let dtype =
            Promotion::Common.dtype(&[TensorOrScalar::Tensor(self).typed(), exponent.typed()]);
        if dtype != DType::U8 {
            return POW.apply(self.into(), exponent);
        }
        // Wrapping at 8 bits after the fact gives the same low byte as wrapping all along.
        POW.apply(TensorOrScalar::Tensor(&self.to(DType::I64)?), exponent)?.to(DType::U8)
    }

    /// The larger of the two; NaN if one of them is.
    #[track_caller]
    pub fn maximum<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        MAXIMUM.apply(self.into(), other.into())
    }

    /// The smaller of the two; NaN if one of them is.
    #[track_caller]
    pub fn minimum<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        MINIMUM.apply(self.into(), other.into())
    }

    /// The remainder of `self / other`, with the sign of `other` as in Python. The remainder of an
    /// integer divided by zero is 0.
    #[track_caller]
    pub fn remainder<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        REMAINDER.apply(self.into(), other.into())
    }

    /// `self / other`, rounded down. An integer divided by zero gives 0. No gradient flows through.
    #[track_caller]
    pub fn floor_divide<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        FLOOR_DIVIDE.apply(self.into(), other.into())
    }

    /// [`Tensor::add`] in place.
    #[track_caller]
    pub fn add_<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        ADD.apply_in_place("add_", self, other.into())
    }

    /// [`Tensor::sub`] in place.
    #[track_caller]
    pub fn sub_<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        SUB.apply_in_place("sub_", self, other.into())
    }

    /// [`Tensor::mul`] in place.
    #[track_caller]
    pub fn mul_<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        MUL.apply_in_place("mul_", self, other.into())
    }

    /// [`Tensor::div`] in place; the tensor must be of a floating dtype.
    #[track_caller]
    pub fn div_<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        DIV.apply_in_place("div_", self, other.into())
    }
}
