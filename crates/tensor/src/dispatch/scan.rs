//! Calls of scans: each result follows from the one before and an element.

use cpu_kernels::scan::{Scan, ScanKernel, ScanShape};
use gpu_runtime::Access;

use super::abi::ScanCall;
use super::{Operands, Operator};
use crate::dims::around;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Shape, Tensor};

/// The least length of a part of a row on CUDA.
const MIN_PART: usize = 8192;

/// The number of rows, or parts of rows, that keep a large GPU busy.
const BUSY: usize = 256;

/// Sums or products so far along a dimension of a dense tensor.
///
/// # Errors
/// The operator has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn cumulate(
    operator: &'static Operator<ScanCall>,
    input: &Tensor,
    dim: usize,
) -> Result<Tensor> {
    let (op, device) = (operator.name(), input.resolved_device());
    assert!(input.is_contiguous(), "{op}: prepared operands");
    let dtype = operator.operand_dtype(input.dtype(), 0);
    let output = Tensor::uninit(input.layout().shape().clone(), dtype, device)?;
    if input.numel() == 0 {
        return Ok(output);
    }
    let shape = scan_shape(input, dim);
    let parts = if input.is_cuda() { parts(shape) } else { 1 };
    let totals = match parts {
        1 => None,
        _ => Some(Tensor::uninit(Shape::from([shape.outer * parts]), DType::I64, device)?),
    };
    // Where there are no totals, the output stands twice.
    let second = totals.as_ref().unwrap_or(&output);
    let operands = [(&output, Access::Write), (second, Access::Write), (input, Access::Read)];
    let operands = Operands::hold_for_outputs(op, device, &operands, 2)?;
    for joins in 0..parts.min(2) {
        let call = ScanCall {
            out: operands.address(0),
            input: operands.address(2),
            totals: operands.address(1),
            outer: shape.outer as i64,
            size: shape.size as i64,
            inner: shape.inner as i64,
            parts: parts as i32,
            joins: joins as i32,
        };
        // SAFETY: both are dense and of this shape, of the signature's dtypes, and there are eight
        // bytes for each part of each row, if there are several.
        unsafe { operator.run(input.dtype(), &operands, &call)? };
    }
    drop(operands);
    Ok(output)
}

/// The number of parts that a row is scanned in on CUDA: several if few rows are long. It depends on
/// the shape alone, so results do not depend on the GPU.
fn parts(shape: ScanShape) -> usize {
    if shape.inner > 1 || shape.outer >= BUSY / 2 {
        return 1;
    }
    (BUSY / shape.outer).min(shape.size / MIN_PART).max(1)
}

fn scan_shape(input: &Tensor, dim: usize) -> ScanShape {
    let [outer, size, inner] = around(input.shape(), dim);
    ScanShape { outer, size, inner }
}

/// Scans a dense tensor of the CPU along a dimension, by a function that has kernels there only. The
/// results are of `dtype`; scans that choose elements give their places along the dimension too, as
/// `I64`.
///
/// # Errors
/// There is no kernel for these dtypes; memory is short.
#[track_caller]
pub(crate) fn scan(
    op: &'static str,
    function: Scan,
    input: &Tensor,
    dim: usize,
    dtype: DType,
) -> Result<(Tensor, Option<Tensor>)> {
    let device = input.resolved_device();
    assert!(device == ResolvedDevice::Cpu && input.is_contiguous(), "{op}: prepared operands");
    let Some(kernel) = ScanKernel::new(function, input.dtype(), dtype) else {
        return Err(Error::UnsupportedDType { op, dtype: input.dtype(), device: input.device() });
    };
    let shape = scan_shape(input, dim);
    let new = |dtype| Tensor::uninit(input.layout().shape().clone(), dtype, device);
    let output = new(dtype)?;
    let chooses = matches!(function, Scan::Max | Scan::Min);
    let places = chooses.then(|| new(DType::I64)).transpose()?;
    if input.numel() == 0 {
        return Ok((output, places));
    }
    // Where there are no places, the output stands twice.
    let second = places.as_ref().unwrap_or(&output);
    let operands = [(&output, Access::Write), (second, Access::Write), (input, Access::Read)];
    let operands = Operands::hold_for_outputs(op, device, &operands, 2)?;
    let address = |position| operands.address(position) as usize;
    let indices = places.as_ref().map(|_| std::ptr::with_exposed_provenance_mut(address(1)));
    let out = std::ptr::with_exposed_provenance_mut(address(0));
    let elements = std::ptr::with_exposed_provenance(address(2));
    // SAFETY: all three are dense and of the shape that the call has, of the kernel's dtypes; the
    // input is held, and the others were made here.
    unsafe { kernel.run(shape, elements, out, indices) };
    drop(operands);
    Ok((output, places))
}
