//! Expressions: straight-line programs of primitives.

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
/// [`trace`](crate::trace), which checks the types, and never change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    inputs: SmallVec<[ComputeType; 4]>,
    scalars: SmallVec<[ComputeType; 4]>,
    values: Vec<(ComputeType, ValueDef)>,
    outputs: SmallVec<[ValueId; 2]>,
}

impl Expression {
    pub(crate) fn new(
        inputs: SmallVec<[ComputeType; 4]>,
        scalars: SmallVec<[ComputeType; 4]>,
        values: Vec<(ComputeType, ValueDef)>,
        outputs: SmallVec<[ValueId; 2]>,
    ) -> Expression {
        Expression { inputs, scalars, values, outputs }
    }

    /// The types in which the elements of the input tensors are loaded.
    pub fn inputs(&self) -> &[ComputeType] {
        &self.inputs
    }

    /// The types of the numbers that a call gives.
    pub fn scalars(&self) -> &[ComputeType] {
        &self.scalars
    }

    /// All values with their types, each after its operands.
    pub fn values(&self) -> &[(ComputeType, ValueDef)] {
        &self.values
    }

    /// The results.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// The type of a value.
    pub fn type_of(&self, value: ValueId) -> ComputeType {
        self.values[value.0 as usize].0
    }
}
