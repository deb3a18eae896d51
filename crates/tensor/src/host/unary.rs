//! CPU kernels of functions of one operand.

use half::f16;

use super::arithmetic::Float;
use super::map::kernels;
use crate::dispatch::abi::Elementwise;

kernels! {
    map1, Elementwise<2>, [T, T];
    neg: f16 f32 f64 => |x| -x, i64 u8 => |x| x.wrapping_neg();
    abs: f16 f32 f64 => |x| x.abs(), i64 => |x| x.wrapping_abs(), u8 => |x| x;
    // NaN is neither above nor below zero, and so its sign is 0, as PyTorch has it.
    sign: f16 f32 f64 => |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 },
        i64 => |x| x.signum(),
        u8 => |x| x.min(1);
    square: f16 f32 f64 => |x| x * x, i64 u8 => |x| x.wrapping_mul(x);
    // Written so that NaN passes.
    relu: f16 f32 f64 => |x| if x <= 0.0 { 0.0 } else { x },
        i64 => |x| x.max(0),
        u8 => |x| x;
    floor: f16 f32 f64 => |x| x.floor();
    ceil: f16 f32 f64 => |x| x.ceil();
    round: f16 f32 f64 => |x| x.round_ties_even();
    trunc: f16 f32 f64 => |x| x.trunc();
    exp: f16 f32 f64 => Float::exp;
    expm1: f16 f32 f64 => |x| x.exp_m1();
    log: f16 f32 f64 => |x| x.ln();
    log1p: f16 f32 f64 => |x| x.ln_1p();
    sqrt: f16 f32 f64 => |x| x.sqrt();
    rsqrt: f16 f32 f64 => |x| 1.0 / x.sqrt();
    reciprocal: f16 f32 f64 => |x| 1.0 / x;
    sin: f16 f32 f64 => |x| x.sin();
    cos: f16 f32 f64 => |x| x.cos();
    tanh: f16 f32 f64 => |x| x.tanh();
    // Far below zero exp overflows to infinity, whose reciprocal is the right limit.
    sigmoid: f16 f32 f64 => |x| 1.0 / (1.0 + Float::exp(-x));
    erf: f16 f32 => libm::erff, f64 => libm::erf;
}

kernels! {
    map1, Elementwise<2>, [bool, T];
    logical_not: f16 f32 f64 => |x| x == 0.0, i64 u8 => |x| x == 0, bool => |x| !x;
}
