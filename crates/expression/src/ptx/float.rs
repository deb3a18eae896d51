//! Instructions of floating-point numbers. Nothing is contracted: each is rounded by itself.

use super::writer::{InstructionWriter, RegisterClass, VirtualRegister};
use crate::{ComputeType, Primitive};

/// A number that has a value in every floating-point type, as an immediate.
pub(super) fn immediate(of: ComputeType, value: f64) -> String {
    match of {
        ComputeType::F64 => format!("0d{:016X}", value.to_bits()),
        _ => format!("0f{:08X}", (value as f32).to_bits()),
    }
}

/// Writes a function of floats whose result is a float; `None` if instructions have no such
/// function.
pub(super) fn apply(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    operands: &[VirtualRegister],
) -> Option<VirtualRegister> {
    let class = RegisterClass::of(of);
    let suffix = class.suffix();
    let a = operands[0];
    let mut unary = |opcode: &str| w.emit(class, format_args!("{opcode}.{suffix}"), &[&a]);
    let result = match primitive {
        Primitive::Neg => unary("neg"),
        Primitive::Abs => unary("abs"),
        Primitive::Sqrt => unary("sqrt.rn"),
        // Two steps that are rounded to nearest, which any machine repeats to the bit; the
        // instruction `rsqrt` is an approximation.
        Primitive::Rsqrt => {
            let root = unary("sqrt.rn");
            w.emit(class, format_args!("rcp.rn.{suffix}"), &[&root])
        }
        Primitive::Floor => unary(&format!("cvt.rmi.{suffix}")),
        Primitive::Ceil => unary(&format!("cvt.rpi.{suffix}")),
        Primitive::Round => unary(&format!("cvt.rni.{suffix}")),
        Primitive::Trunc => unary(&format!("cvt.rzi.{suffix}")),
        _ => return binary(w, primitive, of, operands),
    };
    Some(result)
}

fn binary(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    operands: &[VirtualRegister],
) -> Option<VirtualRegister> {
    let &[a, b] = operands else { return None };
    let class = RegisterClass::of(of);
    let suffix = class.suffix();
    let mut binary = |opcode: &str| w.emit(class, format_args!("{opcode}.{suffix}"), &[&a, &b]);
    let result = match primitive {
        Primitive::Add => binary("add.rn"),
        Primitive::Sub => binary("sub.rn"),
        Primitive::Mul => binary("mul.rn"),
        Primitive::Div => binary("div.rn"),
        // The instructions give the other operand if one is NaN.
        Primitive::Fmax => binary("max"),
        Primitive::Fmin => binary("min"),
        Primitive::Max => {
            let larger = binary("max");
            nan_wins(w, of, larger, [a, b])
        }
        Primitive::Min => {
            let smaller = binary("min");
            nan_wins(w, of, smaller, [a, b])
        }
        // The instruction takes the sign from its first operand.
        Primitive::Copysign => w.emit(class, format_args!("copysign.{suffix}"), &[&b, &a]),
        _ => return None,
    };
    Some(result)
}

/// The result, or NaN if an operand is NaN. (`max.NaN` is not in the PTX of sm_75.)
fn nan_wins(
    w: &mut InstructionWriter,
    of: ComputeType,
    result: VirtualRegister,
    [a, b]: [VirtualRegister; 2],
) -> VirtualRegister {
    let suffix = result.class.suffix();
    let is_nan = w.predicate(format_args!("setp.nan.{suffix}"), &[&a, &b]);
    let nan = immediate(of, f64::NAN);
    w.emit(result.class, format_args!("selp.{suffix}"), &[&nan, &result, &is_nan])
}
