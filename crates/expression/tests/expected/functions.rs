//! The functions of the table, by name.

use expression::ComputeType::{self, Bool, F32, F64, I32, I64};
use expression::{Expression, GradientOperand, Value, elementwise};

pub(crate) struct Function {
    pub(crate) expression: Expression,
    /// The relative error that is allowed.
    pub(crate) tolerance: f64,
}

/// A function of floats; `None` if the name is none of them.
pub(crate) fn float(name: &str) -> Option<Function> {
    let expression = unary(name).or_else(|| binary(name)).or_else(|| conversion(name))?;
    let tolerance = match name {
        // PyTorch's sixth is one of single precision.
        "hardsigmoid" => 1e-7,
        // Series in other orders, and 1 - y² where y is near 1.
        "lgamma" | "digamma" | "trigamma" | "gelu" | "gelu_tanh" | "mish" | "tanh"
        | "tanhshrink" | "sinc" => 1e-9,
        _ => 2e-14,
    };
    Some(Function { expression, tolerance })
}

fn unary(name: &str) -> Option<Expression> {
    let f = smooth(name).or_else(|| with_kinks(name))?;
    Some(elementwise([F64], |[x]| f(x)))
}

type Unary = for<'t> fn(Value<'t>) -> Value<'t>;
type Binary = for<'t> fn(Value<'t>, Value<'t>) -> Value<'t>;

fn smooth(name: &str) -> Option<Unary> {
    Some(match name {
        "neg" => |x| -x,
        "sqrt" => |x| x.sqrt(),
        "rsqrt" => |x| x.rsqrt(),
        "exp" => |x| x.exp(),
        "exp2" => |x| x.exp2(),
        "expm1" => |x| x.expm1(),
        "log" => |x| x.log(),
        "log2" => |x| x.log2(),
        "log10" => |x| x.log10(),
        "log1p" => |x| x.log1p(),
        "sin" => |x| x.sin(),
        "cos" => |x| x.cos(),
        "tan" => |x| x.tan(),
        "asin" => |x| x.asin(),
        "acos" => |x| x.acos(),
        "atan" => |x| x.atan(),
        "sinh" => |x| x.sinh(),
        "cosh" => |x| x.cosh(),
        "tanh" => |x| x.tanh(),
        "asinh" => |x| x.asinh(),
        "acosh" => |x| x.acosh(),
        "atanh" => |x| x.atanh(),
        "sigmoid" => |x| x.sigmoid(),
        "erf" => |x| x.erf(),
        "erfc" => |x| x.erfc(),
        "erfinv" => |x| x.erfinv(),
        "lgamma" => |x| x.lgamma(),
        "digamma" => |x| x.digamma(),
        "trigamma" => |x| x.trigamma(),
        "square" => |x| x.square(),
        "reciprocal" => |x| x.reciprocal(),
        "deg2rad" => |x| x.deg2rad(),
        "rad2deg" => |x| x.rad2deg(),
        "gelu" => |x| x.gelu(),
        "gelu_tanh" => |x| x.gelu_tanh(),
        "silu" => |x| x.silu(),
        "mish" => |x| x.mish(),
        "logsigmoid" => |x| x.logsigmoid(),
        "tanhshrink" => |x| x.tanhshrink(),
        "logit" => |x| x.logit(None),
        "pow_3" => |x| x.powf(3.0),
        "pow_half" => |x| x.powf(0.5),
        "pow_minus_half" => |x| x.powf(-0.5),
        "pow_minus_1" => |x| x.powf(-1.0),
        "pow_minus_2" => |x| x.powf(-2.0),
        "pow_2_5" => |x| x.powf(2.5),
        "pow_0" => |x| x.powf(0.0),
        _ => return None,
    })
}

fn with_kinks(name: &str) -> Option<Unary> {
    Some(match name {
        "abs" => |x| x.abs(),
        "floor" => |x| x.floor(),
        "ceil" => |x| x.ceil(),
        "round" => |x| x.round(),
        "trunc" => |x| x.trunc(),
        "sign" => |x| x.sign(),
        "frac" => |x| x.frac(),
        "relu" => |x| x.relu(),
        "sinc" => |x| x.sinc(),
        "nan_to_num" => |x| x.nan_to_num(0.0, f64::MAX, f64::MIN),
        "logit_eps" => |x| x.logit(Some(0.1)),
        "relu6" => |x| x.relu6(),
        "hardtanh" => |x| x.hardtanh(-0.5, 2.0),
        "leaky_relu" => |x| x.leaky_relu(0.125),
        "threshold" => |x| x.threshold(0.5, 3.0),
        "softplus" => |x| x.softplus(2.0, 20.0),
        "elu" => |x| x.elu(0.75, 1.0, 1.0),
        "selu" => |x| x.selu(),
        "celu" => |x| x.celu(1.5),
        "hardsigmoid" => |x| x.hardsigmoid(),
        "hardswish" => |x| x.hardswish(),
        "softsign" => |x| x.softsign(),
        "softshrink" => |x| x.softshrink(0.5),
        "hardshrink" => |x| x.hardshrink(0.5),
        "clamp" => |x| x.clamp(-0.5, 2.0),
        "isnan" => |x| x.isnan(),
        "isinf" => |x| x.isinf(),
        "isfinite" => |x| x.isfinite(),
        "isposinf" => |x| x.isposinf(),
        "isneginf" => |x| x.isneginf(),
        "signbit" => |x| x.signbit(),
        _ => return None,
    })
}

