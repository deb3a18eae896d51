//! Operations element by element.

use tensor::{RoundingMode, Tensor};

use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

/// Rows of operations on one tensor, by names and method.
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

pub(super) static UNARY: &[AdapterRow] = unary! {
    "abs|absolute" abs;
    "neg|negative" neg;
    "positive" positive;
    "sign" sign;
    "sgn" sgn;
    "exp" exp;
    "exp2|special.exp2" exp2;
    "expm1|special.expm1" expm1;
    "log" log;
    "log2" log2;
    "log10" log10;
    "log1p|special.log1p" log1p;
    "sqrt" sqrt;
    "rsqrt" rsqrt;
    "reciprocal" reciprocal;
    "square" square;
    "floor" floor;
    "ceil" ceil;
    "round|special.round" round;
    "trunc" trunc;
    "fix" fix;
    "frac" frac;
    "sin" sin;
    "cos" cos;
    "tan" tan;
    "asin|arcsin" asin;
    "acos|arccos" acos;
    "atan|arctan" atan;
    "sinh" sinh;
    "cosh" cosh;
    "tanh|nn.functional.tanh" tanh;
    "asinh|arcsinh" asinh;
    "acosh|arccosh" acosh;
    "atanh|arctanh" atanh;
    "deg2rad" deg2rad;
    "rad2deg" rad2deg;
    "sinc|special.sinc" sinc;
    "sigmoid|nn.functional.sigmoid|special.expit" sigmoid;
    "erf|special.erf" erf;
    "erfc|special.erfc" erfc;
    "erfinv|special.erfinv" erfinv;
    "lgamma|special.gammaln" lgamma;
    "digamma|special.digamma|special.psi" digamma;
    "bitwise_not" bitwise_not;
    "logical_not" logical_not;
    "relu|nn.functional.relu" relu;
    "nn.functional.relu6" relu6;
    "nn.functional.silu" silu;
    "nn.functional.mish" mish;
    "nn.functional.selu|selu" selu;
    "nn.functional.hardsigmoid" hardsigmoid;
    "nn.functional.hardswish" hardswish;
    "isnan" isnan;
    "isinf" isinf;
    "isfinite" isfinite;
    "isposinf" isposinf;
    "isneginf" isneginf;
    "signbit" signbit;
    "isreal" isreal;
    "nn.functional.softsign" softsign;
    "nn.functional.logsigmoid" logsigmoid;
    "nn.functional.tanhshrink" tanhshrink;
    "special.entr" entr;
    "special.ndtr" ndtr;
    "special.log_ndtr" log_ndtr;
    "special.ndtri" ndtri;
    "special.erfcx" erfcx;
    "special.bessel_j0" bessel_j0;
    "special.bessel_j1" bessel_j1;
    "special.bessel_y0" bessel_y0;
    "special.bessel_y1" bessel_y1;
    "i0|special.i0|special.modified_bessel_i0" i0;
    "special.i0e" i0e;
    "special.i1|special.modified_bessel_i1" i1;
    "special.i1e" i1e;
    "special.modified_bessel_k0" modified_bessel_k0;
    "special.modified_bessel_k1" modified_bessel_k1;
    "special.scaled_modified_bessel_k0" scaled_modified_bessel_k0;
    "special.scaled_modified_bessel_k1" scaled_modified_bessel_k1;
    "special.spherical_bessel_j0" spherical_bessel_j0;
    "special.airy_ai" airy_ai;
    "angle" angle;
    "frexp" frexp;
};

