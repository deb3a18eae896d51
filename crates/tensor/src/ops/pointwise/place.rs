//! The memory layout of the results of a call.

use smallvec::SmallVec;

use crate::layout::{Layout, NoLayout};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result, Shape, Tensor};

/// The device and the shape of the results of a call, and the order in which they lie in memory.
pub(in crate::ops) struct ResultPlace {
    pub(in crate::ops) device: ResolvedDevice,
    pub(in crate::ops) shape: Shape,
    pub(in crate::ops) order: ResultOrder,
}

/// The order of the dimensions of a result in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum ResultOrder {
    /// The order of the dimensions of the operands.
    OfOperands,
    RowMajor,
}

impl ResultPlace {
    /// The layout of the results of a call with these inputs.
    ///
    /// # Errors
    /// The shape is too large.
    pub(super) fn layout(&self, inputs: &[&Tensor]) -> Result<Layout, NoLayout> {
        let is_even = |input: &&Tensor| input.is_contiguous();
        if self.order == ResultOrder::RowMajor || inputs.iter().all(is_even) {
            return Layout::contiguous(self.shape.clone());
        }
        let inputs: SmallVec<[&Layout; 4]> = inputs.iter().map(|input| input.layout()).collect();
        Layout::of_result(self.shape.clone(), &inputs)
    }

    /// New tensors for the results of a call with these inputs.
    ///
    /// # Errors
    /// The shape is too large, or memory is short.
    #[track_caller]
    pub(super) fn uninit(&self, inputs: &[&Tensor], dtype: DType) -> Result<Tensor> {
        let layout = self.layout(inputs).map_err(|problem| problem.of(dtype))?;
        Tensor::uninit_in(layout, dtype, self.device)
    }
}