fn binary(name: &str) -> Option<Expression> {
    let f: Binary = match name {
        "add" => |a, b| a + b,
        "sub" => |a, b| a - b,
        "mul" => |a, b| a * b,
        "div" => |a, b| a / b,
        "remainder" => |a, b| a.remainder(b),
        "fmod" => |a, b| a.fmod(b),
        "pow" => |a, b| a.pow(b),
        "atan2" => |a, b| a.atan2(b),
        "hypot" => |a, b| a.hypot(b),
        "copysign" => |a, b| a.copysign(b),
        "maximum" => |a, b| a.maximum(b),
        "minimum" => |a, b| a.minimum(b),
        "fmax" => |a, b| a.fmax(b),
        "fmin" => |a, b| a.fmin(b),
        "logaddexp" => |a, b| a.logaddexp(b),
        "logaddexp2" => |a, b| a.logaddexp2(b),
        "xlogy" => |a, b| a.xlogy(b),
        "xlog1py" => |a, b| a.xlog1py(b),
        "lerp" => |a, b| a.lerp(b, 0.25),
        "where" => |a, b| a.gt(b).select(a * 2, b * 3),
        "floor_divide" => |a, b| a.floor_divide(b),
        "nextafter" => |a, b| a.nextafter(b),
        "heaviside" => |a, b| a.heaviside(b),
        "eq" => |a, b| a.eq(b),
        "ne" => |a, b| a.ne(b),
        "lt" => |a, b| a.lt(b),
        "le" => |a, b| a.le(b),
        "gt" => |a, b| a.gt(b),
        "ge" => |a, b| a.ge(b),
        "logical_and" => |a, b| a.logical_and(b),
        "logical_xor" => |a, b| a.logical_xor(b),
        _ => return None,
    };
    Some(elementwise([F64; 2], |[a, b]| f(a, b)))
}

fn conversion(name: &str) -> Option<Expression> {
    let target = match name {
        "to_float32" => F32,
        "to_int64" => I64,
        "to_bool" => Bool,
        _ => return None,
    };
    Some(elementwise([F64], |[x]| x.convert(target)))
}

/// A function of integers; `None` if the name is none of them.
pub(crate) fn integer(name: &str) -> Option<Expression> {
    let (of, name) = name.split_once('.')?;
    let of = if of == "i32" { I32 } else { I64 };
    let unary: Option<Unary> = match name {
        "abs" => Some(|x| x.abs()),
        "neg" => Some(|x| -x),
        "not" => Some(|x| !x),
        "sign" => Some(|x| x.sign()),
        _ => None,
    };
    if let Some(f) = unary {
        return Some(elementwise([of], |[x]| f(x)));
    }
    let f: Binary = match name {
        "add" => |a, b| a + b,
        "sub" => |a, b| a - b,
        "mul" => |a, b| a * b,
        "pow" => |a, b| a.pow(b),
        "maximum" => |a, b| a.maximum(b),
        "minimum" => |a, b| a.minimum(b),
        "and" => |a, b| a & b,
        "or" => |a, b| a | b,
        "xor" => |a, b| a ^ b,
        "shl" => |a, b| a << b,
        "shr" => |a, b| a >> b,
        "gcd" => |a, b| a.gcd(b),
        "lcm" => |a, b| a.lcm(b),
        "div_trunc" => |a, b| a.div_trunc(b),
        "floor_divide" => |a, b| a.floor_divide(b),
        "remainder" => |a, b| a.remainder(b),
        "fmod" => |a, b| a.fmod(b),
        _ => return None,
    };
    Some(elementwise([of; 2], |[a, b]| f(a, b)))
}

/// A result as a number.
pub(crate) fn number(expression: &Expression, operands: &[u64], output: usize) -> f64 {
    let bits = expression.evaluate(operands, &[])[output];
    match expression.type_of(expression.outputs()[output]) {
        F64 => f64::from_bits(bits),
        F32 => f64::from(f32::from_bits(bits as u32)),
        ComputeType::I64 => bits as i64 as f64,
        I32 | Bool => bits as f64,
    }
}

/// The gradients by all operands, of a gradient of 1 by the result.
pub(crate) fn gradients(expression: &Expression, operands: &[u64]) -> Vec<f64> {
    let gradient = expression.gradient(&vec![true; operands.len()]);
    let given: Vec<u64> = gradient
        .operands
        .iter()
        .map(|operand| match *operand {
            GradientOperand::Input(number) => operands[number],
            GradientOperand::Output(number) => expression.evaluate(operands, &[])[number],
            GradientOperand::Cotangent(_) => 1.0_f64.to_bits(),
        })
        .collect();
    let mut gradients = vec![0.0; operands.len()];
    for (output, &input) in gradient.inputs.iter().enumerate() {
        gradients[input] = number(&gradient.expression, &given, output);
    }
    gradients
}
