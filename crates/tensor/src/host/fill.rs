//! Dense memory that is filled by index, for kernels without inputs.

use std::ops::Range;
use std::ptr;

/// Sets the elements `units` at the address `out` to the number for their index.
///
/// # Safety
/// `out` is the address of elements of `T`; `units` are among them, and nobody else uses those.
pub(super) unsafe fn fill<T>(out: u64, units: Range<usize>, number: impl Fn(usize) -> T) {
    let out = ptr::with_exposed_provenance_mut::<T>(out as usize);
    for i in units {
        // SAFETY: the element is one of `units`, which nobody else uses (conditions of this
        // function).
        unsafe { out.add(i).write(number(i)) };
    }
}