pub(super) static UNARY_IN_PLACE: &[AdapterRow] = unary! {
    "abs_|absolute_" abs_;
    "neg_|negative_" neg_;
    "sign_" sign_;
    "sgn_" sgn_;
    "exp_" exp_;
    "exp2_|special.exp2_" exp2_;
    "expm1_|special.expm1_" expm1_;
    "log_" log_;
    "log2_" log2_;
    "log10_" log10_;
    "log1p_|special.log1p_" log1p_;
    "sqrt_" sqrt_;
    "rsqrt_" rsqrt_;
    "reciprocal_" reciprocal_;
    "square_" square_;
    "floor_" floor_;
    "ceil_" ceil_;
    "round_|special.round_" round_;
    "trunc_" trunc_;
    "fix_" fix_;
    "frac_" frac_;
    "sin_" sin_;
    "cos_" cos_;
    "tan_" tan_;
    "asin_|arcsin_" asin_;
    "acos_|arccos_" acos_;
    "atan_|arctan_" atan_;
    "sinh_" sinh_;
    "cosh_" cosh_;
    "tanh_|nn.functional.tanh_" tanh_;
    "asinh_|arcsinh_" asinh_;
    "acosh_|arccosh_" acosh_;
    "atanh_|arctanh_" atanh_;
    "deg2rad_" deg2rad_;
    "rad2deg_" rad2deg_;
    "sinc_|special.sinc_" sinc_;
    "sigmoid_|nn.functional.sigmoid_|special.expit_" sigmoid_;
    "erf_|special.erf_" erf_;
    "erfc_|special.erfc_" erfc_;
    "erfinv_|special.erfinv_" erfinv_;
    "lgamma_|special.gammaln_" lgamma_;
    "digamma_|special.digamma_|special.psi_" digamma_;
    "bitwise_not_" bitwise_not_;
    "logical_not_" logical_not_;
    "relu_|nn.functional.relu_" relu_;
    "nn.functional.relu6_" relu6_;
    "nn.functional.silu_" silu_;
    "nn.functional.mish_" mish_;
    "nn.functional.selu_|selu_" selu_;
    "nn.functional.hardsigmoid_" hardsigmoid_;
    "nn.functional.hardswish_" hardswish_;
    "i0_" i0_;
    "zero_" zero_;
};

pub(super) static BINARY: &[AdapterRow] = binary! {
    "add|__radd__" add;
    "sub|subtract" sub;
    "rsub|__rsub__" rsub;
    "mul|multiply|__rmul__" mul;
    "div|true_divide|divide" div;
    "pow" pow;
    "float_power" float_power;
    "floor_divide" floor_divide;
    "remainder" remainder;
    "fmod" fmod;
    "copysign" copysign;
    "xlogy|special.xlogy" xlogy;
    "bitwise_and|__rand__" bitwise_and;
    "bitwise_or|__ror__" bitwise_or;
    "bitwise_xor|__rxor__" bitwise_xor;
    "bitwise_left_shift" bitwise_left_shift;
    "bitwise_right_shift" bitwise_right_shift;
    "eq" eq;
    "ne|not_equal" ne;
    "lt|less" lt;
    "le|less_equal" le;
    "gt|greater" gt;
    "ge|greater_equal" ge;
    "special.xlog1py" xlog1py;
    "special.zeta" zeta;
};

pub(super) static BINARY_IN_PLACE: &[AdapterRow] = binary! {
    "add_" add_;
    "sub_|subtract_" sub_;
    "mul_|multiply_" mul_;
    "div_|true_divide_|divide_" div_;
    "pow_" pow_;
    "float_power_" float_power_;
    "floor_divide_" floor_divide_;
    "remainder_" remainder_;
    "fmod_" fmod_;
    "copysign_" copysign_;
    "xlogy_|special.xlogy_" xlogy_;
    "bitwise_and_" bitwise_and_;
    "bitwise_or_" bitwise_or_;
    "bitwise_xor_" bitwise_xor_;
    "bitwise_left_shift_" bitwise_left_shift_;
    "bitwise_right_shift_" bitwise_right_shift_;
    "eq_" eq_;
    "ne_|not_equal_" ne_;
    "lt_|less_" lt_;
    "le_|less_equal_" le_;
    "gt_|greater_" gt_;
    "ge_|greater_equal_" ge_;
};

