//! The operation that a case of the expected data names, applied to its inputs.

use tensor::{ReduceDims, Result, RoundingMode, Scalar, Tensor, TensorIndex};

use crate::apply_selected::{COMBINED, SORTED, of_squares};
use crate::apply_special::SPECIAL;
use crate::apply_windows::WINDOWS;
use crate::attention::ATTENTION;
use crate::convolutions::convolve;
use crate::expected::{Case, dtype_named};
use crate::functional::FUNCTIONAL;

/// Runs the case's operation on `x`.
pub(crate) fn apply(case: &Case, x: &[Tensor]) -> Result<Tensor> {
    let op = case.op();
    let one_of =
        |table: Table| table.iter().find(|(name, _)| *name == op).map(|(_, run)| run(case, x));
    one_of(UNARY)
        .or_else(|| one_of(BINARY))
        .or_else(|| one_of(MORE_UNARY))
        .or_else(|| one_of(MORE_BINARY))
        .or_else(|| one_of(SCALARS))
        .or_else(|| one_of(REDUCTIONS))
        .or_else(|| one_of(GATHERED))
        .or_else(|| one_of(FUNCTIONAL))
        .or_else(|| one_of(MOVEMENT))
        .or_else(|| one_of(WINDOWS))
        .or_else(|| one_of(ATTENTION))
        .or_else(|| convolve(case, x))
        .or_else(|| one_of(SORTED))
        .or_else(|| one_of(COMBINED))
        .or_else(|| one_of(SPECIAL))
        .or_else(|| of_squares(case, x))
        .unwrap_or_else(|| panic!("no operation {op} here"))
}

pub(crate) type Run = fn(&Case, &[Tensor]) -> Result<Tensor>;
pub(crate) type Table = &'static [(&'static str, Run)];

const UNARY: Table = &[
    ("neg", |_, x| x[0].neg()),
    ("abs", |_, x| x[0].abs()),
    ("sign", |_, x| x[0].sign()),
    ("square", |_, x| x[0].square()),
    ("relu", |_, x| x[0].relu()),
    ("exp", |_, x| x[0].exp()),
    ("log", |_, x| x[0].log()),
    ("sqrt", |_, x| x[0].sqrt()),
    ("rsqrt", |_, x| x[0].rsqrt()),
    ("reciprocal", |_, x| x[0].reciprocal()),
    ("sin", |_, x| x[0].sin()),
    ("cos", |_, x| x[0].cos()),
    ("tanh", |_, x| x[0].tanh()),
    ("sigmoid", |_, x| x[0].sigmoid()),
    ("erf", |_, x| x[0].erf()),
    ("log1p", |_, x| x[0].log1p()),
    ("expm1", |_, x| x[0].expm1()),
    ("floor", |_, x| x[0].floor()),
    ("ceil", |_, x| x[0].ceil()),
    ("round", |_, x| x[0].round()),
    ("trunc", |_, x| x[0].trunc()),
    ("logical_not", |_, x| x[0].logical_not()),
];

const BINARY: Table = &[
    ("add", |_, x| x[0].add(&x[1])),
    ("sub", |_, x| x[0].sub(&x[1])),
    ("mul", |_, x| x[0].mul(&x[1])),
    ("div", |_, x| x[0].div(&x[1])),
    ("pow", |_, x| x[0].pow(&x[1])),
    ("maximum", |_, x| x[0].maximum(&x[1])),
    ("minimum", |_, x| x[0].minimum(&x[1])),
    ("remainder", |_, x| x[0].remainder(&x[1])),
    ("floor_divide", |_, x| x[0].floor_divide(&x[1])),
    ("eq", |_, x| x[0].eq(&x[1])),
    ("ne", |_, x| x[0].ne(&x[1])),
    ("lt", |_, x| x[0].lt(&x[1])),
    ("le", |_, x| x[0].le(&x[1])),
    ("gt", |_, x| x[0].gt(&x[1])),
    ("ge", |_, x| x[0].ge(&x[1])),
    ("logical_and", |_, x| x[0].logical_and(&x[1])),
    ("logical_or", |_, x| x[0].logical_or(&x[1])),
    ("logical_xor", |_, x| x[0].logical_xor(&x[1])),
    ("where", |_, x| Tensor::where_cond(&x[0], &x[1], &x[2])),
    ("lerp", |_, x| x[0].lerp(&x[1], &x[2])),
    ("addcmul", |case, x| x[0].addcmul(&x[1], &x[2], case.float("value"))),
    ("addcdiv", |case, x| x[0].addcdiv(&x[1], &x[2], case.float("value"))),
];

