//! Operations element by element, and conversions of dtypes.

use tensor::{DType, Scalar, Tensor};

use super::{Call, Row, give, row};
use crate::argument::{Argument, dtype};
use crate::failure::Failure;

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
    "maximum" maximum;
    "minimum" minimum;
    "remainder" remainder;
    "floor_divide" floor_divide;
    "eq" eq;
    "ne|not_equal" ne;
    "lt|less" lt;
    "le|less_equal" le;
    "gt|greater" gt;
    "ge|greater_equal" ge;
    "logical_and" logical_and;
    "logical_or" logical_or;
    "logical_xor" logical_xor;
};

pub(super) static OTHERS: &[Row] = &[
    row("add", "x, other, *, alpha", |c| {
        give(c.x()?.add_scaled(c.get("other")?, c.scalar("alpha")?))
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
        give(c.x()?.add_scaled_(c.get("other")?, c.scalar("alpha")?))
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

/// Rows of conversions to a dtype.
macro_rules! conversions {
    ($($name:literal $dtype:literal;)*) => {
        &[$(row($name, "x, *, memory_format=None", |c| {
            preserving(c)?;
            give(c.x()?.to(dtype($dtype)?))
        })),*]
    };
}

pub(super) static CONVERSIONS: &[Row] = conversions! {
    "bfloat16" "bf16";
    "bool" "bool";
    "byte" "u8";
    "char" "i8";
    "double" "f64";
    "float" "f32";
    "half" "f16";
    "int" "i32";
    "long" "i64";
    "short" "i16";
};

pub(super) static COPIES: &[Row] = &[
    row("to", "x, dtype", |c| give(c.x()?.to(c.get::<DType>("dtype")?))),
    row("to", "x, other", |c| give(c.x()?.to(c.get::<&Tensor>("other")?.dtype()))),
    row("clone", "x, *, memory_format=None", |c| {
        preserving(c)?;
        give(c.x()?.clone_data())
    }),
    row("contiguous", "x, *, memory_format=None", |c| {
        preserving(c)?;
        give(c.x()?.contiguous())
    }),
    row("item", "x", |c| match c.x()?.dtype() {
        DType::Bool => give(c.x()?.item::<bool>()),
        dtype if dtype.is_float() => give(c.x()?.item::<f64>().map(Scalar::Float)),
        _ => give(c.x()?.item::<i64>().map(Scalar::Int)),
    }),
    row("detach", "x", |c| give(Ok(c.x()?.detach()))),
];

/// Refuses memory formats other than the two by which the dimensions keep their order.
fn preserving(c: &Call) -> Result<(), Failure> {
    match c.get::<&Argument>("memory_format")? {
        Argument::None => Ok(()),
        Argument::MemoryFormat(name)
            if matches!(&**name, "contiguous_format" | "preserve_format") =>
        {
            Ok(())
        }
        _ => Err(Failure::Unsupported("this memory format".to_owned())),
    }
}