pub(super) static OF_TENSORS: &[AdapterRow] = of_tensors! {
    "nextafter" nextafter;
    "atan2|arctan2" atan2;
    "hypot" hypot;
    "gcd" gcd;
    "lcm" lcm;
    "logical_and" logical_and;
    "logical_or" logical_or;
    "logical_xor" logical_xor;
    "maximum" maximum;
    "minimum" minimum;
    "fmax" fmax;
    "fmin" fmin;
    "logaddexp" logaddexp;
    "logaddexp2" logaddexp2;
    "nextafter_" nextafter_;
    "atan2_|arctan2_" atan2_;
    "hypot_" hypot_;
    "gcd_" gcd_;
    "lcm_" lcm_;
    "logical_and_" logical_and_;
    "logical_or_" logical_or_;
    "logical_xor_" logical_xor_;
    "ldexp" ldexp;
    "ldexp_" ldexp_;
    "heaviside" heaviside;
    "heaviside_" heaviside_;
    "igamma|special.gammainc" igamma;
    "igamma_|special.gammainc_" igamma_;
    "igammac|special.gammaincc" igammac;
    "igammac_|special.gammaincc_" igammac_;
};

pub(super) static OTHERS: &[AdapterRow] = &[
    row("add", "x, other, *, alpha", |c| {
        give(c.x()?.add_scaled(c.operand("other")?, c.scalar("alpha")?))
    }),
    row("add_", "x, other, *, alpha", |c| {
        give(c.x()?.add_scaled_(c.operand("other")?, c.scalar("alpha")?))
    }),
    row("sub|subtract", "x, other, *, alpha", |c| {
        give(c.x()?.sub_scaled(c.operand("other")?, c.scalar("alpha")?))
    }),
    row("sub_|subtract_", "x, other, *, alpha", |c| {
        give(c.x()?.sub_scaled_(c.operand("other")?, c.scalar("alpha")?))
    }),
    row("rsub", "x, other, *, alpha", |c| {
        give(c.x()?.rsub_scaled(c.operand("other")?, c.scalar("alpha")?))
    }),
    row("div|divide", "x, other, *, rounding_mode", |c| match rounding(c)? {
        None => give(c.x()?.div(c.operand("other")?)),
        Some(mode) => give(c.x()?.div_with(c.operand("other")?, mode)),
    }),
    row("div_|divide_", "x, other, *, rounding_mode", |c| match rounding(c)? {
        None => give(c.x()?.div_(c.operand("other")?)),
        Some(mode) => give(c.x()?.div_with_(c.operand("other")?, mode)),
    }),
    row("__rpow__", "x, other", |c| give(c.x()?.rpow(c.operand("other")?))),
    row("__rmod__", "x, other", |c| give(c.x()?.rremainder(c.operand("other")?))),
    row("__rdiv__", "x, other", |c| give(c.x()?.reciprocal()?.mul(c.operand("other")?))),
    row("clamp_min", "x, min", |c| give(c.x()?.clamp_min(c.operand("min")?))),
    row("clamp_min_", "x, min", |c| give(c.x()?.clamp_min_(c.operand("min")?))),
    row("clamp_max", "x, max", |c| give(c.x()?.clamp_max(c.operand("max")?))),
    row("clamp_max_", "x, max", |c| give(c.x()?.clamp_max_(c.operand("max")?))),
    row("clamp|clip", "x, min=None, max=None", |c| match bounds(c)? {
        (Some(_), Some(_)) => give(c.x()?.clamp(c.operand("min")?, c.operand("max")?)),
        (Some(_), None) => give(c.x()?.clamp_min(c.operand("min")?)),
        (None, Some(_)) => give(c.x()?.clamp_max(c.operand("max")?)),
        (None, None) => no_bound(),
    }),
    row("clamp_|clip_", "x, min=None, max=None", |c| match bounds(c)? {
        (Some(_), Some(_)) => give(c.x()?.clamp_(c.operand("min")?, c.operand("max")?)),
        (Some(_), None) => give(c.x()?.clamp_min_(c.operand("min")?)),
        (None, Some(_)) => give(c.x()?.clamp_max_(c.operand("max")?)),
        (None, None) => no_bound(),
    }),
    row("lerp", "x, end, weight", |c| give(c.x()?.lerp(c.get("end")?, c.operand("weight")?))),
    row("lerp_", "x, end, weight", |c| give(c.x()?.lerp_(c.get("end")?, c.operand("weight")?))),
    row("addcmul", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcmul(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("addcmul_", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcmul_(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("addcdiv", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcdiv(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("addcdiv_", "x, a, b, *, value=1", |c| {
        give(c.x()?.addcdiv_(c.get("a")?, c.get("b")?, c.scalar("value")?))
    }),
    row("round", "x, *, decimals", |c| give(c.x()?.round_decimals(c.get("decimals")?))),
    row("round_", "x, *, decimals", |c| give(c.x()?.round_decimals_(c.get("decimals")?))),
    row("isclose", "x, other, rtol=1e-05, atol=1e-08, equal_nan=False", |c| {
        let (rtol, atol) = (c.get("rtol")?, c.get("atol")?);
        give(c.x()?.isclose(c.get("other")?, rtol, atol, c.get("equal_nan")?))
    }),
    row("allclose", "x, other, rtol=1e-05, atol=1e-08", |c| {
        give(c.x()?.allclose(c.get("other")?, c.get("rtol")?, c.get("atol")?))
    }),
    row("equal", "x, other", |c| give(c.x()?.equal(c.get("other")?))),
    row("logit|special.logit", "x, eps=None", |c| give(c.x()?.logit(c.get("eps")?))),
    row("logit_|special.logit_", "x, eps=None", |c| give(c.x()?.logit_(c.get("eps")?))),
    row("nan_to_num", "x, nan=None, posinf=None, neginf=None", |c| {
        give(c.x()?.nan_to_num(c.get("nan")?, c.get("posinf")?, c.get("neginf")?))
    }),
    row("nan_to_num_", "x, nan=None, posinf=None, neginf=None", |c| {
        give(c.x()?.nan_to_num_(c.get("nan")?, c.get("posinf")?, c.get("neginf")?))
    }),
    row("polygamma|special.polygamma", "x, n", |c| give(c.x()?.polygamma(c.get("n")?))),
    row("polygamma_|special.polygamma_", "x, n", |c| give(c.x()?.polygamma_(c.get("n")?))),
    row("mvlgamma|special.multigammaln", "x, p", |c| give(c.x()?.mvlgamma(c.get("p")?))),
    row("mvlgamma_|special.multigammaln_", "x, p", |c| give(c.x()?.mvlgamma_(c.get("p")?))),
    row("fill", "x, value", |c| give(c.x()?.fill(c.operand("value")?))),
    row("fill_", "x, value", |c| give(c.x()?.fill_(c.operand("value")?))),
];

fn rounding(c: &BoundCall) -> Result<Option<RoundingMode>, CaseFailure> {
    match c.get::<Option<&str>>("rounding_mode")? {
        None => Ok(None),
        Some("trunc") => Ok(Some(RoundingMode::Trunc)),
        Some("floor") => Ok(Some(RoundingMode::Floor)),
        Some(other) => Err(CaseFailure::Unsupported(format!("the rounding mode {other}"))),
    }
}

fn bounds(c: &BoundCall) -> Result<(Option<&CaseArgument>, Option<&CaseArgument>), CaseFailure> {
    Ok((c.get("min")?, c.get("max")?))
}

/// The library has a function for each bound, so that none of them is called without any.
fn no_bound() -> CallOutcome {
    Err(CaseFailure::Unsupported("no bound".to_owned()))
}