const MORE_UNARY: Table = &[
    ("acos", |_, x| x[0].acos()),
    ("acosh", |_, x| x[0].acosh()),
    ("asin", |_, x| x[0].asin()),
    ("asinh", |_, x| x[0].asinh()),
    ("atan", |_, x| x[0].atan()),
    ("atanh", |_, x| x[0].atanh()),
    ("cosh", |_, x| x[0].cosh()),
    ("sinh", |_, x| x[0].sinh()),
    ("tan", |_, x| x[0].tan()),
    ("deg2rad", |_, x| x[0].deg2rad()),
    ("rad2deg", |_, x| x[0].rad2deg()),
    ("sinc", |_, x| x[0].sinc()),
    ("exp2", |_, x| x[0].exp2()),
    ("log2", |_, x| x[0].log2()),
    ("log10", |_, x| x[0].log10()),
    ("erfc", |_, x| x[0].erfc()),
    ("erfinv", |_, x| x[0].erfinv()),
    ("lgamma", |_, x| x[0].lgamma()),
    ("digamma", |_, x| x[0].digamma()),
    ("gelu", |_, x| x[0].gelu()),
    ("gelu_tanh", |_, x| x[0].gelu_tanh()),
    ("silu", |_, x| x[0].silu()),
    ("mish", |_, x| x[0].mish()),
    ("selu", |_, x| x[0].selu()),
    ("relu6", |_, x| x[0].relu6()),
    ("hardsigmoid", |_, x| x[0].hardsigmoid()),
    ("hardswish", |_, x| x[0].hardswish()),
    ("softsign", |_, x| x[0].softsign()),
    ("logsigmoid", |_, x| x[0].logsigmoid()),
    ("tanhshrink", |_, x| x[0].tanhshrink()),
    ("isnan", |_, x| x[0].isnan()),
    ("isinf", |_, x| x[0].isinf()),
    ("isfinite", |_, x| x[0].isfinite()),
    ("isposinf", |_, x| x[0].isposinf()),
    ("isneginf", |_, x| x[0].isneginf()),
    ("signbit", |_, x| x[0].signbit()),
    ("logit", |_, x| x[0].logit(None)),
    ("leaky_relu", |_, x| x[0].leaky_relu(0.01)),
    ("elu", |_, x| x[0].elu(1)),
    ("celu", |_, x| x[0].celu(1)),
    ("hardtanh", |_, x| x[0].hardtanh(-1, 1)),
    ("softplus", |_, x| x[0].softplus(1, 20)),
    ("softshrink", |_, x| x[0].softshrink(0.5)),
    ("hardshrink", |_, x| x[0].hardshrink(0.5)),
    ("threshold", |_, x| x[0].threshold(0.5, -1)),
];

