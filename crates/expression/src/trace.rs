//! Tracing: closures over [`Value`]s become expressions.

mod operators;

use std::cell::RefCell;
use std::fmt;

use smallvec::{SmallVec, smallvec};

use crate::draft::Draft;
use crate::expression::{Expression, ValueDef, ValueId};
use crate::{ComputeType, Constant, Primitive};

/// A value of an expression that is being traced. Arithmetic on values, their methods and
/// comparisons add to the expression.
///
/// The operators are those of the primitives: `+ - * /` of numbers (integers are divided with the
/// fraction cut off), `& | ^ !` of integers and truth values, `<< >>` of integers. Of truth values
/// `+` is "or", and `*` is "and". Comparisons are methods, as in [`Value::lt`]. An operand may be a
/// constant ([`ValueOrConstant`]), which then has the type of the other one.
///
/// # Panics
/// All of them panic if the operands' types differ, if there is no such function of the type, or if
/// the type has no such constant: an expression that is written so is wrong, whatever it is called
/// with.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    trace: &'t Trace,
    id: ValueId,
}

/// The expression that is being traced. Equal values are computed once, and identities that hold
/// for every value (signed zeros, infinities and NaN among them) are applied.
pub struct Trace {
    draft: RefCell<Draft>,
}

/// The expression that a closure computes from `inputs` tensors and `scalars` numbers of these
/// types. Values that no result depends on are left out.
///
/// ```
/// use expression::{ComputeType, trace};
/// use smallvec::smallvec;
///
/// let f = trace(&[ComputeType::F32; 2], &[ComputeType::F32], |_, tensors, numbers| {
///     smallvec![tensors[0] + tensors[1] * numbers[0], tensors[0].exp()]
/// });
/// assert_eq!(f.outputs().len(), 2);
/// ```
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
    let outputs: SmallVec<[ValueId; 2]> =
        f(&trace, &tensors, &numbers).iter().map(|value| value.id).collect();
    trace.draft.borrow().finish(inputs, scalars, &outputs)
}

/// The expression with one result that a closure computes from tensors of these types.
///
/// ```
/// use expression::{ComputeType, elementwise};
///
/// let square_of_sum = elementwise([ComputeType::F64; 2], |[x, y]| (x + y).square());
/// assert_eq!(square_of_sum.values().len(), 4);
/// ```
pub fn elementwise<const N: usize>(
    inputs: [ComputeType; N],
    f: impl for<'t> FnOnce([Value<'t>; N]) -> Value<'t>,
) -> Expression {
    trace(&inputs, &[], |_, tensors, _| smallvec![f(std::array::from_fn(|i| tensors[i]))])
}

impl Trace {
    fn push(&self, of: ComputeType, def: ValueDef) -> Value<'_> {
        Value { trace: self, id: self.draft.borrow_mut().push(of, def) }
    }

    /// A constant of type `of`.
    ///
    /// # Panics
    /// The type has no such value: a fraction among integers, 2 among truth values.
    pub fn constant(&self, of: ComputeType, constant: impl Into<Constant>) -> Value<'_> {
        let constant = constant.into();
        let Some(bits) = constant.bits(of) else {
            panic!("{constant:?} is no value of {of}");
        };
        self.push(of, ValueDef::Constant(bits))
    }

    /// A primitive of some values.
    ///
    /// # Panics
    /// There is no such function of these types.
    pub fn apply<'t>(&'t self, primitive: Primitive, operands: &[Value<'t>]) -> Value<'t> {
        let ids: SmallVec<[ValueId; 3]> = operands.iter().map(|operand| operand.id).collect();
        let Some(id) = self.draft.borrow_mut().apply(primitive, &ids) else {
            let types: Vec<ComputeType> = operands.iter().map(|a| a.compute_type()).collect();
            panic!("{primitive} of {types:?}: there is no such function");
        };
        Value { trace: self, id }
    }
}

impl<'t> Value<'t> {
    /// The type of the value.
    pub fn compute_type(self) -> ComputeType {
        self.trace.draft.borrow().type_of(self.id)
    }

    /// The expression that the value belongs to.
    pub fn trace(self) -> &'t Trace {
        self.trace
    }

    /// A constant of this value's type.
    ///
    /// # Panics
    /// The type has no such value: a fraction among integers, 2 among truth values.
    pub fn constant(self, constant: impl Into<Constant>) -> Value<'t> {
        self.trace.constant(self.compute_type(), constant)
    }

    /// A primitive of this value.
    pub(crate) fn unary(self, primitive: Primitive) -> Value<'t> {
        self.trace.apply(primitive, &[self])
    }

    /// A primitive of this value and another one.
    pub(crate) fn binary(self, primitive: Primitive, other: impl ValueOrConstant<'t>) -> Value<'t> {
        self.trace.apply(primitive, &[self, other.beside(self)])
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}", self.id.0, self.compute_type())
    }
}

/// An operand beside a value: another one, or a constant, which gets that one's type.
pub trait ValueOrConstant<'t>: Copy {
    /// The operand as a value of the trace that `other` belongs to.
    fn beside(self, other: Value<'t>) -> Value<'t>;

    /// The operand itself, if it is a value.
    fn value(self) -> Option<Value<'t>>;
}

impl<'t> ValueOrConstant<'t> for Value<'t> {
    fn beside(self, _: Value<'t>) -> Value<'t> {
        self
    }

    fn value(self) -> Option<Value<'t>> {
        Some(self)
    }
}

macro_rules! constants {
    ($($constant:ty)*) => {$(
        impl<'t> ValueOrConstant<'t> for $constant {
            fn beside(self, other: Value<'t>) -> Value<'t> {
                other.constant(self)
            }

            fn value(self) -> Option<Value<'t>> {
                None
            }
        }
    )*};
}

constants!(f64 i64 bool Constant);
