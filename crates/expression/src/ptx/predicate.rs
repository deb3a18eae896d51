//! Truth values, which are predicates while they are computed with.

use super::writer::{InstructionWriter, VirtualRegister};
use crate::{ComputeType, Primitive};

/// Writes a function of truth values whose result is one; `None` if there is no such function.
pub(super) fn apply(
    w: &mut InstructionWriter,
    primitive: Primitive,
    operands: &[VirtualRegister],
) -> Option<VirtualRegister> {
    let &[a, b] = operands else {
        return (primitive == Primitive::Not).then(|| w.predicate("not.pred", &[&operands[0]]));
    };
    let mut both = |opcode: &str, a, b| w.predicate(opcode, &[&a, &b]);
    Some(match primitive {
        Primitive::And => both("and.pred", a, b),
        Primitive::Or => both("or.pred", a, b),
        Primitive::Xor | Primitive::Ne => both("xor.pred", a, b),
        Primitive::Eq => {
            let differ = both("xor.pred", a, b);
            w.predicate("not.pred", &[&differ])
        }
        Primitive::Gt => and_not(w, a, b),
        Primitive::Lt => and_not(w, b, a),
        Primitive::Le => {
            let above = and_not(w, a, b);
            w.predicate("not.pred", &[&above])
        }
        Primitive::Ge => {
            let below = and_not(w, b, a);
            w.predicate("not.pred", &[&below])
        }
        _ => return None,
    })
}

/// `a` and not `b`: whether `a` is the larger truth value.
fn and_not(w: &mut InstructionWriter, a: VirtualRegister, b: VirtualRegister) -> VirtualRegister {
    let not = w.predicate("not.pred", &[&b]);
    w.predicate("and.pred", &[&a, &not])
}

/// Writes a choice between truth values, for which there is no `selp`.
pub(super) fn select(
    w: &mut InstructionWriter,
    condition: VirtualRegister,
    [a, b]: [VirtualRegister; 2],
) -> VirtualRegister {
    let first = w.predicate("and.pred", &[&condition, &a]);
    let second = and_not(w, b, condition);
    w.predicate("or.pred", &[&first, &second])
}

/// Writes a comparison of numbers; `None` if the primitive is none.
pub(super) fn compare(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    operands: &[VirtualRegister],
) -> Option<VirtualRegister> {
    let comparison = match primitive {
        Primitive::Eq => "eq",
        // NaN differs from everything.
        Primitive::Ne if of.is_float() => "neu",
        Primitive::Ne => "ne",
        Primitive::Lt => "lt",
        Primitive::Le => "le",
        Primitive::Gt => "gt",
        Primitive::Ge => "ge",
        _ => return None,
    };
    let &[a, b] = operands else { return None };
    let suffix = match of {
        ComputeType::F64 => "f64",
        ComputeType::F32 => "f32",
        ComputeType::I64 => "s64",
        _ => "s32",
    };
    Some(w.predicate(format_args!("setp.{comparison}.{suffix}"), &[&a, &b]))
}
