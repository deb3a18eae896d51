//! Tracing: closures over [`Value`]s become expressions.

mod operators;

use std::cell::RefCell;
use std::fmt;

use smallvec::{SmallVec, smallvec};

use crate::constant::f64_of;
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
/// the type has no such constant. In a closure for [`try_trace`] that is an error instead.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    trace: &'t Tracer,
    id: ValueId,
}

/// The expression that is being traced. Equal values are computed once, and identities that hold
/// for every value (signed zeros, infinities and NaN among them) are applied.
pub struct Tracer {
    draft: RefCell<Draft>,
    on_error: OnError,
    /// The first error, if errors are kept.
    error: RefCell<Option<TracingError>>,
}

/// The reaction to a function that does not exist.
enum OnError {
    /// At once, where the mistake is.
    Panic,
    /// At the end of the trace, as an error.
    Keep,
}

/// A closure that is no elementwise function of values of the types that it was given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TracingError {
    /// A primitive has no meaning for values of these types.
    #[error("{primitive} of {}: there is no such function", names(.types))]
    NoSuchFunction {
        /// The primitive.
        primitive: Primitive,
        /// The types of its operands.
        types: Vec<ComputeType>,
    },
    /// A type has no such value: a fraction among integers, 2 among truth values.
    #[error("{constant:?} is no value of {of}")]
    NoSuchConstant {
        /// The number.
        constant: Constant,
        /// The type of what it stands beside.
        of: ComputeType,
    },
}

fn names(types: &[ComputeType]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
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
    f: impl for<'t> FnOnce(&'t Tracer, &[Value<'t>], &[Value<'t>]) -> SmallVec<[Value<'t>; 2]>,
) -> Expression {
    match trace_with(OnError::Panic, inputs, scalars, f) {
        Ok(expression) => expression,
        Err(error) => unreachable!("{error}: errors panic where they are made"),
    }
}

/// [`trace`] of a closure that may be no function of values of these types.
///
/// ```
/// use expression::{ComputeType, try_trace};
/// use smallvec::smallvec;
///
/// let of = |of| try_trace(&[of; 2], &[], |_, x, _| smallvec![x[0] & x[1]]);
/// assert!(of(ComputeType::I32).is_ok());
/// let error = of(ComputeType::F32).expect_err("floats have no bits");
/// assert_eq!(error.to_string(), "and of f32, f32: there is no such function");
/// ```
///
/// # Errors
/// The first thing in the closure that is no function or constant of the types that it is applied
/// to. The rest of the closure has run over other values then.
pub fn try_trace(
    inputs: &[ComputeType],
    scalars: &[ComputeType],
    f: impl for<'t> FnOnce(&'t Tracer, &[Value<'t>], &[Value<'t>]) -> SmallVec<[Value<'t>; 2]>,
) -> Result<Expression, TracingError> {
    trace_with(OnError::Keep, inputs, scalars, f)
}

fn trace_with(
    on_error: OnError,
    inputs: &[ComputeType],
    scalars: &[ComputeType],
    f: impl for<'t> FnOnce(&'t Tracer, &[Value<'t>], &[Value<'t>]) -> SmallVec<[Value<'t>; 2]>,
) -> Result<Expression, TracingError> {
    let trace = Tracer { draft: RefCell::default(), on_error, error: RefCell::default() };
    let of = |types: &[ComputeType], def: fn(u32) -> ValueDef| -> Vec<Value<'_>> {
        (0..).zip(types).map(|(number, &of)| trace.push(of, def(number))).collect()
    };
    let (tensors, numbers) = (of(inputs, ValueDef::Input), of(scalars, ValueDef::Scalar));
    let outputs: SmallVec<[ValueId; 2]> =
        f(&trace, &tensors, &numbers).iter().map(|value| value.id).collect();
    match trace.error.take() {
        Some(error) => Err(error),
        None => Ok(trace.draft.borrow().finish(inputs, scalars, &outputs)),
    }
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

impl Tracer {
    fn push(&self, of: ComputeType, def: ValueDef) -> Value<'_> {
        Value { trace: self, id: self.draft.borrow_mut().push(of, def) }
    }

    /// A constant of type `of`.
    ///
    /// # Panics
    /// The type has no such value: a fraction among integers, 2 among truth values. In
    /// [`try_trace`] that is an error in the end.
    pub fn constant(&self, of: ComputeType, constant: impl Into<Constant>) -> Value<'_> {
        let constant = constant.into();
        let bits = constant.bits(of).unwrap_or_else(|| {
            self.fail(TracingError::NoSuchConstant { constant, of });
            0
        });
        self.push(of, ValueDef::Constant(bits))
    }

    /// The constant with these bits.
    pub(crate) fn constant_of_bits(&self, of: ComputeType, bits: u64) -> Value<'_> {
        self.push(of, ValueDef::Constant(bits))
    }

    /// A primitive of some values.
    ///
    /// # Panics
    /// There is no such function of these types. In [`try_trace`] that is an error in the end.
    pub fn apply<'t>(&'t self, primitive: Primitive, operands: &[Value<'t>]) -> Value<'t> {
        let ids: SmallVec<[ValueId; 3]> = operands.iter().map(|operand| operand.id).collect();
        let applied = self.draft.borrow_mut().apply(primitive, &ids);
        let id = applied.unwrap_or_else(|| {
            let types = operands.iter().map(|operand| operand.compute_type()).collect();
            self.fail(TracingError::NoSuchFunction { primitive, types });
            // Some value, so that the closure can go on.
            self.push(ComputeType::F32, ValueDef::Constant(0)).id
        });
        Value { trace: self, id }
    }

    #[track_caller]
    fn fail(&self, error: TracingError) {
        match self.on_error {
            OnError::Panic => panic!("{error}"),
            OnError::Keep => {
                self.error.borrow_mut().get_or_insert(error);
            }
        }
    }
}

impl<'t> Value<'t> {
    /// The type of the value.
    pub fn compute_type(self) -> ComputeType {
        self.trace.draft.borrow().type_of(self.id)
    }

    /// The expression that the value belongs to.
    pub fn trace(self) -> &'t Tracer {
        self.trace
    }

    /// A constant of this value's type.
    ///
    /// # Panics
    /// The type has no such value: a fraction among integers, 2 among truth values.
    pub fn constant(self, constant: impl Into<Constant>) -> Value<'t> {
        self.trace.constant(self.compute_type(), constant)
    }

    /// The number, if the value is a constant.
    pub(crate) fn constant_f64(self) -> Option<f64> {
        let draft = self.trace.draft.borrow();
        let bits = draft.constant(self.id)?;
        Some(f64_of(bits, draft.type_of(self.id)))
    }

    /// Whether the value is the constant 0, of either sign.
    pub(crate) fn is_zero(self) -> bool {
        self.constant_f64() == Some(0.0)
    }

    /// Whether the value is the constant 1.
    pub(crate) fn is_one(self) -> bool {
        self.constant_f64() == Some(1.0)
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

/// Values of one trace are compared: whether they are the same one.
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.trace, other.trace) && self.id == other.id
    }
}

impl Eq for Value<'_> {}

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