const MORE_BINARY: Table = &[
    ("bitwise_and", |_, x| x[0].bitwise_and(&x[1])),
    ("bitwise_or", |_, x| x[0].bitwise_or(&x[1])),
    ("bitwise_xor", |_, x| x[0].bitwise_xor(&x[1])),
    ("gcd", |_, x| x[0].gcd(&x[1])),
    ("lcm", |_, x| x[0].lcm(&x[1])),
    ("fmod", |_, x| x[0].fmod(&x[1])),
    ("bitwise_left_shift", |_, x| x[0].bitwise_left_shift(&x[1])),
    ("bitwise_right_shift", |_, x| x[0].bitwise_right_shift(&x[1])),
    ("fmax", |_, x| x[0].fmax(&x[1])),
    ("fmin", |_, x| x[0].fmin(&x[1])),
    ("atan2", |_, x| x[0].atan2(&x[1])),
    ("hypot", |_, x| x[0].hypot(&x[1])),
    ("copysign", |_, x| x[0].copysign(&x[1])),
    ("nextafter", |_, x| x[0].nextafter(&x[1])),
    ("logaddexp", |_, x| x[0].logaddexp(&x[1])),
    ("logaddexp2", |_, x| x[0].logaddexp2(&x[1])),
    ("xlogy", |_, x| x[0].xlogy(&x[1])),
    ("heaviside", |_, x| x[0].heaviside(&x[1])),
    ("ldexp", |_, x| x[0].ldexp(&x[1])),
    ("float_power", |_, x| x[0].float_power(&x[1])),
    ("div_trunc", |_, x| x[0].div_with(&x[1], RoundingMode::Trunc)),
];

const SCALARS: Table = &[
    ("add_scalar", |case, x| x[0].add(scalar(case, "scalar"))),
    ("sub_scalar", |case, x| x[0].sub(scalar(case, "scalar"))),
    ("mul_scalar", |case, x| x[0].mul(scalar(case, "scalar"))),
    ("div_scalar", |case, x| x[0].div(scalar(case, "scalar"))),
    ("pow_scalar", |case, x| x[0].pow(scalar(case, "scalar"))),
    ("eq_scalar", |case, x| x[0].eq(scalar(case, "scalar"))),
    ("lt_scalar", |case, x| x[0].lt(scalar(case, "scalar"))),
    ("clamp", |case, x| x[0].clamp(scalar(case, "min"), scalar(case, "max"))),
];

const REDUCTIONS: Table = &[
    ("sum", |case, x| x[0].sum(reduce_dims(case))),
    ("mean", |case, x| x[0].mean(reduce_dims(case))),
    ("amax", |case, x| x[0].amax(reduce_dims(case))),
    ("amin", |case, x| x[0].amin(reduce_dims(case))),
    ("max", |_, x| x[0].max()),
    ("prod", |_, x| x[0].prod(())),
    ("argmax", |case, x| x[0].argmax(along(case))),
    ("argmin", |case, x| x[0].argmin(along(case))),
    ("any", |case, x| x[0].any(along(case))),
    ("all", |case, x| x[0].all(along(case))),
    ("softmax", |case, x| x[0].softmax(case.int("dim"))),
    ("log_softmax", |case, x| x[0].log_softmax(case.int("dim"))),
    ("layer_norm", |case, x| {
        let shape = &x[0].shape()[x[0].dims() - case.int("dims") as usize..];
        x[0].layer_norm(shape, x.get(1), x.get(2), case.float("eps"))
    }),
    ("cross_entropy", |_, x| x[0].cross_entropy(&x[1])),
    ("nll_loss", |_, x| x[0].nll_loss(&x[1])),
    ("mse_loss", |_, x| x[0].mse_loss(&x[1])),
    ("matmul", |_, x| x[0].matmul(&x[1])),
    ("matmul_transposed", |_, x| x[0].t()?.matmul(&x[1].t()?)),
];

const GATHERED: Table = &[
    ("var", |case, x| x[0].var(reduce_dims(case), case.float("correction"))),
    ("std", |case, x| x[0].std(reduce_dims(case), case.float("correction"))),
    ("cumsum", |case, x| x[0].cumsum(case.int("dim"))),
    ("cumprod", |case, x| x[0].cumprod(case.int("dim"))),
    ("logcumsumexp", |case, x| x[0].logcumsumexp(case.int("dim"))),
    ("cummax", |case, x| Ok(x[0].cummax(case.int("dim"))?.0)),
    ("cummin", |case, x| Ok(x[0].cummin(case.int("dim"))?.0)),
    ("prod_dim", |case, x| x[0].prod(along(case))),
    ("logsumexp", |case, x| x[0].logsumexp(reduce_dims(case))),
    ("norm", |case, x| x[0].norm(order(case), reduce_dims(case))),
    ("nansum", |case, x| x[0].nansum(reduce_dims(case))),
    ("nanmean", |case, x| x[0].nanmean(reduce_dims(case))),
    ("dist", |case, x| x[0].dist(&x[1], order(case))),
];

