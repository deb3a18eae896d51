//! Tracing: closures over [`Value`]s become expressions.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::expression::{Expression, ValueDef, ValueId};
use crate::{ComputeType, Primitive};

/// A value of an expression that is being traced. Arithmetic on values, their methods and
/// comparisons add to the expression.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    trace: &'t Trace,
    id: ValueId,
}

/// The expression that is being traced. Equal values are computed once.
pub struct Trace {
    draft: RefCell<Draft>,
}

#[derive(Default)]
struct Draft {
    values: Vec<(ComputeType, ValueDef)>,
    known: FxHashMap<(ComputeType, ValueDef), ValueId>,
}

/// The expression that a closure computes from `inputs` tensors and `scalars` numbers of these
/// types. Values that no result depends on are left out.
pub fn trace(
    inputs: &[ComputeType],
    scalars: &[ComputeType],
    f: impl for<'t> FnOnce(&'t Trace, &[Value<'t>], &[Value<'t>]) -> SmallVec<[Value<'t>; 2]>,
) -> Expression {
    let trace = Trace { draft: RefCell::default() };
    let of = |types: &[ComputeType], def: fn(u32) -> ValueDef| -> Vec<Value<'_>> {
        (0..).zip(types).map(|(number, &of)| trace.push(of, def(number))).collect()
    };
    let (tensors, numbers) = (of(inputs, ValueDef::Input), of(scalars, ValueDef::Scalar));
    let outputs = f(&trace, &tensors, &numbers).iter().map(|value| value.id).collect();
    let values = trace.draft.borrow().values.clone();
    Expression::new(inputs.into(), scalars.into(), values, outputs)
}

impl Trace {
    fn push(&self, of: ComputeType, def: ValueDef) -> Value<'_> {
        let mut draft = self.draft.borrow_mut();
        let next = ValueId(draft.values.len() as u32);
        let id = *draft.known.entry((of, def.clone())).or_insert(next);
        if id == next {
            draft.values.push((of, def));
        }
        Value { trace: self, id }
    }

    fn type_of(&self, id: ValueId) -> ComputeType {
        self.draft.borrow().values[id.0 as usize].0
    }

    /// A primitive of some values.
    ///
    /// # Panics
    /// There is no such function of these types.
    pub fn apply<'t>(&'t self, primitive: Primitive, operands: &[Value<'t>]) -> Value<'t> {
        let types: SmallVec<[ComputeType; 3]> =
            operands.iter().map(|operand| operand.compute_type()).collect();
        let Some(result) = primitive.result_type(&types) else {
            panic!("{primitive:?} of {types:?}: there is no such function");
        };
        let operands = operands.iter().map(|operand| operand.id).collect();
        self.push(result, ValueDef::Apply(primitive, operands))
    }
}

impl<'t> Value<'t> {
    /// The type of the value.
    pub fn compute_type(self) -> ComputeType {
        self.trace.type_of(self.id)
    }
}
