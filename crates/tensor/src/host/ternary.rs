//! CPU kernels of functions of three and four operands.

use half::f16;

use super::arithmetic::Arithmetic;
use super::map::kernels;
use crate::dispatch::abi::Elementwise;

kernels! {
    map3, Elementwise<4>, [T, bool, T, T];
    where_: f16 f32 f64 i64 u8 bool => |condition, a, b| if condition { a } else { b };
}

kernels! {
    map3, Elementwise<4>, [T, T, T, T];
    add_scaled: f16 f32 f64 i64 u8 => |a, b, alpha| a.plus(alpha.times(b));
    // A NaN bound makes the result NaN; where the bounds are crossed, the upper one holds.
    clamp: f16 f32 f64 i64 u8 => |x, low, high| x.larger(low).smaller(high);
    // Two forms, so that weight 0 gives exactly a and weight 1 exactly b.
    lerp: f16 f32 f64 => |a, b, weight| {
        let span = b - a;
        if weight < 0.5 { a + weight * span } else { b - span * (1.0 - weight) }
    };
}

kernels! {
    map4, Elementwise<5>, [T];
    addcmul: f16 f32 f64 i64 u8 => |a, b, c, value| a.plus(value.times(b).times(c));
    addcdiv: f16 f32 f64 => |a, b, c, value| a + value * (b / c);
}
