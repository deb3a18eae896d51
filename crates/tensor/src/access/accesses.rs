//! Which memory an access to a tensor's elements concerns, for those who look at the program.

use gpu_runtime::{Access, DevicePtr, MemoryAccess};

use crate::Tensor;

/// Of a view with more rows than this, so many are told of, evenly spread: to hide an access is
/// better than to claim one to what lies between the rows.
const MAX_ROWS: usize = 4096;

impl Tensor {
    /// The ranges of memory that hold the elements, where they lie in many pieces some of them.
    pub(crate) fn accesses(&self, access: Access) -> impl Iterator<Item = MemoryAccess> {
        let (memory, size) = (self.storage().address(), self.dtype().size());
        self.layout().rows().into_iter().flat_map(move |rows| {
            let step = rows.count().div_ceil(MAX_ROWS);
            (0..rows.count()).step_by(step).map(move |row| {
                let start = DevicePtr::from_address(memory).offset(rows.start_of(row) * size);
                let bytes = rows.length * size;
                match access {
                    Access::Read => MemoryAccess::read(start, bytes),
                    Access::Write => MemoryAccess::write(start, bytes),
                }
            })
        })
    }
}
