//! Elementwise functions of one tensor.

use super::operand::TensorOrScalar;
use super::pointwise::{Promotion, pointwise};
use crate::autograd::{SavedTensor, record};
use crate::dispatch::abi::Elementwise;
use crate::dispatch::{HostKernels, Operator, Signature};
use crate::host::{binary, unary};
use crate::{DType, Result, Tensor};

/// An elementwise function of one tensor, with its derivative.
struct Unary {
    operator: Operator<Elementwise<2>>,
    promotion: Promotion,
    derivative: UnaryDerivative,
}

/// The derivative: computes the gradient of the input from that of the output.
enum UnaryDerivative {
    /// The gradient depends on the input, which is saved.
    OfInput(fn(&Tensor, &Tensor) -> Result<Tensor>),
    /// The gradient depends on the output, which is saved.
    OfOutput(fn(&Tensor, &Tensor) -> Result<Tensor>),
    /// The gradient depends on nothing else, so nothing is saved.
    Linear(fn(&Tensor) -> Result<Tensor>),
}
use UnaryDerivative::{Linear, OfInput, OfOutput};

/// A function that is defined for integers too.
const fn any(
    name: &'static str,
    kernels: HostKernels<Elementwise<2>>,
    derivative: UnaryDerivative,
) -> Unary {
    Unary { operator: Operator::new(name, kernels), promotion: Promotion::Common, derivative }
}

/// A function of floats; integers are converted to the default dtype.
const fn float(
    name: &'static str,
    kernels: HostKernels<Elementwise<2>>,
    derivative: UnaryDerivative,
) -> Unary {
    Unary { operator: Operator::new(name, kernels), promotion: Promotion::Float, derivative }
}

const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

static NEG: Unary = any("neg", unary::neg, Linear(|grad| grad.neg()));
static ABS: Unary = any("abs", unary::abs, OfInput(|grad, x| grad.mul(&x.sign()?)));
static SIGN: Unary = any("sign", unary::sign, Linear(Tensor::zeros_like));
static SQUARE: Unary = any("square", unary::square, OfInput(|grad, x| grad.mul(x)?.mul(2)));
static RELU: Unary = any("relu", unary::relu, OfOutput(relu_backward));
static FLOOR: Unary = any("floor", unary::floor, Linear(Tensor::zeros_like));
static CEIL: Unary = any("ceil", unary::ceil, Linear(Tensor::zeros_like));
static ROUND: Unary = any("round", unary::round, Linear(Tensor::zeros_like));
static TRUNC: Unary = any("trunc", unary::trunc, Linear(Tensor::zeros_like));
static EXP: Unary = float("exp", unary::exp, OfOutput(|grad, y| grad.mul(y)));
static EXPM1: Unary = float("expm1", unary::expm1, OfOutput(|grad, y| grad.mul(&y.add(1)?)));
static LOG: Unary = float("log", unary::log, OfInput(|grad, x| grad.div(x)));
static LOG1P: Unary = float("log1p", unary::log1p, OfInput(|grad, x| grad.div(&x.add(1)?)));
static SQRT: Unary = float("sqrt", unary::sqrt, OfOutput(|grad, y| grad.div(&y.mul(2)?)));
static RSQRT: Unary =
    float("rsqrt", unary::rsqrt, OfOutput(|grad, y| grad.mul(&y.square()?.mul(y)?)?.mul(-0.5)));
static RECIPROCAL: Unary =
    float("reciprocal", unary::reciprocal, OfOutput(|grad, y| grad.mul(&y.square()?)?.neg()));
static SIN: Unary = float("sin", unary::sin, OfInput(|grad, x| grad.mul(&x.cos()?)));
static COS: Unary = float("cos", unary::cos, OfInput(|grad, x| grad.mul(&x.sin()?)?.neg()));
static TANH: Unary =
    float("tanh", unary::tanh, OfOutput(|grad, y| grad.sub(&grad.mul(&y.square()?)?)));
static SIGMOID: Unary =
    float("sigmoid", unary::sigmoid, OfOutput(|grad, y| grad.mul(&y.sub(&y.square()?)?)));
static ERF: Unary = float(
    "erf",
    unary::erf,
    OfInput(|grad, x| grad.mul(&x.square()?.neg()?.exp()?)?.mul(TWO_OVER_ROOT_PI)),
);

static LOGICAL_NOT: Operator<Elementwise<2>> =
    Operator::new("logical_not", unary::logical_not).with_signature(Signature::Gives(DType::Bool));

/// The gradient of relu: `grad` where its output is positive.
static RELU_BACKWARD: Operator<Elementwise<3>> =
    Operator::new("relu_backward", binary::relu_backward);

#[track_caller]
fn relu_backward(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    let operands = [grad.into(), y.into()];
    let output = pointwise(&RELU_BACKWARD, Promotion::Common, ["grad", "self"], operands)?;
    // It is linear in `grad`, and constant in `y` but for the step.
    Ok(record("relu_backward", [grad], output, |saving| {
        let y = saving.save(y);
        move |grad: &Tensor, _| Ok([Some(relu_backward(grad, &y.get()?)?)])
    }))
}