const MOVEMENT: Table = &[
    ("to", |case, x| x[0].to(dtype_named(case.arg("dtype").as_str().expect("a name")))),
    ("reshape", |case, x| x[0].reshape(case.ints::<usize>("shape"))),
    ("transpose", |case, x| x[0].transpose(case.int("dim0"), case.int("dim1"))),
    ("permute", |case, x| x[0].permute(case.ints::<isize>("dims"))),
    ("narrow", |case, x| {
        x[0].narrow(case.int("dim"), case.int("start") as usize, case.int("length") as usize)
    }),
    ("select", |case, x| x[0].select(case.int("dim"), case.int("index"))),
    ("unsqueeze", |case, x| x[0].unsqueeze(case.int("dim"))),
    ("squeeze", |case, x| x[0].squeeze(case.int("dim"))),
    ("flatten", |_, x| x[0].flatten()),
    ("expand", |case, x| x[0].expand(case.ints::<usize>("shape"))),
    ("cat", |case, x| Tensor::cat(x, case.int("dim"))),
    ("stack", |case, x| Tensor::stack(x, case.int("dim"))),
    ("gather", |case, x| x[0].gather(case.int("dim"), &x[1])),
    ("index_select", |case, x| x[0].index_select(case.int("dim"), &x[1])),
    ("scatter_add", |case, x| x[0].scatter_add(case.int("dim"), &x[1], &x[2])),
    ("index_add", |case, x| x[0].index_add(case.int("dim"), &x[1], &x[2])),
    ("scatter", |case, x| x[0].square()?.scatter(case.int("dim"), &x[1], &x[2].square()?)),
    ("scatter of a number", |case, x| x[0].square()?.scatter(case.int("dim"), &x[1], 2.5)),
    ("index_copy", |case, x| x[0].square()?.index_copy(case.int("dim"), &x[1], &x[2].square()?)),
    ("masked_scatter", |_, x| x[0].square()?.masked_scatter(&x[1], &x[2].square()?)),
    ("index_put", |case, x| {
        let indices: Vec<TensorIndex> = x[1..x.len() - 1].iter().map(TensorIndex::from).collect();
        x[0].square()?.index_put(indices, &x[x.len() - 1].square()?, case.flag("accumulate"))
    }),
    ("set_i in the middle", |_, x| x[0].square()?.set_i((.., &x[1]), &x[2].square()?)),
    ("i in the middle", |_, x| x[0].square()?.i((.., &x[1]))),
];

/// A number of the kind that JSON has it as.
fn scalar(case: &Case, name: &str) -> Scalar {
    let value = case.arg(name);
    match (value.as_bool(), value.as_i64()) {
        (Some(truth), _) => truth.into(),
        (_, Some(integer)) => integer.into(),
        _ => case.float(name).into(),
    }
}

/// The order of a norm.
fn order(case: &Case) -> f64 {
    match case.arg("p").as_str() {
        Some("inf") => f64::INFINITY,
        Some(_) => f64::NEG_INFINITY,
        None => case.float("p"),
    }
}

/// The dimension, or none for the whole tensor.
/// The dimensions of a reduction: the arguments `dims` and `keepdim`.
fn reduce_dims(case: &Case) -> ReduceDims {
    ReduceDims::from(case.ints::<isize>("dims")).keepdim(case.flag("keepdim"))
}

/// The dimension of a reduction along one, or all: the arguments `dim` and `keepdim`.
fn along(case: &Case) -> ReduceDims {
    let dim: Vec<i64> = case.arg("dim").as_i64().into_iter().collect();
    ReduceDims::from(dim).keepdim(case.flag("keepdim"))
}
