//! Identities by which a value is an earlier one or a cheaper one. All of them hold for every
//! value of the type, signed zeros, infinities and NaN among them (but for which NaN it is), and
//! in every rounding of an approximated function.

use smallvec::{SmallVec, smallvec};

use crate::constant::{bits_of_f32, f32_of};
use crate::expression::{ValueDef, ValueId};
use crate::{ComputeType, Constant, Primitive, reference};

/// The operands of a primitive.
pub(crate) type ValueIds = SmallVec<[ValueId; 3]>;

/// The simpler value that a value is.
pub(crate) enum Simpler {
    /// An earlier value.
    Same(ValueId),
    /// Another function of earlier values.
    Apply(Primitive, ValueIds),
    /// The first function of a second one's value: the outer, the inner, and the inner's operands.
    Nested(Primitive, Primitive, ValueIds),
    /// A constant of the result's type.
    Constant(u64),
    /// A function of an earlier value and a constant of that value's type.
    WithConstant(Primitive, ValueId, u64),
}

/// The values that there are, as the rules see them.
#[derive(Clone, Copy)]
pub(crate) struct KnownValues<'v>(pub(crate) &'v [(ComputeType, ValueDef)]);

impl KnownValues<'_> {
    fn type_of(self, id: ValueId) -> ComputeType {
        self.0[id.0 as usize].0
    }

    fn constant(self, id: ValueId) -> Option<u64> {
        match self.0[id.0 as usize].1 {
            ValueDef::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// Whether a value is this constant, bit for bit.
    fn is(self, id: ValueId, number: impl Into<Constant>) -> bool {
        let bits = number.into().bits(self.type_of(id));
        bits.is_some() && self.constant(id) == bits
    }

    /// The operand, if a value is this function of one.
    fn operand(self, id: ValueId, of: Primitive) -> Option<ValueId> {
        match &self.0[id.0 as usize].1 {
            ValueDef::Apply(primitive, operands) if *primitive == of => Some(operands[0]),
            _ => None,
        }
    }

    /// The simpler value that a primitive of these values is, if there is one.
    pub(crate) fn simpler(self, primitive: Primitive, operands: &ValueIds) -> Option<Simpler> {
        match operands.as_slice() {
            [a] => self.unary(primitive, *a),
            [a, b] => self.binary(primitive, *a, *b),
            [condition, a, b] => self.select(*condition, *a, *b),
            _ => None,
        }
    }

    fn unary(self, primitive: Primitive, a: ValueId) -> Option<Simpler> {
        use Primitive::*;
        match primitive {
            Neg | Not => self.operand(a, primitive).map(Simpler::Same),
            Abs => match self.operand(a, Neg) {
                Some(inner) => Some(Simpler::Apply(Abs, smallvec![inner])),
                None => self.operand(a, Abs).map(|_| Simpler::Same(a)),
            },
            Convert(target) => self.convert(target, a),
            _ => None,
        }
    }

    fn convert(self, target: ComputeType, a: ValueId) -> Option<Simpler> {
        let of = self.type_of(a);
        if of == target {
            return Some(Simpler::Same(a));
        }
        // From and back, through a type that holds every value.
        let inner = self.operand(a, Primitive::Convert(of))?;
        let first = self.type_of(inner);
        let lossless = holds(of, first);
        match target {
            _ if !lossless => None,
            _ if target == first => Some(Simpler::Same(inner)),
            // A conversion depends on the number only, however it is held.
            _ => Some(Simpler::Apply(Primitive::Convert(target), smallvec![inner])),
        }
    }

    fn binary(self, primitive: Primitive, a: ValueId, b: ValueId) -> Option<Simpler> {
        match self.type_of(a) {
            ComputeType::Bool => self.binary_bool(primitive, a, b),
            of if of.is_float() => self.binary_float(primitive, a, b),
            _ => self.binary_integer(primitive, a, b),
        }
    }

    fn binary_float(self, primitive: Primitive, a: ValueId, b: ValueId) -> Option<Simpler> {
        use Primitive::*;
        let neg = |id| self.operand(id, Neg);
        match primitive {
            // Not `x + 0.0`, which is 0.0 for -0.0.
            Add if self.is(b, -0.0) => Some(Simpler::Same(a)),
            Sub if self.is(b, 0.0) => Some(Simpler::Same(a)),
            Sub if self.is(a, -0.0) => Some(Simpler::Apply(Neg, smallvec![b])),
            Mul | Div if self.is(b, 1.0) => Some(Simpler::Same(a)),
            Mul | Div if self.is(b, -1.0) => Some(Simpler::Apply(Neg, smallvec![a])),
            Pow if self.is(b, 1.0) => Some(Simpler::Same(a)),
            Pow if self.is(b, 2.0) => Some(Simpler::Apply(Mul, smallvec![a, a])),
            Max | Min | Fmax | Fmin if a == b => Some(Simpler::Same(a)),
            Add => match (neg(a), neg(b)) {
                (_, Some(b)) => Some(Simpler::Apply(Sub, smallvec![a, b])),
                (Some(a), None) => Some(Simpler::Apply(Sub, smallvec![b, a])),
                (None, None) => None,
            },
            Sub => neg(b).map(|b| Simpler::Apply(Add, smallvec![a, b])),
            // Signs go outwards, where sums take them up.
            Mul | Div => match (neg(a), neg(b)) {
                (Some(a), Some(b)) => Some(Simpler::Apply(primitive, smallvec![a, b])),
                (Some(a), None) if self.constant(b).is_some() => {
                    let bits = reference::apply(Neg, self.type_of(b), &[self.constant(b)?]);
                    Some(Simpler::WithConstant(primitive, a, bits))
                }
                (Some(a), None) => Some(Simpler::Nested(Neg, primitive, smallvec![a, b])),
                (None, Some(b)) => Some(Simpler::Nested(Neg, primitive, smallvec![a, b])),
                (None, None) if primitive == Div => self.by_power_of_two(a, b),
                (None, None) => None,
            },
            _ => None,
        }
    }

    /// A quotient by a power of two is a product, exactly.
    fn by_power_of_two(self, a: ValueId, b: ValueId) -> Option<Simpler> {
        let bits = self.constant(b)?;
        let inverse = match self.type_of(b) {
            ComputeType::F32 => {
                let (divisor, inverse) = (f32_of(bits), 1.0 / f32_of(bits));
                let exact = divisor.is_normal() && inverse.is_normal() && bits & 0x7f_ffff == 0;
                exact.then(|| bits_of_f32(inverse))?
            }
            _ => {
                let (divisor, inverse) = (f64::from_bits(bits), 1.0 / f64::from_bits(bits));
                let exact = divisor.is_normal() && inverse.is_normal() && bits << 12 == 0;
                exact.then(|| inverse.to_bits())?
            }
        };
        Some(Simpler::WithConstant(Primitive::Mul, a, inverse))
    }

    fn binary_integer(self, primitive: Primitive, a: ValueId, b: ValueId) -> Option<Simpler> {
        use Primitive::*;
        match primitive {
            Add | Sub | Or | Xor | Shl | Shr if self.is(b, 0_i64) => Some(Simpler::Same(a)),
            Mul | Div | FloorDiv | Pow if self.is(b, 1_i64) => Some(Simpler::Same(a)),
            And if self.is(b, -1_i64) => Some(Simpler::Same(a)),
            Mul | And if self.is(b, 0_i64) => Some(Simpler::Same(b)),
            Max | Min | And | Or if a == b => Some(Simpler::Same(a)),
            Sub | Xor if a == b => Some(Simpler::Constant(0)),
            Eq | Le | Ge if a == b => Some(Simpler::Constant(1)),
            Ne | Lt | Gt if a == b => Some(Simpler::Constant(0)),
            _ => None,
        }
    }

    fn binary_bool(self, primitive: Primitive, a: ValueId, b: ValueId) -> Option<Simpler> {
        use Primitive::*;
        let (is_true, is_false) = (self.is(b, true), self.is(b, false));
        match primitive {
            And | Eq if is_true => Some(Simpler::Same(a)),
            Or | Xor | Ne if is_false => Some(Simpler::Same(a)),
            And | Or if is_true || is_false || a == b => {
                Some(Simpler::Same(if a == b { a } else { b }))
            }
            And if let (Some(a), Some(b)) = (self.operand(a, Not), self.operand(b, Not)) => {
                Some(Simpler::Nested(Not, Or, smallvec![a, b]))
            }
            Xor | Ne if is_true => Some(Simpler::Apply(Not, smallvec![a])),
            Eq if is_false => Some(Simpler::Apply(Not, smallvec![a])),
            Xor | Ne | Lt | Gt if a == b => Some(Simpler::Constant(0)),
            Eq | Le | Ge if a == b => Some(Simpler::Constant(1)),
            _ => None,
        }
    }

    fn select(self, condition: ValueId, a: ValueId, b: ValueId) -> Option<Simpler> {
        match self.constant(condition) {
            Some(0) => return Some(Simpler::Same(b)),
            Some(_) => return Some(Simpler::Same(a)),
            None if a == b => return Some(Simpler::Same(a)),
            None => {}
        }
        if self.is(a, true) && self.is(b, false) && self.type_of(a) == ComputeType::Bool {
            return Some(Simpler::Same(condition));
        }
        let positive = self.operand(condition, Primitive::Not)?;
        Some(Simpler::Apply(Primitive::Select, smallvec![positive, b, a]))
    }
}

/// Whether each value of a type is one of another type, which conversion there and back gives again.
fn holds(outer: ComputeType, inner: ComputeType) -> bool {
    use ComputeType::*;
    matches!(
        (outer, inner),
        (F64, F32 | I32 | Bool) | (F32, Bool) | (I64, I32 | Bool) | (I32, Bool)
    )
}
