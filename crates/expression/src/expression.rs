//! Expressions: straight-line programs of primitives.

mod display;
mod evaluate;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::{ComputeType, Primitive};

/// The number of a value in an expression. Operands have smaller numbers than what is computed from
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A value of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValueDef {
    /// The element of an input tensor, by the tensor's number.
    Input(u32),
    /// A number that is given at each call, the same for all elements, by its number.
    Scalar(u32),
    /// A number that belongs to the expression: the bits of a value of its type, in the low bytes.
    Constant(u64),
    /// A function of earlier values, as many as [`Primitive::arity`] says.
    Apply(Primitive, SmallVec<[ValueId; 3]>),
}

/// An elementwise function of tensors and numbers, with one or several results: a list of values in
/// the order in which they are computed (static single assignment), and which of them are results.
///
/// It is data: compared and hashed by its structure, evaluated block by block on the CPU (the crate
/// `cpu-kernels`), printed as PTX, and differentiated. Expressions are made by
/// [`trace`](crate::trace), which checks the types, and never change; a clone is another handle.
///
/// ```
/// use expression::{ComputeType, elementwise};
///
/// let f = elementwise([ComputeType::F32; 3], |[x, y, z]| (x * y + z).maximum(0.0));
/// assert_eq!(f.to_string(), "\
/// %0 = input f32 0
/// %1 = input f32 1
/// %2 = input f32 2
/// %3 = mul f32 %0, %1
/// %4 = add f32 %2, %3
/// %5 = constant f32 0
/// %6 = max f32 %4, %5
/// return %6
/// ");
/// ```
#[derive(Clone, Debug)]
pub struct Expression {
    body: Arc<ExpressionBody>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExpressionBody {
    inputs: SmallVec<[ComputeType; 4]>,
    scalars: SmallVec<[ComputeType; 4]>,
    values: Vec<(ComputeType, ValueDef)>,
    outputs: SmallVec<[ValueId; 2]>,
    /// The hash of the others, and 0 while it is computed.
    fingerprint: u64,
}

impl Expression {
    /// The expression of some of a list's values. Values that no result depends on are left out.
    pub(crate) fn of_used(
        inputs: &[ComputeType],
        scalars: &[ComputeType],
        all: &[(ComputeType, ValueDef)],
        outputs: &[ValueId],
    ) -> Expression {
        let mut used = vec![false; all.len()];
        let mut reached: SmallVec<[ValueId; 16]> = outputs.into();
        while let Some(id) = reached.pop() {
            if !std::mem::replace(&mut used[id.0 as usize], true)
                && let ValueDef::Apply(_, operands) = &all[id.0 as usize].1
            {
                reached.extend_from_slice(operands);
            }
        }
        let mut values = Vec::new();
        let mut renumbered = vec![ValueId(0); all.len()];
        for (number, (of, def)) in all.iter().enumerate() {
            if used[number] {
                renumbered[number] = ValueId(values.len() as u32);
                let mut def = def.clone();
                if let ValueDef::Apply(_, operands) = &mut def {
                    operands.iter_mut().for_each(|id| *id = renumbered[id.0 as usize]);
                }
                values.push((*of, def));
            }
        }
        let outputs = outputs.iter().map(|id| renumbered[id.0 as usize]).collect();
        Expression::new(inputs.into(), scalars.into(), values, outputs)
    }

    fn new(
        inputs: SmallVec<[ComputeType; 4]>,
        scalars: SmallVec<[ComputeType; 4]>,
        values: Vec<(ComputeType, ValueDef)>,
        outputs: SmallVec<[ValueId; 2]>,
    ) -> Expression {
        let mut body = ExpressionBody { inputs, scalars, values, outputs, fingerprint: 0 };
        let mut hasher = FxHasher::default();
        body.hash(&mut hasher);
        body.fingerprint = hasher.finish();
        Expression { body: Arc::new(body) }
    }

    /// The types in which the elements of the input tensors are loaded.
    pub fn inputs(&self) -> &[ComputeType] {
        &self.body.inputs
    }

