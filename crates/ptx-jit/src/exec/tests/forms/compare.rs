//! Comparisons and choices.

use std::cmp::Ordering;

use super::half::{is_nan, to_f64};
use super::table::{Form, binary, check, ternary, unary};
use super::value::{F16, Value};

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    forms.extend(integers::<u16>("u16"));
    forms.extend(integers::<i16>("s16"));
    forms.extend(integers::<u32>("u32"));
    forms.extend(integers::<i32>("s32"));
    forms.extend(integers::<u64>("u64"));
    forms.extend(integers::<i64>("s64"));
    forms.extend(floats("f32", |value: f32| f64::from(value)));
    forms.extend(floats("f64", |value: f64| value));
    forms.extend(floats("f16", |value: F16| if is_nan(value) { f64::NAN } else { to_f64(value) }));
    forms.extend([
        binary("setp.eq.b32", |a: u32, b: u32| a == b),
        binary("setp.ne.b64", |a: u64, b: u64| a != b),
        binary("setp.lo.u32", |a: u32, b: u32| a < b),
        binary("setp.hs.u64", |a: u64, b: u64| a >= b),
        binary("setp.lt.ftz.f32", |a: f32, b: f32| {
            super::float::flushed(a) < super::float::flushed(b)
        }),
        binary("set.lt.u32.s32", |a: i32, b: i32| if a < b { u32::MAX } else { 0 }),
        binary("set.geu.f32.f32", |a: f32, b: f32| if a < b { 0.0f32 } else { 1.0 }),
        binary("set.eq.f16.f16", |a: F16, b: F16| {
            F16(if to_f64(a) == to_f64(b) { 0x3c00 } else { 0 })
        }),
        binary("set.gt.f16x2.f16x2", |a: u32, b: u32| {
            let one = |at| if half(a, at) > half(b, at) { 0x3c00 << at } else { 0 };
            one(0) | one(16)
        }),
        ternary("slct.u32.s32", |a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
        ternary("slct.f32.f32", |a: f32, b: f32, c: f32| if c >= 0.0 { a } else { b }),
        unary("testp.finite.f32", |a: f32| a.is_finite()),
        unary("testp.infinite.f64", |a: f64| a.is_infinite()),
        unary("testp.number.f32", |a: f32| !a.is_nan()),
        unary("testp.notanumber.f64", |a: f64| a.is_nan()),
        unary("testp.normal.f32", |a: f32| a.is_normal()),
        unary("testp.subnormal.f64", |a: f64| a.is_subnormal()),
    ]);
    forms
}

fn half(word: u32, shift: u32) -> f64 {
    let value = F16((word >> shift) as u16);
    if is_nan(value) { f64::NAN } else { to_f64(value) }
}

fn integers<T: Value + Ord>(ty: &str) -> Vec<Form> {
    vec![
        binary(&format!("setp.eq.{ty}"), |a: T, b: T| a == b),
        binary(&format!("setp.ne.{ty}"), |a: T, b: T| a != b),
        binary(&format!("setp.lt.{ty}"), |a: T, b: T| a < b),
        binary(&format!("setp.le.{ty}"), |a: T, b: T| a <= b),
        binary(&format!("setp.gt.{ty}"), |a: T, b: T| a > b),
        binary(&format!("setp.ge.{ty}"), |a: T, b: T| a >= b),
    ]
}

fn floats<T: Value + 'static>(ty: &str, number: fn(T) -> f64) -> Vec<Form> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let form = |name: &str, holds: fn(Option<Ordering>) -> bool| {
        binary(&format!("setp.{name}.{ty}"), move |a: T, b: T| {
            holds(number(a).partial_cmp(&number(b)))
        })
    };
    vec![
        form("eq", |order| matches!(order, Some(Equal))),
        form("ne", |order| matches!(order, Some(Less | Greater))),
        form("lt", |order| matches!(order, Some(Less))),
        form("le", |order| matches!(order, Some(Less | Equal))),
        form("gt", |order| matches!(order, Some(Greater))),
        form("ge", |order| matches!(order, Some(Greater | Equal))),
        form("equ", |order| matches!(order, None | Some(Equal))),
        form("neu", |order| matches!(order, None | Some(Less | Greater))),
        form("ltu", |order| matches!(order, None | Some(Less))),
        form("leu", |order| matches!(order, None | Some(Less | Equal))),
        form("gtu", |order| matches!(order, None | Some(Greater))),
        form("geu", |order| matches!(order, None | Some(Greater | Equal))),
        form("num", |order| order.is_some()),
        form("nan", |order| order.is_none()),
    ]
}

#[test]
fn comparisons_know_signs_and_nan() {
    check(&forms());
}
