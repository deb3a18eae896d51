//! Calls of scans: each result follows from the one before and an element.
//!
//! They have kernels on the CPU only; on CUDA the operations are composed of elementwise ones.

use cpu_kernels::scan::{Scan, ScanKernel, ScanShape};
use gpu_runtime::Access;

use super::Operands;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Tensor};

/// Scans a dense tensor of the CPU along a dimension. The results are of `dtype`; scans that choose
/// elements give their places along the dimension too, as `I64`.
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
    let sizes = input.shape();
    let shape = ScanShape {
        outer: sizes.iter().take(dim).product(),
        size: sizes.get(dim).copied().unwrap_or(1),
        inner: sizes.iter().skip(dim + 1).product(),
    };
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
