//! Calls of searches in sorted rows.

use std::ptr;

use cpu_kernels::index::{IndexOutOfRange, check_indices};
use gpu_runtime::Access;

use super::abi::Search;
use super::{HostKernels, Operands, Operator, Signature};
use crate::{DType, Error, Result, Tensor};

impl Operator<Search> {
    /// An operator that finds places of values.
    pub(crate) const fn searching(
        name: &'static str,
        kernels: HostKernels<Search>,
    ) -> Operator<Search> {
        Operator::new(name, kernels)
            .with_signature(Signature::Gives(DType::I64))
            .with_check(check_sorter)
    }
}

/// The places of dense `[rows, count]` values in dense `[rows, size]` sorted elements, or elements
/// that are sorted in the order of a dense `sorter` of the same shape.
///
/// # Errors
/// The operator has no such dtype; on the CPU an entry of the sorter is out of range; memory or the
/// runtime failed.
#[track_caller]
pub(crate) fn searched(
    operator: &'static Operator<Search>,
    [sorted, values]: [&Tensor; 2],
    sorter: Option<&Tensor>,
    right: bool,
) -> Result<Tensor> {
    let (op, device) = (operator.name(), sorted.resolved_device());
    let ([rows, size], [others, count]) = (sorted.sizes()?, values.sizes()?);
    let is_sorter = |x: &Tensor| x.shape() == sorted.shape() && x.dtype() == DType::I64;
    let operands = [Some(sorted), Some(values), sorter];
    let dense = operands.into_iter().flatten().all(Tensor::is_contiguous);
    let typed = sorted.dtype() == values.dtype() && sorter.is_none_or(is_sorter);
    assert!(rows == others && dense && typed, "{op}: prepared operands");
    let output = Tensor::uninit(values.layout().shape().clone(), DType::I64, device)?;
    if output.numel() == 0 {
        return Ok(output);
    }
    // Where there is no sorter, the elements stand twice.
    let third = sorter.unwrap_or(sorted);
    let operands = [
        (&output, Access::Write),
        (sorted, Access::Read),
        (values, Access::Read),
        (third, Access::Read),
    ];
    let operands = Operands::hold_for_new(op, device, &operands)?;
    let call = Search {
        out: operands.address(0),
        sorted: operands.address(1),
        values: operands.address(2),
        sorter: sorter.map_or(0, |_| operands.address(3)),
        rows: rows as i64,
        size: size as i64,
        count: count as i64,
        right: i64::from(right),
    };
    // SAFETY: all are dense and of these sizes, of the signature's dtypes (asserted above); the sorter
    // is checked while it is held on the CPU, and by the kernel on CUDA.
    unsafe { operator.run(sorted.dtype(), &operands, &call)? };
    drop(operands);
    Ok(output)
}

/// Checks that the entries of a sorter are places in its rows.
///
/// # Safety
/// The call's sorter is 0, or held host memory of `rows * size` times `i64`.
unsafe fn check_sorter(op: &'static str, call: &Search) -> Result<()> {
    if call.sorter == 0 {
        return Ok(());
    }
    let start = ptr::with_exposed_provenance::<i64>(call.sorter as usize);
    // SAFETY: the memory has so many of them and is held, so nobody writes it (this function's
    // condition); storages are aligned for every dtype.
    let sorter = unsafe { std::slice::from_raw_parts(start, (call.rows * call.size) as usize) };
    check_indices(sorter, call.size as usize).map_err(|wrong| {
        let IndexOutOfRange { position, index, size } = wrong;
        Error::IndexOutOfRange { op, position: Some(position), index, size }
    })
}
