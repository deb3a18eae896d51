//! Activations with parameters, and choices between elements.

use tensor::Tensor;

use super::rows::{AdapterRow, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("nn.functional.gelu", "x, *, approximate='none'", |c| match c.get("approximate")? {
        "none" => give(c.x()?.gelu()),
        "tanh" => give(c.x()?.gelu_tanh()),
        other => Err(CaseFailure::Unsupported(format!("the approximation {other}"))),
    }),
    row("nn.functional.glu", "x, dim=-1", |c| give(c.x()?.glu(c.get("dim")?))),
    row("nn.functional.prelu", "x, weight", |c| give(c.x()?.prelu(c.get("weight")?))),
    row("where", "x, condition, other", |c| {
        give(Tensor::where_cond(c.get("condition")?, c.operand("x")?, c.operand("other")?))
    }),
    row("torch.where", "condition, x, other", |c| {
        give(Tensor::where_cond(c.get("condition")?, c.operand("x")?, c.operand("other")?))
    }),
    row("masked_fill", "x, mask, value", |c| {
        give(c.x()?.masked_fill(c.get("mask")?, c.operand("value")?))
    }),
    row("masked_fill_", "x, mask, value", |c| {
        give(c.x()?.masked_fill_(c.get("mask")?, c.operand("value")?))
    }),
    row("copy_", "x, source", |c| give(c.x()?.copy_(c.get("source")?))),
];

/// Rows of a function of one number, and of its form in place.
macro_rules! of_one {
    ($($name:literal $in_place:literal $signature:literal $parameter:literal $method:ident $method_:ident;)*) => {
        &[$(
            row($name, $signature, |c| give(c.x()?.$method(c.scalar($parameter)?))),
            row($in_place, $signature, |c| give(c.x()?.$method_(c.scalar($parameter)?))),
        )*]
    };
}

pub(super) static OF_ONE: &[AdapterRow] = of_one! {
    "nn.functional.leaky_relu" "nn.functional.leaky_relu_" "x, negative_slope=0.01" "negative_slope" leaky_relu leaky_relu_;
    "nn.functional.elu" "nn.functional.elu_" "x, alpha=1.0" "alpha" elu elu_;
    "nn.functional.celu" "nn.functional.celu_" "x, alpha=1.0" "alpha" celu celu_;
    "nn.functional.softshrink" "nn.functional.softshrink_" "x, lambd=0.5" "lambd" softshrink softshrink_;
    "nn.functional.hardshrink" "nn.functional.hardshrink_" "x, lambd=0.5" "lambd" hardshrink hardshrink_;
};

/// Rows of a function of two numbers, and of its form in place.
macro_rules! of_two {
    ($($name:literal $in_place:literal $signature:literal $first:literal $second:literal $method:ident $method_:ident;)*) => {
        &[$(
            row($name, $signature, |c| {
                give(c.x()?.$method(c.scalar($first)?, c.scalar($second)?))
            }),
            row($in_place, $signature, |c| {
                give(c.x()?.$method_(c.scalar($first)?, c.scalar($second)?))
            }),
        )*]
    };
}

pub(super) static OF_TWO: &[AdapterRow] = of_two! {
    "nn.functional.hardtanh" "nn.functional.hardtanh_" "x, min_val=-1.0, max_val=1.0" "min_val" "max_val" hardtanh hardtanh_;
    "nn.functional.threshold" "nn.functional.threshold_" "x, threshold, value" "threshold" "value" threshold threshold_;
    "nn.functional.softplus" "nn.functional.softplus_" "x, beta=1.0, threshold=20.0" "beta" "threshold" softplus softplus_;
};
