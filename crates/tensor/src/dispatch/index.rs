//! Calls of operators that choose elements along a dimension by a tensor of indices.

use std::ptr;

use cpu_kernels::index::{IndexOutOfRange, check_indices};
use gpu_runtime::Access;

use super::abi::Index;
use super::{HostKernels, Operands, Operator};
use crate::checked_size::CheckedSize;
use crate::{DType, Error, Result, Shape, Tensor};

/// The tensors of an indexed operation, and their shape as three dimensions. All are contiguous and
/// on one device.
pub(crate) struct IndexCall<'a> {
    /// The tensor that is written, or added to.
    pub(crate) output: &'a Tensor,
    /// The tensor that is read.
    pub(crate) source: &'a Tensor,
    /// The indices, of dtype `I64`.
    pub(crate) index: &'a Tensor,
    /// The product of the sizes before the dimension.
    pub(crate) outer: usize,
    /// The size of the dimension that the indices choose from.
    pub(crate) size: usize,
    /// The number of elements that are chosen along the dimension.
    pub(crate) count: usize,
    /// The product of the sizes after the dimension.
    pub(crate) inner: usize,
}

impl Operator<Index> {
    /// An operator with an index for each element: `gather`, `scatter` and `scatter_add`.
    pub(crate) const fn per_element(
        name: &'static str,
        kernels: HostKernels<Index>,
    ) -> Operator<Index> {
        Operator::new(name, kernels).with_check(check_each).with_device_dtype(moved_as)
    }

    /// An operator with one index for a whole slice: `index_select`, `index_copy` and
    /// `index_add`.
    pub(crate) const fn per_slice(
        name: &'static str,
        kernels: HostKernels<Index>,
    ) -> Operator<Index> {
        Operator::new(name, kernels).with_check(check_slices).with_device_dtype(moved_as)
    }
}

/// The dtype of elements of the same size that CUDA kernels which only move elements are there for.
fn moved_as(dtype: DType) -> DType {
    match dtype {
        DType::BF16 | DType::I16 => DType::F16,
        DType::I32 => DType::F32,
        DType::I8 => DType::U8,
        dtype => dtype,
    }
}

/// Runs an indexed operation. Of the source and the output one has the elements that are chosen
/// from (`large`, with `size` along the dimension), the other those that are chosen (`small`, with
/// `count`).
///
/// # Errors
/// On the CPU an index is out of range; on CUDA that is an assertion on the device, which loses it.
/// The operator has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn indexed(operator: &'static Operator<Index>, call: &IndexCall<'_>) -> Result<()> {
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
    assert!(checked, "{}: the operands were not prepared", operator.name());
    if small == 0 {
        return Ok(());
    }
    let operands = [(output, Access::Write), (source, Access::Read), (index, Access::Read)];
    let operands = Operands::hold(operator.name(), output.resolved_device(), &operands)?;
    let call = Index {
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
    unsafe { operator.run(output.dtype(), &operands, &call) }
}

/// Checks the indices of an operator that has one for each element.
///
/// # Safety
/// The call's index is held host memory of an `i64` per element.
unsafe fn check_each(op: &'static str, call: &Index) -> Result<()> {
    // SAFETY: the index has an `i64` per element, of which there are as many (this function's
    // condition).
    unsafe { check(op, call, call.outer * call.count * call.inner) }
}

/// Checks the indices of an operator that has one for each slice.
///
/// # Safety
/// The call's index is held host memory of `count` times `i64`.
unsafe fn check_slices(op: &'static str, call: &Index) -> Result<()> {
    // SAFETY: the index is held memory of `count` times `i64` (this function's condition).
    unsafe { check(op, call, call.count) }
}

/// Checks that `len` indices are in range.
///
/// # Errors
/// One is negative, or not below `size`.
///
/// # Safety
/// The call's index is held host memory of `len` times `i64`.
unsafe fn check(op: &'static str, call: &Index, len: i64) -> Result<()> {
    let start = ptr::with_exposed_provenance::<i64>(call.index as usize);
    // SAFETY: the memory has `len` of them and is held, so nobody writes it (this function's
    // condition); storages are aligned for every dtype.
    let index = unsafe { std::slice::from_raw_parts(start, len as usize) };
    check_indices(index, call.size as usize).map_err(|wrong| {
        let IndexOutOfRange { position, index, size } = wrong;
        Error::IndexOutOfRange { op, position: Some(position), index, size }
    })
}
