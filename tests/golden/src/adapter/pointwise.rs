//! Operations element by element, and conversions of dtypes.

use tensor::Tensor;

use super::{Row, give, row};
use crate::argument::Argument;

/// Rows of operations on one tensor, by name and method.
macro_rules! unary {
    ($($names:literal $method:ident;)*) => {
        &[$(row($names, "x", |c| give(c.x()?.$method()))),*]
    };
}

/// Rows of operations on a tensor and a tensor or number.
macro_rules! binary {
    ($($names:literal $method:ident;)*) => {
        &[$(row($names, "x, other", |c| give(c.x()?.$method(c.operand("other")?)))),*]
    };
}

/// Rows of operations on two tensors, which take no number.
macro_rules! of_tensors {
    ($($names:literal $method:ident;)*) => {
        &[$(row($names, "x, other", |c| give(c.x()?.$method(c.get::<&Tensor>("other")?)))),*]
    };
}

pub(super) static UNARY: &[Row] = unary! {
    "abs|absolute" abs;
    "ceil" ceil;
    "cos" cos;
    "erf|special.erf" erf;
    "exp" exp;
    "expm1|special.expm1" expm1;
    "floor" floor;
    "log" log;
    "log1p|special.log1p" log1p;
    "logical_not" logical_not;
    "neg|negative" neg;
    "reciprocal" reciprocal;
    "round" round;
    "rsqrt" rsqrt;
    "sigmoid|nn.functional.sigmoid|special.expit" sigmoid;
    "sign" sign;
    "sin" sin;
    "sqrt" sqrt;
    "square" square;
    "tanh|nn.functional.tanh" tanh;
    "trunc|fix" trunc;
    "relu|nn.functional.relu" relu;
};

pub(super) static BINARY: &[Row] = binary! {
    "add|__radd__" add;
    "sub|subtract" sub;
    "mul|multiply|__rmul__" mul;
    "div|true_divide|divide" div;
    "pow" pow;
    "remainder" remainder;
    "floor_divide" floor_divide;
    "eq" eq;
    "ne|not_equal" ne;
    "lt|less" lt;
    "le|less_equal" le;
    "gt|greater" gt;
    "ge|greater_equal" ge;
};

pub(super) static OF_TENSORS: &[Row] = of_tensors! {
    "maximum" maximum;
    "minimum" minimum;
    "logical_and" logical_and;
    "logical_or" logical_or;
    "logical_xor" logical_xor;
};

pub(super) static OTHERS: &[Row] = &[
    row("add", "x, other, *, alpha", |c| {
        give(c.x()?.add_scaled(c.operand("other")?, c.scalar("alpha")?))
    }),
    row("__rsub__", "x, other", |c| match c.get::<&Argument>("other")? {
        Argument::Tensor(other) => give(other.sub(c.x()?)),
        _ => give(c.scalar("other")? - c.x()?),
    }),
    row("__rpow__", "x, other", |c| give(c.get::<&Tensor>("other")?.pow(c.x()?))),
    row("__rmod__", "x, other", |c| give(c.get::<&Tensor>("other")?.remainder(c.x()?))),
    row("__rdiv__", "x, other", |c| give(c.x()?.reciprocal()?.mul(c.operand("other")?))),
    row("where", "x, condition, other", |c| {
        give(Tensor::where_(c.get("condition")?, c.operand("x")?, c.operand("other")?))
    }),
    row("torch.where", "condition, x, other", |c| {
        give(Tensor::where_(c.get("condition")?, c.operand("x")?, c.operand("other")?))
    }),
    row("clamp|clip", "x, min, max", |c| give(c.x()?.clamp(c.scalar("min")?, c.scalar("max")?))),
    row("lerp", "x, end, weight", |c| give(c.x()?.lerp(c.get("end")?, c.operand("weight")?))),
    row("addcmul", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcmul(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("addcdiv", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcdiv(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("allclose", "x, other, rtol=1e-05, atol=1e-08", |c| {
        give(c.x()?.allclose(c.get("other")?, c.get("rtol")?, c.get("atol")?))
    }),
];

/// Rows of operations in place on a tensor and a tensor or number.
pub(super) static IN_PLACE: &[Row] = binary! {
    "add_" add_;
    "sub_|subtract_" sub_;
    "mul_|multiply_" mul_;
    "div_|true_divide_|divide_" div_;
};

pub(super) static OTHERS_IN_PLACE: &[Row] = &[
    row("add_", "x, other, *, alpha", |c| {
        give(c.x()?.add_scaled_(c.operand("other")?, c.scalar("alpha")?))
    }),
    row("addcmul_", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcmul_(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("addcdiv_", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcdiv_(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("fill_", "x, value", |c| give(c.x()?.fill_(c.scalar("value")?))),
    row("zero_", "x", |c| give(c.x()?.zero_())),
    row("copy_", "x, source", |c| give(c.x()?.copy_(c.get("source")?))),
];
