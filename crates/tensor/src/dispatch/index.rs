//! Calls of operations that choose elements along a dimension by an index tensor.

use std::ptr;

use gpu_runtime::Access;

use super::abi::Index;
use super::{HostKernel, Operands, Operation};
use crate::checked_size::CheckedSize;
use crate::{DType, Error, Result, Shape, Tensor};

/// The tensors of an indexed operation. All are contiguous and on one device.
pub(crate) struct IndexCall<'a> {
    /// What is written, or added to.
    pub(crate) output: &'a Tensor,
    /// What is read.
    pub(crate) source: &'a Tensor,
    /// Where, as `I64`.
    pub(crate) index: &'a Tensor,
    /// The product of the sizes before the dimension.
    pub(crate) outer: usize,
    /// The size that the indices choose from.
    pub(crate) size: usize,
    /// How many are chosen.
    pub(crate) count: usize,
    /// The product of the sizes behind the dimension.
    pub(crate) inner: usize,
}

impl Operation<Index> {
    /// An operation with an index for each element: gather and scatter_add.
    pub(crate) const fn per_element(
        name: &'static str,
        host: fn(DType) -> Option<HostKernel<Index>>,
    ) -> Operation<Index> {
        Operation::new(name, host).with_check(check_each)
    }

    /// An operation with one index for a whole slice: index_select and index_add.
    pub(crate) const fn per_slice(
        name: &'static str,
        host: fn(DType) -> Option<HostKernel<Index>>,
    ) -> Operation<Index> {
        Operation::new(name, host).with_check(check_slices)
    }
}

/// Runs the operation. `large` and `small` below are the sides with `size` and with `count`.
///
/// # Errors
/// On the CPU an index is out of range; on CUDA that is an assertion on the device, which loses it.
/// The operation has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn indexed(operation: &'static Operation<Index>, call: &IndexCall<'_>) -> Result<()> {
    let IndexCall { output, source, index, outer, size, count, inner } = *call;
    let product = |middle: usize| [outer, middle, inner].into_iter().product::<CheckedSize>();
    let (Some(small), Some(large)) = (product(count).size(), product(size).size()) else {
        let shape = Shape::from([outer, count.max(size), inner]);
        return Err(Error::TooLarge { shape, dtype: source.dtype() });
    };
    let mut sides = [output.numel(), source.numel()];
    sides.sort_unstable();
    let mut expected = [small, large];
    expected.sort_unstable();
    let dense = output.is_contiguous() && source.is_contiguous() && index.is_contiguous();
    let typed = output.dtype() == source.dtype() && index.dtype() == DType::I64;
    let counted = index.numel() == count || index.numel() == small;
    // An index that changes under the kernel is no longer the one that was checked.
    let apart = !output.shares_memory_with(index);
    let checked = sides == expected && dense && typed && counted && apart;
    assert!(checked, "{}: the operands were not prepared", operation.name());
    if small == 0 {
        return Ok(());
    }
    let operands = [(output, Access::Write), (source, Access::Read), (index, Access::Read)];
    let operands = Operands::hold(operation.name(), output.place(), &operands)?;
    let parameters = Index {
        out: operands.address(0),
        source: operands.address(1),
        index: operands.address(2),
        outer: outer as i64,
        size: size as i64,
        count: count as i64,
        inner: inner as i64,
    };
    // SAFETY: all are dense and as large as the call says (asserted above); the indices are checked
    // while they are held on the CPU, and by the kernel on CUDA.
    unsafe { operation.run(output.dtype(), &operands, &parameters) }
}

/// # Safety
/// The call's index is held host memory of an `i64` per element.
unsafe fn check_each(op: &'static str, call: &Index) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { check(op, call, call.outer * call.count * call.inner) }
}

/// # Safety
/// The call's index is held host memory of `count` times `i64`.
unsafe fn check_slices(op: &'static str, call: &Index) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { check(op, call, call.count) }
}

/// # Safety
/// The call's index is held host memory of `len` times `i64`.
unsafe fn check(op: &'static str, call: &Index, len: i64) -> Result<()> {
    let start = ptr::with_exposed_provenance::<i64>(call.index as usize);
    // SAFETY: the caller's promise.
    let index = unsafe { std::slice::from_raw_parts(start, len as usize) };
    match index.iter().find(|&&index| index < 0 || index >= call.size) {
        Some(&index) => Err(Error::IndexOutOfRange { op, index, size: call.size as usize }),
        None => Ok(()),
    }
}
