//! The derivatives of the primitives.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

use crate::{ComputeType, Primitive, Value};

/// One application of a primitive.
pub(super) struct Step<'t> {
    pub(super) primitive: Primitive,
    pub(super) operands: Vec<Value<'t>>,
    /// The result: that of the whole function if it is one, so that it need not be computed again.
    pub(super) result: Value<'t>,
    /// Whether it is one.
    pub(super) is_output: bool,
    /// For each operand whether it is a constant or scalar.
    pub(super) is_fixed: Vec<bool>,
    /// The operands' type.
    pub(super) of: ComputeType,
}

/// For a minimum or maximum with a bound that is a constant or a scalar: the condition under which
/// the operand gets the gradient, which is that it is within the bound and not equal to it. The
/// result says it as well as the operand, but PyTorch's `clamp` saves the operand: a program may
/// write to the result afterwards.
pub(super) fn mask<'t>(step: &Step<'t>, position: usize) -> Option<Value<'t>> {
    let bound = step.operands.get(1 - position).copied()?;
    let value = step.operands[position];
    match step.primitive {
        _ if !*step.is_fixed.get(1 - position)? => None,
        Primitive::Max => Some(value.gt(bound)),
        Primitive::Min => Some(value.lt(bound)),
        _ => None,
    }
}

/// The part of the gradient by the operand at a position; `None` if it is zero everywhere.
pub(super) fn gradient<'t>(step: &Step<'t>, position: usize, grad: Value<'t>) -> Option<Value<'t>> {
    match *step.operands {
        [a] => unary(step, a, grad),
        [a, b] => binary(step, position, [a, b], grad),
        _ => None,
    }
}

fn unary<'t>(step: &Step<'t>, x: Value<'t>, grad: Value<'t>) -> Option<Value<'t>> {
    use Primitive::*;
    let y = step.result;
    Some(match step.primitive {
        Neg => -grad,
        Abs => grad * x.sign(),
        Sqrt => grad / (y * 2.0),
        Rsqrt => grad * -0.5 * (y * y * y),
        Exp => grad * y,
        Exp2 => grad * y * LN_2,
        // The sum loses digits for large negative operands, but then the operand is not needed.
        Expm1 if step.is_output => grad * (y + 1.0),
        Expm1 => grad * x.exp(),
        Log => grad / x,
        Log2 => grad / (x * LN_2),
        Log10 => grad / (x * LN_10),
        Log1p => grad / (x + 1.0),
        Sin => grad * x.cos(),
        Cos => -(grad * x.sin()),
        Tan => grad * (1.0 + y * y),
        Asin => grad * (1.0 - x * x).rsqrt(),
        Acos => -(grad * (1.0 - x * x).rsqrt()),
        Atan => grad / (x * x + 1.0),
        Sinh => grad * x.cosh(),
        Cosh => grad * x.sinh(),
        Tanh => grad * (1.0 - y * y),
        Asinh => grad * (x * x + 1.0).rsqrt(),
        Acosh => grad * (x * x - 1.0).rsqrt(),
        Atanh => grad / (1.0 - x * x),
        Sigmoid => grad * ((1.0 - y) * y),
        Erf => grad * ((-(x * x)).exp() * FRAC_2_SQRT_PI),
        Erfc => grad * ((-(x * x)).exp() * -FRAC_2_SQRT_PI),
        Erfinv => grad * ((y * y).exp() * (1.0 / FRAC_2_SQRT_PI)),
        Lgamma => grad * x.digamma(),
        Digamma => grad * x.trigamma(),
        Convert(_) => grad.convert(step.of),
        _ => return None,
    })
}

fn binary<'t>(
    step: &Step<'t>,
    position: usize,
    [a, b]: [Value<'t>; 2],
    grad: Value<'t>,
) -> Option<Value<'t>> {
    use Primitive::*;
    let y = step.result;
    Some(match (step.primitive, position) {
        (Add, _) | (Sub | Remainder | Fmod, 0) => grad,
        (Sub, _) => -grad,
        (Mul, 0) => grad * b,
        (Mul, _) => grad * a,
        (Div, 0) => grad / b,
        (Div, _) if a.is_one() => -(grad * (y * y)),
        (Div, _) => -(grad * (a / b / b)),
        (Remainder, _) => -(grad * a.floor_divide(b)),
        (Fmod, _) => -(grad * (a / b).trunc()),
        (Pow, 0) => power_of_base([a, b], grad),
        (Pow, _) => (a.eq(0.0) & b.ge(0.0)).select(0.0, grad * (y * a.log())),
        (Atan2, 0) => over_square_of_length(grad * b, [a, b]),
        (Atan2, _) => -over_square_of_length(grad * a, [a, b]),
        (Hypot, 0) => grad * (a / y),
        (Hypot, _) => grad * (b / y),
        // The gradients by parameters are integrals that nobody asks for, and left out as in PyTorch.
        (Igamma, 1) => grad * density_of_gamma(a, b),
        (Igammac, 1) => -(grad * density_of_gamma(a, b)),
        (Copysign, 0) => a.eq(0.0).select(0.0, grad * (y / a)),
        (Max, _) => shared(a, b, if position == 0 { a.lt(b) } else { b.lt(a) }, grad),
        (Min, _) => shared(a, b, if position == 0 { a.gt(b) } else { b.gt(a) }, grad),
        (Fmax, 0) => shared(a, b, !(a.ge(b) | b.isnan()), grad),
        (Fmax, _) => shared(a, b, a.gt(b) | b.isnan(), grad),
        (Fmin, 0) => shared(a, b, !(a.le(b) | b.isnan()), grad),
        (Fmin, _) => shared(a, b, a.lt(b) | b.isnan(), grad),
        _ => return None,
    })
}

/// `x^(a - 1) e^-x / gamma(a)`
fn density_of_gamma<'t>(a: Value<'t>, x: Value<'t>) -> Value<'t> {
    ((a - 1.0) * x.log() - x - a.lgamma()).exp()
}

/// A gradient of the angle of a point, 0 at the origin.
fn over_square_of_length<'t>(gradient: Value<'t>, [a, b]: [Value<'t>; 2]) -> Value<'t> {
    let square = a * a + b * b;
    square.eq(0.0).select(0.0, gradient / square)
}

/// The gradient of the base of a power: 0 for the exponent 0, also at the base 0.
fn power_of_base<'t>([a, b]: [Value<'t>; 2], grad: Value<'t>) -> Value<'t> {
    let below = match b.constant_f64() {
        Some(exponent) => a.powf(exponent - 1.0),
        None => a.pow(b - 1.0),
    };
    let gradient = grad * (b * below);
    match b.constant_f64() {
        Some(exponent) if exponent != 0.0 => gradient,
        _ => b.eq(0.0).select(0.0, gradient),
    }
}

/// The gradient of one of two equal operands: half of it. None is `lost` if one is NaN.
fn shared<'t>(a: Value<'t>, b: Value<'t>, lost: Value<'t>, grad: Value<'t>) -> Value<'t> {
    lost.select(0.0, a.eq(b).select(grad * 0.5, grad))
}
