//! Results in the memory of operands that are given up: the operators of Rust take their operands by
//! value, and what nobody else has can be written over.

use gpu_runtime::Capture;

use super::call::Named;
use super::key::Key;
use super::promotion::Positions;
use super::{Pointwise, PointwiseCall, ResultPlace};
use crate::ops::operand::TensorOrScalar;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result, Shape, Tensor, inference};

/// The smallest memory that is looked at. For less, new memory costs no more than the question.
const MIN_BYTES: usize = 1 << 16;

impl<const N: usize> Pointwise<N> {
    /// [`Pointwise::apply`] to operands of which those at the positions `given_up` are used by
    /// nobody afterwards, since the caller drops them. The result lies in the memory of one of them
    /// if it [may](may_be_overwritten), and the gradients of the operation do not need its values.
    ///
    /// # Errors
    /// As [`Pointwise::apply`].
    #[track_caller]
    #[inline]
    pub(in crate::ops) fn apply_giving_up(
        &'static self,
        given_up: [bool; N],
        operands: [TensorOrScalar<'_>; N],
    ) -> Result<Tensor> {
        match self.reusable(given_up, &operands)? {
            Some(tensor) => self.apply_over(tensor, operands),
            None => self.apply(operands),
        }
    }

    /// The operand whose memory can be that of the result.
    #[track_caller]
    fn reusable<'a>(
        &self,
        given_up: [bool; N],
        operands: &[TensorOrScalar<'a>; N],
    ) -> Result<Option<&'a Tensor>> {
        let given_up = operands.iter().zip(given_up).filter(|(_, is_given_up)| *is_given_up);
        let mut large = given_up
            .filter_map(|(operand, _)| operand.tensor())
            .filter(|tensor| tensor.storage().nbytes() >= MIN_BYTES);
        let Some(first) = large.next() else { return Ok(None) };
        let named = Named::new(self.name, &self.names, operands);
        let (device, shape) = (named.device()?, named.broadcast()?);
        let computed = self.computed_dtype(operands);
        let dtype = if self.is_predicate { DType::Bool } else { computed };
        for tensor in std::iter::once(first).chain(large) {
            if tensor.resolved_device() == device && may_be_overwritten(tensor, &shape, dtype)? {
                return Ok(Some(tensor));
            }
        }
        Ok(None)
    }

    /// [`Pointwise::apply`] with the result in the memory of an operand, if the gradients allow it.
    #[track_caller]
    fn apply_over(
        &'static self,
        tensor: &Tensor,
        operands: [TensorOrScalar<'_>; N],
    ) -> Result<Tensor> {
        debug_assert!(self.conditions == Positions::NONE, "{}: operators have none", self.name);
        let device = tensor.resolved_device();
        self.expect_kind(tensor.dtype(), device)?;
        let key = Key::new(self.computed_dtype(&operands), tensor.dtype());
        let call = PointwiseCall::new(self, key, device, &operands, None)?;
        let (function, inputs) = (self.function(call.key), call.tensors());
        let position = inputs.iter().position(|input| input.is_same_handle(tensor));
        let shape = tensor.layout().shape().clone();
        let place = ResultPlace { device, shape, order: self.order };
        let is_fit = |position: &usize| {
            place.layout(&inputs).is_ok_and(|layout| layout.is_contiguous())
                && !function.saves_input(*position, &inputs)
        };
        match position.filter(is_fit) {
            Some(position) => function.apply_over(position, &inputs, &call.scalars),
            None => self.apply(operands),
        }
    }
}

/// Whether the memory of a tensor that is given up can become that of a result, so that nobody sees
/// it: nobody else has the tensor, a view of it, its storage, or its values saved for a gradient;
/// and it is just like the memory that the result would get: as large, dense, pageable on the CPU,
/// and of the same inference mode. While work is captured into a graph nothing is overwritten: the
/// graph's launches would find the result of the one before as their operand.
///
/// # Errors
/// The runtime failed.
#[track_caller]
fn may_be_overwritten(tensor: &Tensor, shape: &Shape, dtype: DType) -> Result<bool> {
    let storage = tensor.storage();
    let is_like_a_result = tensor.dtype() == dtype
        && tensor.layout().shape() == shape
        && tensor.is_contiguous()
        && storage.nbytes() == tensor.numel() * dtype.size()
        && !storage.is_pinned()
        && storage.is_inference() == inference::is_enabled();
    if !is_like_a_result || !tensor.is_sole_owner() {
        return Ok(false);
    }
    match tensor.resolved_device() {
        ResolvedDevice::Cpu => Ok(true),
        ResolvedDevice::Cuda(device) => Ok(Capture::of(&*device.current_stream_ref()?)?.is_none()),
    }
}
