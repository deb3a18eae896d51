//! Instructions of integers. They wrap around, and division by zero gives 0.

use super::writer::{InstructionWriter, RegisterClass, VirtualRegister};
use crate::{ComputeType, Primitive};

/// Bits per value.
fn bits(of: ComputeType) -> usize {
    of.size() * 8
}

/// Writes a function of integers whose result is one; `None` if instructions have no such
/// function.
pub(super) fn apply(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    operands: &[VirtualRegister],
) -> Option<VirtualRegister> {
    let (class, bits) = (RegisterClass::of(of), bits(of));
    let a = operands[0];
    let mut unary = |opcode: &str| w.emit(class, format_args!("{opcode}{bits}"), &[&a]);
    match (primitive, operands) {
        (Primitive::Neg, _) => Some(unary("neg.s")),
        (Primitive::Abs, _) => Some(unary("abs.s")),
        (Primitive::Not, _) => Some(unary("not.b")),
        (_, &[a, b]) => binary(w, primitive, of, a, b),
        _ => None,
    }
}

fn binary(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    a: VirtualRegister,
    b: VirtualRegister,
) -> Option<VirtualRegister> {
    let (class, bits) = (RegisterClass::of(of), bits(of));
    let mut emit = |opcode: &str| w.emit(class, format_args!("{opcode}{bits}"), &[&a, &b]);
    Some(match primitive {
        Primitive::Add => emit("add.s"),
        Primitive::Sub => emit("sub.s"),
        Primitive::Mul => emit("mul.lo.s"),
        Primitive::Max => emit("max.s"),
        Primitive::Min => emit("min.s"),
        Primitive::And => emit("and.b"),
        Primitive::Or => emit("or.b"),
        Primitive::Xor => emit("xor.b"),
        Primitive::Shl | Primitive::Shr => shift(w, primitive, of, a, b),
        Primitive::Div => zero_by_zero(w, of, "div", a, b),
        Primitive::Fmod => zero_by_zero(w, of, "rem", a, b),
        Primitive::FloorDiv => {
            let quotient = zero_by_zero(w, of, "div", a, b);
            let product = w.emit(class, format_args!("mul.lo.s{bits}"), &[&quotient, &b]);
            let rest = w.emit(class, format_args!("sub.s{bits}"), &[&a, &product]);
            let differs = signs_differ(w, of, rest, b);
            // Where the divisor is 0, the rest is `a`, and there is nothing to round.
            let divides = w.predicate(format_args!("setp.ne.s{bits}"), &[&b, &0]);
            let lower = w.predicate("and.pred", &[&differs, &divides]);
            let less = w.emit(class, format_args!("sub.s{bits}"), &[&quotient, &1]);
            w.emit(class, format_args!("selp.b{bits}"), &[&less, &quotient, &lower])
        }
        Primitive::Remainder => {
            let rest = zero_by_zero(w, of, "rem", a, b);
            let differs = signs_differ(w, of, rest, b);
            let moved = w.emit(class, format_args!("add.s{bits}"), &[&rest, &b]);
            w.emit(class, format_args!("selp.b{bits}"), &[&moved, &rest, &differs])
        }
        _ => return None,
    })
}

/// `div` or `rem`, whose result is open where the divisor is 0: here it is 0.
fn zero_by_zero(
    w: &mut InstructionWriter,
    of: ComputeType,
    opcode: &str,
    a: VirtualRegister,
    b: VirtualRegister,
) -> VirtualRegister {
    let (class, bits) = (RegisterClass::of(of), bits(of));
    let by_zero = w.predicate(format_args!("setp.eq.s{bits}"), &[&b, &0]);
    let result = w.emit(class, format_args!("{opcode}.s{bits}"), &[&a, &b]);
    w.emit(class, format_args!("selp.b{bits}"), &[&0, &result, &by_zero])
}

/// Whether a remainder is not 0 and has another sign than the divisor.
fn signs_differ(
    w: &mut InstructionWriter,
    of: ComputeType,
    rest: VirtualRegister,
    divisor: VirtualRegister,
) -> VirtualRegister {
    let (class, bits) = (RegisterClass::of(of), bits(of));
    let signs = w.emit(class, format_args!("xor.b{bits}"), &[&rest, &divisor]);
    let differ = w.predicate(format_args!("setp.lt.s{bits}"), &[&signs, &0]);
    let is_rest = w.predicate(format_args!("setp.ne.s{bits}"), &[&rest, &0]);
    w.predicate("and.pred", &[&differ, &is_rest])
}

/// A shift. The instructions take the amount as an unsigned number of 32 bits, and treat all that is
/// larger than the number of bits alike: nothing but the sign remains. Negative amounts are large
/// ones.
fn shift(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    a: VirtualRegister,
    amount: VirtualRegister,
) -> VirtualRegister {
    let (class, bits) = (RegisterClass::of(of), bits(of));
    let amount = if of == ComputeType::I64 {
        let clamped = w.b64("min.u64", &[&amount, &64]);
        w.b32("cvt.u32.u64", &[&clamped])
    } else {
        amount
    };
    let opcode = if primitive == Primitive::Shl { "shl.b" } else { "shr.s" };
    w.emit(class, format_args!("{opcode}{bits}"), &[&a, &amount])
}
