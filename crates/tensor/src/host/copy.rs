//! CPU kernels of copies and conversions between each two dtypes, a table per source.
//!
//! There is one rounding at most. Floats become integers by truncation and saturate, a `u8` is the
//! low byte of that, and a truth value, whose byte may be anything but 0 for true, is "not zero".

use half::f16;

use super::map::kernels;
use crate::dispatch::abi::Elementwise;

kernels! {
    convert, Elementwise<2>, [T, f16];
    from_f16: f16 => |x| x, f32 => f16::to_f32, f64 => f16::to_f64, i64 => |x| x.to_f32() as i64,
        u8 => |x| x.to_f32() as i64 as u8, bool => |x| u8::from(x.to_f32() != 0.0);
}

kernels! {
    convert, Elementwise<2>, [T, f32];
    from_f32: f16 => f16::from_f32, f32 => |x| x, f64 => f64::from, i64 => |x| x as i64,
        u8 => |x| x as i64 as u8, bool => |x| u8::from(x != 0.0);
}

kernels! {
    convert, Elementwise<2>, [T, f64];
    from_f64: f16 => f16::from_f64, f32 => |x| x as f32, f64 => |x| x, i64 => |x| x as i64,
        u8 => |x| x as i64 as u8, bool => |x| u8::from(x != 0.0);
}

kernels! {
    convert, Elementwise<2>, [T, i64];
    from_i64: f16 => |x| f16::from_f32(x as f32), f32 => |x| x as f32, f64 => |x| x as f64,
        i64 => |x| x, u8 => |x| x as u8, bool => |x| u8::from(x != 0);
}

kernels! {
    convert, Elementwise<2>, [T, u8];
    from_u8: f16 => |x| f16::from_f32(f32::from(x)), f32 => f32::from, f64 => f64::from,
        i64 => i64::from, u8 => |x| x, bool => |x| u8::from(x != 0);
}

kernels! {
    convert, Elementwise<2>, [T, bool];
    from_bool: f16 => |x| f16::from_f32(truth(x).into()), f32 => |x| truth(x).into(),
        f64 => |x| truth(x).into(), i64 => |x| truth(x).into(), u8 bool => truth;
}

/// The byte of a truth value as 0 or 1.
fn truth(byte: u8) -> u8 {
    u8::from(byte != 0)
}
