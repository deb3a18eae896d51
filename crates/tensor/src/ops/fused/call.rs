//! The operands of a call of a fused function, as the function takes them.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::form::{FusedForm, Passed};
use crate::autograd::is_grad_enabled;
use crate::host::elements::scalar_of;
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Named, ResultOrder, ResultPlace, apart_from, names};
use crate::resolved_device::ResolvedDevice;
use crate::{Result, Scalar, Tensor};

/// A call of a function of `N` operands.
pub(super) struct FusedCall<'a, const N: usize> {
    op: &'static str,
    pub(super) place: ResultPlace,
    pub(super) forms: [FusedForm; N],
    tensors: SmallVec<[Cow<'a, Tensor>; 4]>,
    /// The bits of the numbers, each in the type that it is passed in.
    pub(super) scalars: SmallVec<[u64; 4]>,
}

impl<'a, const N: usize> FusedCall<'a, N> {
    /// # Errors
    /// The tensors lie on different devices or do not broadcast.
    #[track_caller]
    pub(super) fn new(
        op: &'static str,
        operands: &[TensorOrScalar<'a>; N],
    ) -> Result<FusedCall<'a, N>> {
        let named = Named::new(op, &names::<N>(), operands);
        let device = named.device()?;
        let (shape, order) = (named.broadcast()?, ResultOrder::OfOperands);
        let place = ResultPlace { device, shape, order };
        let mut forms =
            operands.map(|operand| FusedForm { typed: operand.typed(), passed: Passed::Tensor });
        let (mut tensors, mut numbers) = (SmallVec::new(), SmallVec::<[(usize, Scalar); 4]>::new());
        for (position, operand) in operands.iter().enumerate() {
            match *operand {
                TensorOrScalar::Scalar(number) => numbers.push((position, number)),
                TensorOrScalar::Tensor(tensor) if is_number(tensor, device) => {
                    numbers.push((position, scalar_of(tensor)?));
                }
                TensorOrScalar::Tensor(tensor) => tensors.push(on_device(tensor, device)?),
            }
        }
        numbers.iter().for_each(|&(position, _)| forms[position].passed = Passed::Number);
        let bits = |&(position, number): &(usize, Scalar)| {
            number.bits(forms[position].number_type(&forms).dtype())
        };
        let scalars = numbers.iter().map(bits).collect();
        Ok(FusedCall { op, place, forms, tensors, scalars })
    }

    /// The tensors.
    pub(super) fn tensors(&self) -> SmallVec<[&Tensor; 4]> {
        self.tensors.iter().map(|tensor| &**tensor).collect()
    }

    /// The operands with their names for errors.
    pub(super) fn named(&self, operands: &[TensorOrScalar<'a>; N]) -> Named<'a> {
        Named::new(self.op, &names::<N>(), operands)
    }

    /// The call for a result that is written into `target`: an operand that is the target is marked
    /// as it, and no longer among the tensors.
    pub(super) fn into_target(mut self, target: &Tensor) -> FusedCall<'a, N> {
        let mut others = SmallVec::new();
        let mut tensors = std::mem::take(&mut self.tensors).into_iter();
        for form in self.forms.iter_mut().filter(|form| form.passed == Passed::Tensor) {
            let tensor = tensors.next().expect("a tensor for each such form");
            match is_same(target, &tensor) {
                true => form.passed = Passed::Target,
                false => others.push(tensor),
            }
        }
        self.tensors = others;
        self
    }

    /// For each tensor itself, or a copy if writing a target would change it before it is read.
    #[track_caller]
    pub(super) fn apart_from(&self, targets: &[Tensor]) -> Result<SmallVec<[Tensor; 4]>> {
        let copied = |tensor: &Cow<'_, Tensor>| {
            for target in targets {
                if let Some(copy) = apart_from(target, tensor)? {
                    return Ok(copy);
                }
            }
            Ok((**tensor).clone())
        };
        self.tensors.iter().map(copied).collect()
    }
}

/// Whether two tensors are the same elements of the same memory.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    a.dtype() == b.dtype()
        && a.shape() == b.shape()
        && a.strides() == b.strides()
        && a.offset() == b.offset()
        && a.shares_memory_with(b)
}

/// Whether a tensor is passed by value: one without dimensions on the host, beside tensors of a
/// device, to which no gradient flows.
fn is_number(tensor: &Tensor, device: ResolvedDevice) -> bool {
    let is_apart = device != ResolvedDevice::Cpu && tensor.resolved_device() == ResolvedDevice::Cpu;
    is_apart && !(tensor.requires_grad() && is_grad_enabled())
}

/// The tensor on the device that the function runs on.
#[track_caller]
fn on_device(tensor: &Tensor, device: ResolvedDevice) -> Result<Cow<'_, Tensor>> {
    match device {
        ResolvedDevice::Cuda(_) if tensor.resolved_device() == ResolvedDevice::Cpu => {
            tensor.to(device.to_device()).map(Cow::Owned)
        }
        _ => Ok(Cow::Borrowed(tensor)),
    }
}
