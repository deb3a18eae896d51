//! The operands of a call, whose memory stays where it is for as long as their addresses are used.

use gpu_runtime::Access;

use crate::access::{HeldOperands, hold};
use crate::resolved_device::ResolvedDevice;
use crate::{Result, Tensor};

/// The tensors that a call on one device works on, and the only source of their addresses: pageable
/// memory of the CPU moves when it is not held, and memory of a GPU is kept by its use record.
pub(super) struct Operands<'a> {
    pub(super) device: ResolvedDevice,
    pub(super) tensors: &'a [(&'a Tensor, Access)],
    _held: Option<HeldOperands<'a>>,
}

impl<'a> Operands<'a> {
    /// Holds the tensors' memory on the CPU. On CUDA nothing is held here: the launch orders itself
    /// against other uses of the memory.
    ///
    /// # Errors
    /// As [`hold`].
    #[track_caller]
    pub(super) fn hold(
        op: &'static str,
        device: ResolvedDevice,
        tensors: &'a [(&'a Tensor, Access)],
    ) -> Result<Operands<'a>> {
        let held = match device {
            ResolvedDevice::Cpu => Some(hold(op, tensors)?),
            ResolvedDevice::Cuda(_) => None,
        };
        Ok(Operands { device, tensors, _held: held })
    }

    /// Holds the tensors like [`Operands::hold`], but the first was made for this call: nobody else
    /// knows its memory, so it is not locked.
    #[track_caller]
    pub(super) fn hold_for_new(
        op: &'static str,
        device: ResolvedDevice,
        tensors: &'a [(&'a Tensor, Access)],
    ) -> Result<Operands<'a>> {
        Operands::hold_for_outputs(op, device, tensors, 1)
    }

    /// [`Operands::hold_for_new`] for the first `outputs` tensors, all of which were made for this
    /// call.
    #[track_caller]
    pub(super) fn hold_for_outputs(
        op: &'static str,
        device: ResolvedDevice,
        tensors: &'a [(&'a Tensor, Access)],
        outputs: usize,
    ) -> Result<Operands<'a>> {
        let (new, others) = tensors.split_at(outputs);
        debug_assert!(new.iter().all(|(output, _)| output.is_sole_owner()), "{op}: known outputs");
        let held = Operands::hold(op, device, others)?;
        Ok(Operands { tensors, ..held })
    }

    /// The address of the first element of a tensor, as the kernels of the device see it.
    pub(super) fn address(&self, position: usize) -> u64 {
        address(self.tensors[position].0)
    }
}

/// The address of a tensor's first element. That of pageable memory of the CPU can change while it
/// is not held.
#[inline]
pub(super) fn address(tensor: &Tensor) -> u64 {
    tensor.storage().address() + (tensor.offset() * tensor.dtype().size()) as u64
}
