//! Conversion between number types.

use ptx::Rounding;

use super::float::{canonical, flushed};
use super::half::{is_nan, to_f64};
use super::table::{Form, ROUNDING_MODES, binary, check, unary};
use super::value::{Bf16, F16, Kind, Value, mask};
use crate::runtime::{Format, convert_integer, convert_value as converted};

pub(super) fn forms() -> Vec<Form> {
    let mut forms = integers();
    forms.extend(float_to_integer::<f32>("f32", f64::from));
    forms.extend(float_to_integer::<f64>("f64", |value| value));
    forms.extend(float_to_integer::<F16>("f16", |value| {
        if is_nan(value) { f64::NAN } else { to_f64(value) }
    }));
    forms.extend(integer_to_float());
    forms.extend(float_to_float());
    forms
}

/// Forms for targets after sm_75.
pub(super) fn newer_forms() -> Vec<Form> {
    vec![
        unary("cvt.f32.bf16", |a: Bf16| f32::from_bits(u32::from(a.0) << 16)),
        unary("cvt.rn.bf16.f32", |a: f32| {
            Bf16(converted(a.into_bits(), Format::F32, Format::Bf16, Rounding::Nearest) as u16)
        }),
        unary("cvt.rz.bf16.f32", |a: f32| {
            Bf16(converted(a.into_bits(), Format::F32, Format::Bf16, Rounding::TowardZero) as u16)
        }),
        unary("cvt.rn.relu.f16.f32", |a: f32| {
            let half = converted(a.into_bits(), Format::F32, Format::F16, Rounding::Nearest) as u16;
            F16(if !a.is_nan() && half & 0x8000 != 0 { 0 } else { half })
        }),
        binary("cvt.rn.f16x2.f32", |a: f32, b: f32| {
            let half = |value: f32| {
                converted(value.into_bits(), Format::F32, Format::F16, Rounding::Nearest) as u32
            };
            half(a) << 16 | half(b)
        }),
        unary("cvt.rn.bf16.s32", |a: i32| {
            Bf16(converted(f64::from(a).to_bits(), Format::F64, Format::Bf16, Rounding::Nearest)
                as u16)
        }),
    ]
}

#[test]
fn conversions_round_clamp_and_extend() {
    check(&forms());
    check(&newer_forms());
}

/// An integer type's range.
#[derive(Clone, Copy)]
struct Range {
    name: &'static str,
    bits: u32,
    signed: bool,
}

const INTEGERS: [Range; 8] = [
    Range { name: "u8", bits: 8, signed: false },
    Range { name: "s8", bits: 8, signed: true },
    Range { name: "u16", bits: 16, signed: false },
    Range { name: "s16", bits: 16, signed: true },
    Range { name: "u32", bits: 32, signed: false },
    Range { name: "s32", bits: 32, signed: true },
    Range { name: "u64", bits: 64, signed: false },
    Range { name: "s64", bits: 64, signed: true },
];

impl Range {
    fn lowest(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn highest(self) -> i128 {
        if self.signed { (1 << (self.bits - 1)) - 1 } else { (1 << self.bits) - 1 }
    }

    fn read(self, bits: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed {
            i128::from((bits << unused) as i64 >> unused)
        } else {
            i128::from(bits << unused >> unused)
        }
    }

    /// The register that holds a value of it: no register has 8 bits.
    fn register(self) -> Kind {
        Kind::Integer(self.bits.max(16))
    }

    /// A value as the bits of such a register.
    fn write(self, value: i128) -> u64 {
        self.read(value as u64) as u64 & mask(self.register().bits())
    }
}

fn integers() -> Vec<Form> {
    let mut forms = Vec::new();
    for from in INTEGERS {
        for to in INTEGERS {
            let name = format!("cvt.{}.{}", to.name, from.name);
            forms.push(Form::new(&name, &[from.register()], to.register(), move |x| {
                to.write(from.read(x[0]))
            }));
            let clamped =
                move |x: &[u64]| to.write(from.read(x[0]).clamp(to.lowest(), to.highest()));
            let name = format!("cvt.sat.{}.{}", to.name, from.name);
            forms.push(Form::new(&name, &[from.register()], to.register(), clamped));
        }
    }
    forms
}

/// Rounding to a whole number.
type Round = fn(f64) -> f64;

fn float_to_integer<T: Value + 'static>(ty: &str, number: fn(T) -> f64) -> Vec<Form> {
    let mut forms = Vec::new();
    let modes: [(&str, Round); 4] = [
        ("rni", f64::round_ties_even),
        ("rzi", f64::trunc),
        ("rmi", f64::floor),
        ("rpi", f64::ceil),
    ];
    for (mode, round) in modes {
        for to in INTEGERS {
            let name = format!("cvt.{mode}.{}.{ty}", to.name);
            forms.push(Form::new(&name, &[T::KIND], to.register(), move |x| {
                let whole = round(number(T::from_bits(x[0])));
                if whole.is_nan() && (T::KIND == Kind::F64 || to.bits == 64) {
                    return to.write(1 << (to.bits - 1));
                }
                to.write((whole as i128).clamp(to.lowest(), to.highest()))
            }));
        }
    }
    forms
}

fn integer_to_float() -> Vec<Form> {
    let mut forms = Vec::new();
    let targets = [
        ("f32", Kind::F32, Format::F32),
        ("f64", Kind::F64, Format::F64),
        ("f16", Kind::F16, Format::F16),
    ];
    for (mode, rounding) in ROUNDING_MODES {
        for from in INTEGERS {
            for (name, kind, format) in targets {
                let name = format!("cvt.{mode}.{name}.{}", from.name);
                forms.push(Form::new(&name, &[from.register()], kind, move |x| {
                    convert_integer(from.read(x[0]), format, rounding)
                }));
            }
        }
    }
    forms
}

fn float_to_float() -> Vec<Form> {
    let mut forms = vec![
        unary("cvt.f64.f32", |a: f32| canonical(f64::from(a))),
        unary("cvt.f32.f16", |a: F16| canonical(::half::f16::from_bits(a.0).to_f32())),
        unary("cvt.f64.f16", |a: F16| canonical(to_f64(a))),
        unary("cvt.sat.f32.f32", |a: f32| if a > 0.0 { a.min(1.0) } else { 0.0 }),
        unary("cvt.ftz.f64.f32", |a: f32| canonical(f64::from(flushed(a)))),
        unary("cvt.rn.ftz.f32.f64", |a: f64| canonical(flushed(a as f32))),
        unary("cvt.rni.f32.f32", |a: f32| canonical(a.round_ties_even())),
        unary("cvt.rzi.f32.f32", |a: f32| canonical(a.trunc())),
        unary("cvt.rmi.f64.f64", |a: f64| canonical(a.floor())),
        unary("cvt.rpi.f64.f64", |a: f64| canonical(a.ceil())),
    ];
    for (mode, rounding) in ROUNDING_MODES {
        let narrow = move |from, to| move |bits: u64| converted(bits, from, to, rounding);
        let (single, half, short) = (
            narrow(Format::F64, Format::F32),
            narrow(Format::F32, Format::F16),
            narrow(Format::F64, Format::F16),
        );
        forms.extend([
            unary(&format!("cvt.{mode}.f32.f64"), move |a: f64| {
                f32::from_bits(single(a.into_bits()) as u32)
            }),
            unary(&format!("cvt.{mode}.f16.f32"), move |a: f32| F16(half(a.into_bits()) as u16)),
            unary(&format!("cvt.{mode}.f16.f64"), move |a: f64| F16(short(a.into_bits()) as u16)),
        ]);
    }
    forms
}
