//! Primitives as instructions.

use super::error::PrintError;
use super::writer::{InstructionWriter, RegisterClass, VirtualRegister};
use super::{float, function, integer, predicate};
use crate::{ComputeType, Primitive};

/// Writes a number that is the same for all elements, by its bits.
pub(super) fn constant(w: &mut InstructionWriter, of: ComputeType, bits: u64) -> VirtualRegister {
    let class = RegisterClass::of(of);
    let value = match of {
        ComputeType::F64 => format!("0d{bits:016X}"),
        ComputeType::F32 => format!("0f{:08X}", bits as u32),
        ComputeType::I64 => format!("{}", bits as i64),
        ComputeType::I32 => format!("{}", bits as u32 as i32),
        ComputeType::Bool => {
            let value = w.b32("mov.b32", &[&u8::from(bits as u8 != 0)]);
            return w.predicate("setp.ne.s32", &[&value, &0]);
        }
    };
    w.emit(class, format_args!("mov.{}", class.suffix()), &[&value])
}

/// Writes a primitive of values whose first has the type `of` (for a choice, the second).
///
/// # Errors
/// [`PrintError::Unsupported`]
pub(super) fn apply(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    operands: &[VirtualRegister],
) -> Result<VirtualRegister, PrintError> {
    let result = match (primitive, operands) {
        (Primitive::Convert(to), &[a]) => Some(convert(w, of, to, a)),
        (Primitive::Select, &[condition, a, b]) => Some(select(w, condition, [a, b])),
        _ if of == ComputeType::Bool => predicate::apply(w, primitive, operands),
        _ => predicate::compare(w, primitive, of, operands)
            .or_else(|| match of.is_float() {
                true => float::apply(w, primitive, of, operands),
                false => integer::apply(w, primitive, of, operands),
            })
            .or_else(|| function::apply(w, primitive, of, operands)),
    };
    result.ok_or(PrintError::Unsupported { primitive, of })
}

fn select(
    w: &mut InstructionWriter,
    condition: VirtualRegister,
    [a, b]: [VirtualRegister; 2],
) -> VirtualRegister {
    if a.class == RegisterClass::Predicate {
        return predicate::select(w, condition, [a, b]);
    }
    w.emit(a.class, format_args!("selp.{}", a.class.suffix()), &[&a, &b, &condition])
}

fn convert(
    w: &mut InstructionWriter,
    from: ComputeType,
    to: ComputeType,
    a: VirtualRegister,
) -> VirtualRegister {
    use ComputeType::*;
    match (from, to) {
        _ if from == to => a,
        (F64, F32) => w.emit(RegisterClass::F32, "cvt.rn.f32.f64", &[&a]),
        (F32, F64) => w.emit(RegisterClass::F64, "cvt.f64.f32", &[&a]),
        (F64 | F32, Bool) => {
            let zero = float::immediate(from, 0.0);
            w.predicate(format_args!("setp.neu.{}", a.class.suffix()), &[&a, &zero])
        }
        (F64 | F32, _) => float_to_integer(w, to, a),
        (I64, I32) => w.b32("cvt.u32.u64", &[&a]),
        (I32, I64) => w.b64("cvt.s64.s32", &[&a]),
        (I64, Bool) => w.predicate("setp.ne.s64", &[&a, &0]),
        (I32, Bool) => w.predicate("setp.ne.s32", &[&a, &0]),
        (Bool, _) => {
            let class = RegisterClass::of(to);
            let (one, zero) = match to {
                F64 | F32 => (float::immediate(to, 1.0), float::immediate(to, 0.0)),
                _ => ("1".to_owned(), "0".to_owned()),
            };
            w.emit(class, format_args!("selp.{}", class.suffix()), &[&one, &zero, &a])
        }
        (I64 | I32, _) => {
            let (class, bits) = (RegisterClass::of(to), from.size() * 8);
            w.emit(class, format_args!("cvt.rn.{}.s{bits}", class.suffix()), &[&a])
        }
    }
}

/// The instruction brings numbers that are too large into the range, and makes 0 of NaN only from
/// `f32` to 32 bits.
fn float_to_integer(
    w: &mut InstructionWriter,
    to: ComputeType,
    a: VirtualRegister,
) -> VirtualRegister {
    let (class, bits, suffix) = (RegisterClass::of(to), to.size() * 8, a.class.suffix());
    let cut = w.emit(class, format_args!("cvt.rzi.s{bits}.{suffix}"), &[&a]);
    if to == ComputeType::I32 && a.class == RegisterClass::F32 {
        return cut;
    }
    let is_nan = w.predicate(format_args!("setp.nan.{suffix}"), &[&a, &a]);
    w.emit(class, format_args!("selp.b{bits}"), &[&0, &cut, &is_nan])
}