    /// The types of the numbers that a call gives.
    pub fn scalars(&self) -> &[ComputeType] {
        &self.body.scalars
    }

    /// All values with their types, each after its operands. Each of them is used; an input or
    /// scalar that nothing depends on is not among them.
    pub fn values(&self) -> &[(ComputeType, ValueDef)] {
        &self.body.values
    }

    /// The results.
    pub fn outputs(&self) -> &[ValueId] {
        &self.body.outputs
    }

    /// The type of a value.
    pub fn type_of(&self, value: ValueId) -> ComputeType {
        self.body.values[value.0 as usize].0
    }

    /// A hash of the structure, computed once: equal expressions have equal ones. It is the same in
    /// every run of one build of a program, not beyond.
    pub fn fingerprint(&self) -> u64 {
        self.body.fingerprint
    }

    /// The expression without the inputs that it does not use, and the numbers that the others had.
    pub(crate) fn without_unused_inputs(&self) -> (Expression, Vec<usize>) {
        let mut used = vec![false; self.body.inputs.len()];
        for (_, def) in &self.body.values {
            if let ValueDef::Input(number) = def {
                used[*number as usize] = true;
            }
        }
        let kept: Vec<usize> = (0..used.len()).filter(|&number| used[number]).collect();
        let mut values = self.body.values.clone();
        for (_, def) in &mut values {
            if let ValueDef::Input(number) = def {
                *number = kept.partition_point(|&earlier| earlier < *number as usize) as u32;
            }
        }
        let inputs = kept.iter().map(|&number| self.body.inputs[number]).collect();
        let (scalars, outputs) = (self.body.scalars.clone(), self.body.outputs.clone());
        (Expression::new(inputs, scalars, values, outputs), kept)
    }

    /// The expression whose results are those of this one before they were converted from `F64` to
    /// `F32`, if that is how they end.
    pub(crate) fn with_wide_outputs(&self) -> Expression {
        let wide = |&output: &ValueId| match &self.body.values[output.0 as usize] {
            (ComputeType::F32, ValueDef::Apply(Primitive::Convert(_), operands))
                if self.type_of(operands[0]) == ComputeType::F64 =>
            {
                operands[0]
            }
            _ => output,
        };
        let outputs: SmallVec<[ValueId; 2]> = self.body.outputs.iter().map(wide).collect();
        if outputs == self.body.outputs {
            return self.clone();
        }
        let ExpressionBody { inputs, scalars, values, .. } = &*self.body;
        Expression::of_used(inputs, scalars, values, &outputs)
    }

    /// The input that a result is, if it is one as it came: nothing has to be computed for it.
    ///
    /// # Panics
    /// There is no such result.
    pub fn output_as_input(&self, output: usize) -> Option<usize> {
        match self.body.values[self.body.outputs[output].0 as usize].1 {
            ValueDef::Input(number) => Some(number as usize),
            _ => None,
        }
    }

    /// The expression of one of the results alone, of the same inputs and scalars.
    ///
    /// # Panics
    /// There is no such result.
    pub fn result(&self, output: usize) -> Expression {
        let output = self.body.outputs[output];
        Expression::of_used(&self.body.inputs, &self.body.scalars, &self.body.values, &[output])
    }

    /// For each value whether it is the same for all elements: computed from scalars and constants
    /// alone.
    pub fn uniform_values(&self) -> Vec<bool> {
        let mut uniform: Vec<bool> = Vec::with_capacity(self.body.values.len());
        for (_, def) in &self.body.values {
            uniform.push(match def {
                ValueDef::Input(_) => false,
                ValueDef::Scalar(_) | ValueDef::Constant(_) => true,
                ValueDef::Apply(_, operands) => operands.iter().all(|id| uniform[id.0 as usize]),
            });
        }
        uniform
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        // The fingerprints differ for nearly all that differ.
        Arc::ptr_eq(&self.body, &other.body)
            || (self.body.fingerprint == other.body.fingerprint && self.body == other.body)
    }
}

impl Eq for Expression {}

impl Hash for Expression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.body.fingerprint);
    }
}
