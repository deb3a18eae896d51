//! The operands of a call, held for as long as their addresses are used.

use gpu_runtime::Access;

use crate::access::{Held, hold};
use crate::placement::Place;
use crate::{Result, Tensor};

/// The tensors that a call at one place works on. Their addresses are asked for here: memory on the
/// CPU may move while it is not held, and a GPU's is kept by the records of its uses.
pub(super) struct Operands<'a> {
    pub(super) place: Place,
    pub(super) tensors: &'a [(&'a Tensor, Access)],
    _held: Option<Held<'a>>,
}

impl<'a> Operands<'a> {
    /// Holds them, on the CPU; on CUDA the launch does what is needed.
    ///
    /// # Errors
    /// As [`hold`].
    #[track_caller]
    pub(super) fn hold(
        op: &'static str,
        place: Place,
        tensors: &'a [(&'a Tensor, Access)],
    ) -> Result<Operands<'a>> {
        let held = match place {
            Place::Cpu => Some(hold(op, tensors)?),
            Place::Cuda(_) => None,
        };
        Ok(Operands { place, tensors, _held: held })
    }

    /// As [`Operands::hold`], where the first is new: nobody else knows of its memory, which needs no
    /// lock then.
    #[track_caller]
    pub(super) fn hold_for_new(
        op: &'static str,
        place: Place,
        tensors: &'a [(&'a Tensor, Access)],
    ) -> Result<Operands<'a>> {
        debug_assert!(tensors[0].0.is_sole_owner(), "{op}: somebody knows the output");
        let held = Operands::hold(op, place, &tensors[1..])?;
        Ok(Operands { tensors, ..held })
    }

    /// Where the first element of one of the tensors lies, in the address space of the place's kernels.
    pub(super) fn address(&self, position: usize) -> u64 {
        let (tensor, _) = self.tensors[position];
        let start = tensor.storage().address();
        start + (tensor.offset() * tensor.dtype().size()) as u64
    }
}