impl Unary {
    #[track_caller]
    fn apply(&'static self, x: &Tensor) -> Result<Tensor> {
        let output =
            pointwise(&self.operator, self.promotion, ["self"], [TensorOrScalar::Tensor(x)])?;
        Ok(record(self.operator.name(), [x], output, |saving| {
            let saved = match self.derivative {
                OfInput(_) => Some(saving.save(x)),
                OfOutput(_) => Some(saving.save_output()),
                Linear(_) => None,
            };
            move |grad: &Tensor, _| Ok([Some(self.derivative.apply(grad, saved.as_ref())?)])
        }))
    }

    /// [`Unary::apply`] for rounding functions, which leave integers as they are.
    #[track_caller]
    fn apply_to_fractions(&'static self, x: &Tensor) -> Result<Tensor> {
        if x.dtype().is_integer() { x.clone_data() } else { self.apply(x) }
    }
}

impl UnaryDerivative {
    #[track_caller]
    fn apply(&self, grad: &Tensor, saved: Option<&SavedTensor>) -> Result<Tensor> {
        match (self, saved) {
            (OfInput(derivative) | OfOutput(derivative), Some(saved)) => {
                derivative(grad, &saved.get()?)
            }
            (Linear(derivative), _) => derivative(grad),
            (OfInput(_) | OfOutput(_), None) => unreachable!("it was saved by `Unary::apply`"),
        }
    }
}

/// Elementwise functions. The result has the shape and the device of the tensor. A function that is
/// defined for floats only converts other dtypes to the default dtype. On CUDA the work is
/// enqueued.
///
/// All fail with [`Error::UnsupportedDType`](crate::Error::UnsupportedDType) for a dtype that the
/// function does not have, or if memory or the runtime fails.
impl Tensor {
    /// `-x`
    #[track_caller]
    pub fn neg(&self) -> Result<Tensor> {
        NEG.apply(self)
    }

    /// The absolute value.
    #[track_caller]
    pub fn abs(&self) -> Result<Tensor> {
        ABS.apply(self)
    }

    /// -1, 0 or 1; 0 for NaN.
    #[track_caller]
    pub fn sign(&self) -> Result<Tensor> {
        SIGN.apply(self)
    }

    /// `x * x`
    #[track_caller]
    pub fn square(&self) -> Result<Tensor> {
        SQUARE.apply(self)
    }

    /// `max(x, 0)`; NaN for NaN.
    #[track_caller]
    pub fn relu(&self) -> Result<Tensor> {
        RELU.apply(self)
    }

    /// The nearest whole number that is not above.
    #[track_caller]
    pub fn floor(&self) -> Result<Tensor> {
        FLOOR.apply_to_fractions(self)
    }

    /// The nearest whole number that is not below.
    #[track_caller]
    pub fn ceil(&self) -> Result<Tensor> {
        CEIL.apply_to_fractions(self)
    }

    /// The nearest whole number; halves go to the even neighbour.
    #[track_caller]
    pub fn round(&self) -> Result<Tensor> {
        ROUND.apply_to_fractions(self)
    }

    /// The nearest whole number towards zero.
    #[track_caller]
    pub fn trunc(&self) -> Result<Tensor> {
        TRUNC.apply_to_fractions(self)
    }

    /// e to the power of x.
    #[track_caller]
    pub fn exp(&self) -> Result<Tensor> {
        EXP.apply(self)
    }

    /// `exp(x) - 1`, exact near zero.
    #[track_caller]
    pub fn expm1(&self) -> Result<Tensor> {
        EXPM1.apply(self)
    }

    /// The natural logarithm.
    #[track_caller]
    pub fn log(&self) -> Result<Tensor> {
        LOG.apply(self)
    }

    /// `log(1 + x)`, exact near zero.
    #[track_caller]
    pub fn log1p(&self) -> Result<Tensor> {
        LOG1P.apply(self)
    }

    /// The square root; NaN below zero.
    #[track_caller]
    pub fn sqrt(&self) -> Result<Tensor> {
        SQRT.apply(self)
    }

    /// `1 / sqrt(x)`
    #[track_caller]
    pub fn rsqrt(&self) -> Result<Tensor> {
        RSQRT.apply(self)
    }

    /// `1 / x`
    #[track_caller]
    pub fn reciprocal(&self) -> Result<Tensor> {
        RECIPROCAL.apply(self)
    }

    /// The sine of x in radians.
    #[track_caller]
    pub fn sin(&self) -> Result<Tensor> {
        SIN.apply(self)
    }

    /// The cosine of x in radians.
    #[track_caller]
    pub fn cos(&self) -> Result<Tensor> {
        COS.apply(self)
    }

    /// The hyperbolic tangent.
    #[track_caller]
    pub fn tanh(&self) -> Result<Tensor> {
        TANH.apply(self)
    }

    /// `1 / (1 + exp(-x))`
    #[track_caller]
    pub fn sigmoid(&self) -> Result<Tensor> {
        SIGMOID.apply(self)
    }

    /// The error function.
    #[track_caller]
    pub fn erf(&self) -> Result<Tensor> {
        ERF.apply(self)
    }

    /// Whether each element is zero; of dtype `Bool`.
    #[track_caller]
    pub fn logical_not(&self) -> Result<Tensor> {
        pointwise(&LOGICAL_NOT, Promotion::Common, ["self"], [self.into()])
    }
}
