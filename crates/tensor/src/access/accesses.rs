//! The ranges of memory that an access to a tensor touches, for observers (race checking,
//! timelines).

use gpu_runtime::{Access, DevicePtr, MemoryAccess};

use crate::Tensor;

/// The most ranges that are reported for a view. Of more, so many are reported, evenly spread: one
/// large range would claim an access to the memory between them, which nobody made.
const MAX_RUNS: usize = 4096;

impl Tensor {
    /// The ranges of memory that hold the elements; of more than [`MAX_RUNS`] only some.
    pub(crate) fn accesses(&self, access: Access) -> impl Iterator<Item = MemoryAccess> {
        let (memory, size) = (self.storage().address(), self.dtype().size());
        self.layout().contiguous_runs().into_iter().flat_map(move |runs| {
            let step = runs.count().div_ceil(MAX_RUNS);
            (0..runs.count()).step_by(step).map(move |run| {
                let start = DevicePtr::from_address(memory).offset(runs.start_of(run) * size);
                let bytes = runs.length * size;
                match access {
                    Access::Read => MemoryAccess::read(start, bytes),
                    Access::Write => MemoryAccess::write(start, bytes),
                }
            })
        })
    }
}
