//! Elementwise operations as data: a name, the rule of type promotion, and what happens to an
//! element, as a closure that is traced into an expression.
//!
//! A call finds the function for the dtypes of its operands ([`PointwiseFunction`]: the expression
//! with the conversions around it), runs it, and records it; the gradient is an expression as well,
//! which is applied as a recorded operation.

mod call;
mod dense;
mod function;
mod gradients;
mod key;
mod place;
mod promotion;
mod reuse;

use expression::Value;

pub(super) use call::{Named, apart_from, in_place_fits, lie_apart, names};
pub(super) use function::PointwiseFunction;
pub(super) use place::{ResultOrder, ResultPlace};
pub(super) use promotion::{Kinds, Promotion};

use call::PointwiseCall;
use function::FunctionDerivative;
use key::Key;
use promotion::Positions;

use super::autocast::elementwise_dtype;
use super::operand::TensorOrScalar;
use crate::resolved_device::ResolvedDevice;
use crate::specializations::Specializations;
use crate::{DType, Error, Result, Tensor};

/// The function of the elements of `N` operands: a value of the type that the operands are promoted
/// to, or a truth value.
pub(super) type ElementBody<const N: usize> = for<'t> fn([Value<'t>; N]) -> Value<'t>;

/// The gradients of the operands, from that of the output, the operands, and the output. Only what
/// it uses is saved.
pub(super) type GradientBody<const N: usize> =
    for<'t> fn(Value<'t>, [Value<'t>; N], Value<'t>) -> [Value<'t>; N];

/// An elementwise operation of `N` operands, each a tensor or a number.
pub(super) struct Pointwise<const N: usize> {
    name: &'static str,
    names: [&'static str; N],
    promotion: Promotion,
    /// The operands whose dtypes are promoted to a common one.
    promoted: Positions,
    /// The operands that are truth values, whatever the others are.
    conditions: Positions,
    /// Whether the result is a truth value.
    is_predicate: bool,
    /// Whether numbers are rounded to the dtype that is computed in, as elements are. Else they are
    /// as exact as what is computed with.
    rounds_numbers: bool,
    order: ResultOrder,
    /// The kinds of dtypes that the operation can compute in.
    kinds: Kinds,
    body: ElementBody<N>,
    gradient: DerivativeRule<N>,
    functions: Specializations<PointwiseFunction>,
}

/// The derivative of an operation.
#[derive(Clone, Copy)]
enum DerivativeRule<const N: usize> {
    /// Follows from the expression.
    Derived,
    Given(GradientBody<N>),
    /// The result is a constant for autograd.
    None,
}

impl<const N: usize> Pointwise<N> {
    const fn new(
        name: &'static str,
        promotion: Promotion,
        kinds: Kinds,
        body: ElementBody<N>,
    ) -> Self {
        const { assert!(N <= Key::MAX_OPERANDS) };
        Pointwise {
            name,
            names: call::names(),
            promotion,
            promoted: Positions::ALL,
            conditions: Positions::NONE,
            is_predicate: false,
            rounds_numbers: false,
            order: ResultOrder::OfOperands,
            kinds,
            body,
            gradient: DerivativeRule::Derived,
            functions: Specializations::new(),
        }
    }

    /// An operation in the dtype that its operands are promoted to, of floats and integers.
    pub(super) const fn common(name: &'static str, body: ElementBody<N>) -> Self {
        Pointwise::new(name, Promotion::Common, Kinds::NUMBERS, body)
    }

    /// An operation on floats, for which integers and truth values become the default dtype.
    pub(super) const fn float(name: &'static str, body: ElementBody<N>) -> Self {
        Pointwise::new(name, Promotion::Float, Kinds::FLOATS, body)
    }

    /// An operation that gives truth values, on operands of any dtype.
    pub(super) const fn predicate(name: &'static str, body: ElementBody<N>) -> Self {
        let mut operation = Pointwise::new(name, Promotion::Common, Kinds::ALL, body);
        operation.is_predicate = true;
        operation.rounds_numbers = true;
        operation.gradient = DerivativeRule::None;
        operation
    }

    /// The operation for other kinds of dtypes.
    pub(super) const fn of(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self
    }

    /// The operation computed in floats, with numbers as they are given.
    pub(super) const fn in_floats(mut self) -> Self {
        self.promotion = Promotion::Float;
        self.kinds = Kinds::FLOATS;
        self.rounds_numbers = false;
        self
    }

    /// The operation with other names of its operands in errors.
    pub(super) const fn named(mut self, names: [&'static str; N]) -> Self {
        self.names = names;
        self
    }

    /// The operation with a truth value at `position`, which has no say in the promotion.
    pub(super) const fn with_condition(mut self, position: usize) -> Self {
        self.conditions = self.conditions.with(position);
        self.promoted = self.promoted.without(position);
        self
    }

    /// The operation whose dtype follows from its first `count` operands; the others are converted
    /// to it.
    pub(super) const fn promoted_by_first(mut self, count: usize) -> Self {
        self.promoted = Positions::first(count);
        self
    }

    /// The operation with results in row-major order, whatever the order of the operands.
    pub(super) const fn row_major(mut self) -> Self {
        self.order = ResultOrder::RowMajor;
        self
    }

    /// The operation with this derivative.
    pub(super) const fn with_gradient(mut self, gradient: GradientBody<N>) -> Self {
        self.gradient = DerivativeRule::Given(gradient);
        self
    }

    /// The operation without a derivative: its result is a constant for autograd.
    pub(super) const fn without_gradient(mut self) -> Self {
        self.gradient = DerivativeRule::None;
        self
    }

    /// The name of the operation.
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// The dtype that the operation computes in for these operands.
    pub(super) fn computed_dtype(&self, operands: &[TensorOrScalar<'_>; N]) -> DType {
        let typed = operands.iter().enumerate();
        let typed: smallvec::SmallVec<[_; 4]> = typed
            .filter(|(position, _)| self.promoted.contain(*position))
            .map(|(_, operand)| operand.typed())
            .collect();
        self.promotion.dtype(&typed)
    }

    /// [`Pointwise::computed_dtype`] where the result is a new tensor, which autocast may want wider.
    pub(super) fn applied_dtype(&self, operands: &[TensorOrScalar<'_>; N]) -> DType {
        let is_on_cuda =
            |operand: &TensorOrScalar<'_>| operand.tensor().is_some_and(Tensor::is_cuda);
        elementwise_dtype(self.name, self.computed_dtype(operands), || {
            operands.iter().any(is_on_cuda)
        })
    }

    /// Applies the operation to the operands, broadcast, and gives the result as a new tensor.
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast; the operation has no such dtype.
    #[track_caller]
    #[inline]
    pub(super) fn apply(&'static self, operands: [TensorOrScalar<'_>; N]) -> Result<Tensor> {
        match self.apply_dense(&operands) {
            Some(result) => result,
            None => self.apply_any(operands),
        }
    }

    /// [`Pointwise::apply`] for operands of any dtypes, layouts and devices.
    #[track_caller]
    fn apply_any(&'static self, operands: [TensorOrScalar<'_>; N]) -> Result<Tensor> {
        let computed = self.applied_dtype(&operands);
        self.apply_in(computed, if self.is_predicate { DType::Bool } else { computed }, operands)
    }

    /// Applies the operation, computed in one dtype, with an output of another.
    ///
    /// # Errors
    /// As [`Pointwise::apply`].
    #[track_caller]
    pub(super) fn apply_in(
        &'static self,
        computed: DType,
        output: DType,
        operands: [TensorOrScalar<'_>; N],
    ) -> Result<Tensor> {
        let (target, call) = self.prepare(computed, output, &operands)?;
        self.function(call.key).apply(&target, &call.tensors(), &call.scalars)
    }

    /// [`Pointwise::apply_in`] without recording it.
    ///
    /// # Errors
    /// As [`Pointwise::apply`].
    #[track_caller]
    pub(super) fn compute(
        &'static self,
        computed: DType,
        output: DType,
        operands: [TensorOrScalar<'_>; N],
    ) -> Result<Tensor> {
        let (target, call) = self.prepare(computed, output, &operands)?;
        self.function(call.key).compute_one(&target, &call.tensors(), &call.scalars)
    }

    /// The place of the result of an operation, and the call that computes it.
    #[track_caller]
    fn prepare<'a>(
        &self,
        computed: DType,
        output: DType,
        operands: &[TensorOrScalar<'a>; N],
    ) -> Result<(ResultPlace, PointwiseCall<'a>)> {
        let named = Named::new(self.name, &self.names, operands);
        let device = named.device()?;
        self.expect_kind(computed, device)?;
        let shape = named.broadcast()?;
        let call = PointwiseCall::new(self, Key::new(computed, output), device, operands, None)?;
        Ok((ResultPlace { device, shape, order: self.order }, call))
    }

    /// # Errors
    /// The operation is not one of such a dtype.
    fn expect_kind(&self, dtype: DType, device: ResolvedDevice) -> Result<()> {
        match self.kinds.contain(dtype) {
            true => Ok(()),
            false => {
                Err(Error::UnsupportedDType { op: self.name, dtype, device: device.to_device() })
            }
        }
    }

    /// Applies the operation to `operands`, of which `target` is the first, and writes
    /// the result into `target`, in its dtype. `name` is for errors.
    ///
    /// # Errors
    /// As [`Pointwise::apply`]; the result would be of a higher category than the target's dtype,
    /// or larger than the target; the target cannot be written in place.
    #[track_caller]
    pub(super) fn apply_in_place(
        &'static self,
        name: &'static str,
        target: &Tensor,
        operands: [TensorOrScalar<'_>; N],
    ) -> Result<Tensor> {
        let named = Named::new(name, &self.names, &operands);
        let computed = self.computed_dtype(&operands);
        let result = if self.is_predicate { DType::Bool } else { computed };
        let device = in_place_fits(&named, target, result)?;
        self.expect_kind(computed, device)?;
        let key = Key::new(computed, target.dtype());
        let call = PointwiseCall::new(self, key, device, &operands, Some(target))?;
        let apart = call.apart_from(target)?;
        let (inputs, read) = (call.tensors(), apart.tensors());
        self.function(call.key).apply_in_place(name, &inputs, &read, &call.scalars)
    }

    /// Writes the result into `target`, in its dtype, without recording it. The operands must
    /// broadcast to the target's shape, and lie apart from it, or be it.
    ///
    /// # Errors
    /// As [`Pointwise::apply`].
    #[track_caller]
    pub(super) fn write(
        &'static self,
        target: &Tensor,
        computed: DType,
        operands: [TensorOrScalar<'_>; N],
    ) -> Result<()> {
        let key = Key::new(computed, target.dtype());
        let device = target.resolved_device();
        let call = PointwiseCall::new(self, key, device, &operands, None)?;
        self.function(call.key).write(target, &call.tensors(), &call.scalars)
    }

    /// The function for the dtypes of a call.
    fn function(&'static self, key: Key) -> &'static PointwiseFunction {
        self.functions.get(key.number(), || {
            let derivative = match self.gradient {
                DerivativeRule::Derived => FunctionDerivative::Derived,
                DerivativeRule::None => FunctionDerivative::None,
                DerivativeRule::Given(body) => {
                    FunctionDerivative::Given(Box::new(move |expression, wrt| {
                        call::trace_gradient(self, key, body, expression, wrt)
                    }))
                }
            };
            let (inputs, _) = call::types(self, key);
            let expression = call::trace_body(self, key);
            PointwiseFunction::new(self.name, expression, &inputs, &[key.output()], derivative)
        })
    }
}
