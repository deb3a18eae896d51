//! Integer arithmetic.

use super::table::{Form, binary, check, ternary, unary};

macro_rules! each {
    ($forms:ident, $($name:literal: $ty:ty),* => |$x:ident: T| $build:expr) => {
        $({
            type T = $ty;
            let $x = $name;
            $forms.extend($build);
        })*
    };
}

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    each!(forms, "u16": u16, "s16": i16, "u32": u32, "s32": i32, "u64": u64, "s64": i64 => |ty: T| [
        binary(&format!("add.{ty}"), T::wrapping_add),
        binary(&format!("sub.{ty}"), T::wrapping_sub),
        binary(&format!("mul.lo.{ty}"), T::wrapping_mul),
        binary(&format!("mul.hi.{ty}"), |a: T, b: T| {
            ((a as i128).wrapping_mul(b as i128) >> T::BITS) as T
        }),
        ternary(&format!("mad.lo.{ty}"), |a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)),
        ternary(&format!("mad.hi.{ty}"), |a: T, b: T, c: T| {
            (((a as i128).wrapping_mul(b as i128) >> T::BITS) as T).wrapping_add(c)
        }),
        binary(&format!("min.{ty}"), |a: T, b: T| a.min(b)),
        binary(&format!("max.{ty}"), |a: T, b: T| a.max(b)),
        binary(&format!("div.{ty}"), |a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }),
        binary(&format!("rem.{ty}"), |a: T, b: T| if b == 0 { a } else { a.wrapping_rem(b) }),
        ternary(&format!("sad.{ty}"), |a: T, b: T, c: T| c.wrapping_add(a.abs_diff(b) as T)),
    ]);
    each!(forms, "s16": i16, "s32": i32, "s64": i64 => |ty: T| [
        unary(&format!("neg.{ty}"), T::wrapping_neg),
        unary(&format!("abs.{ty}"), T::wrapping_abs),
    ]);
    forms.extend([
        binary("mul.wide.u16", |a: u16, b: u16| u32::from(a) * u32::from(b)),
        binary("mul.wide.s16", |a: i16, b: i16| i32::from(a) * i32::from(b)),
        binary("mul.wide.u32", |a: u32, b: u32| u64::from(a) * u64::from(b)),
        binary("mul.wide.s32", |a: i32, b: i32| i64::from(a) * i64::from(b)),
        ternary("mad.wide.u16", |a: u16, b: u16, c: u32| {
            (u32::from(a) * u32::from(b)).wrapping_add(c)
        }),
        ternary("mad.wide.s32", |a: i32, b: i32, c: i64| {
            (i64::from(a) * i64::from(b)).wrapping_add(c)
        }),
        ternary("mad.wide.u32", |a: u32, b: u32, c: u64| {
            (u64::from(a) * u64::from(b)).wrapping_add(c)
        }),
        binary("add.sat.s32", i32::saturating_add),
        binary("sub.sat.s32", i32::saturating_sub),
        ternary("mad.hi.sat.s32", |a: i32, b: i32, c: i32| {
            (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
        }),
        binary("mul24.lo.u32", |a: u32, b: u32| product24(low24(a), low24(b), 0)),
        binary("mul24.hi.u32", |a: u32, b: u32| product24(low24(a), low24(b), 16)),
        binary("mul24.lo.s32", |a: i32, b: i32| product24(signed24(a), signed24(b), 0)),
        binary("mul24.hi.s32", |a: i32, b: i32| product24(signed24(a), signed24(b), 16)),
        ternary("mad24.lo.u32", |a: u32, b: u32, c: u32| {
            product24(low24(a), low24(b), 0).wrapping_add(c)
        }),
        ternary("dp4a.s32.s32", |a: i32, b: i32, c: i32| dot4(bytes(a), bytes(b), c)),
        ternary("dp4a.u32.u32", |a: u32, b: u32, c: i32| dot4(unsigned(a), unsigned(b), c)),
        ternary("dp4a.u32.s32", |a: u32, b: i32, c: i32| dot4(unsigned(a), bytes(b), c)),
        ternary("dp2a.lo.s32.s32", |a: i32, b: i32, c: i32| dot2(halves(a), bytes(b), 0, c)),
        ternary("dp2a.hi.s32.u32", |a: i32, b: u32, c: i32| dot2(halves(a), unsigned(b), 2, c)),
    ]);
    forms
}

#[test]
fn integer_arithmetic_is_exact_and_wraps() {
    check(&forms());
}

fn low24(value: u32) -> i64 {
    i64::from(value & 0xff_ffff)
}

fn signed24(value: i32) -> i64 {
    i64::from(value << 8 >> 8)
}

fn product24(a: i64, b: i64, shift: u32) -> u32 {
    ((a * b) >> shift) as u32
}

fn bytes(word: i32) -> [i32; 4] {
    word.to_le_bytes().map(|byte| i32::from(byte as i8))
}

fn unsigned(word: u32) -> [i32; 4] {
    word.to_le_bytes().map(i32::from)
}

fn halves(word: i32) -> [i32; 2] {
    [i32::from(word as i16), word >> 16]
}

fn dot4(a: [i32; 4], b: [i32; 4], c: i32) -> i32 {
    a.into_iter().zip(b).fold(c, |sum, (a, b)| sum.wrapping_add(a * b))
}

fn dot2(a: [i32; 2], b: [i32; 4], first: usize, c: i32) -> i32 {
    (0..2).fold(c, |sum, index| sum.wrapping_add(a[index] * b[first + index]))
}
