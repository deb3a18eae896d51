//! Lists of values to which values are added: each of them once, and the simplest that it can be.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::expression::{Expression, ValueDef, ValueId};
use crate::simplify::{KnownValues, Simpler, ValueIds};
use crate::{ComputeType, Primitive, reference};

/// An expression that is being written.
#[derive(Default)]
pub(crate) struct Draft {
    values: Vec<(ComputeType, ValueDef)>,
    numbers: FxHashMap<(ComputeType, ValueDef), ValueId>,
}

impl Draft {
    pub(crate) fn type_of(&self, id: ValueId) -> ComputeType {
        self.values[id.0 as usize].0
    }

    /// The value with this definition, which is an earlier one if there is one.
    pub(crate) fn push(&mut self, of: ComputeType, def: ValueDef) -> ValueId {
        let next = ValueId(self.values.len() as u32);
        let id = *self.numbers.entry((of, def.clone())).or_insert(next);
        if id == next {
            self.values.push((of, def));
        }
        id
    }

    /// The value of a primitive, or `None` if there is no such function of these types.
    pub(crate) fn apply(&mut self, primitive: Primitive, operands: &[ValueId]) -> Option<ValueId> {
        let types: SmallVec<[ComputeType; 3]> =
            operands.iter().map(|&operand| self.type_of(operand)).collect();
        let result = primitive.result_type(&types)?;
        let mut operands: ValueIds = operands.into();
        if let Some(bits) = self.folded(primitive, &operands) {
            return Some(self.push(result, ValueDef::Constant(bits)));
        }
        if primitive.is_commutative() {
            // Constants come last, where the identities look for them.
            operands.sort_by_key(|&id| (self.constant(id).is_some(), id));
        }
        let Some(simpler) = KnownValues(&self.values).simpler(primitive, &operands) else {
            return Some(self.push(result, ValueDef::Apply(primitive, operands)));
        };
        match simpler {
            Simpler::Same(id) => Some(id),
            Simpler::Constant(bits) => Some(self.push(result, ValueDef::Constant(bits))),
            Simpler::Apply(primitive, operands) => self.apply(primitive, &operands),
            Simpler::Nested(outer, inner, operands) => {
                let inner = self.apply(inner, &operands)?;
                self.apply(outer, &[inner])
            }
            Simpler::WithConstant(primitive, a, bits) => {
                let constant = self.push(self.type_of(a), ValueDef::Constant(bits));
                self.apply(primitive, &[a, constant])
            }
        }
    }

    /// The bits, if the value is a constant.
    pub(crate) fn constant(&self, id: ValueId) -> Option<u64> {
        match self.values[id.0 as usize].1 {
            ValueDef::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// The bits of a primitive of constants. Approximated functions are left to the backends, whose
    /// results would differ from the reference's in the last digits.
    fn folded(&self, primitive: Primitive, operands: &ValueIds) -> Option<u64> {
        let of = self.type_of(*operands.last()?);
        if !primitive.is_exact(of) {
            return None;
        }
        let bits: SmallVec<[u64; 3]> =
            operands.iter().map(|&id| self.constant(id)).collect::<Option<_>>()?;
        Some(reference::apply(primitive, of, &bits))
    }

    /// The expression with these results. Values that no result depends on are left out.
    pub(crate) fn finish(
        &self,
        inputs: &[ComputeType],
        scalars: &[ComputeType],
        outputs: &[ValueId],
    ) -> Expression {
        Expression::of_used(inputs, scalars, &self.values, outputs)
    }
}

#[cfg(test)]
mod tests;
