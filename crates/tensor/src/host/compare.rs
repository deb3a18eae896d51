//! CPU kernels of comparisons and logic: two operands of one dtype, a truth value out.

use half::f16;

use super::arithmetic::Arithmetic;
use super::map::kernels;
use crate::dispatch::abi::Elementwise;

kernels! {
    map2, Elementwise<3>, [bool, T, T];
    eq: f16 f32 f64 i64 u8 bool => |a, b| a == b;
    ne: f16 f32 f64 i64 u8 bool => |a, b| a != b;
    lt: f16 f32 f64 i64 u8 bool => |a, b| PartialOrd::lt(&a, &b);
    le: f16 f32 f64 i64 u8 bool => |a, b| PartialOrd::le(&a, &b);
    gt: f16 f32 f64 i64 u8 bool => |a, b| PartialOrd::gt(&a, &b);
    ge: f16 f32 f64 i64 u8 bool => |a, b| PartialOrd::ge(&a, &b);
    logical_and: f16 f32 f64 i64 u8 bool => |a, b| truth(a) && truth(b);
    logical_or: f16 f32 f64 i64 u8 bool => |a, b| truth(a) || truth(b);
    logical_xor: f16 f32 f64 i64 u8 bool => |a, b| truth(a) != truth(b);
}

/// Everything but zero is true, NaN too.
#[inline(always)]
fn truth<V: Arithmetic>(value: V) -> bool {
    value != V::ZERO
}
