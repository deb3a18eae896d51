//! Resampling of the last dimensions of a tensor: what interpolation and padding by elements of the
//! tensor are made of.

use std::panic::Location;

use cpu_kernels::resample::{ResampleAxis, Resampling};
use gpu_runtime::at_place;

use super::convert::dense;
use crate::autograd::record;
use crate::dispatch::abi::Resample;
use crate::dispatch::{self, Operator, ResampledShape};
use crate::host::resample as kernels;
use crate::{DType, Error, Result, Shape, Tensor, no_grad};

static RESAMPLE: Operator<Resample> = Operator::new("resample", kernels::RESAMPLE);
static RESAMPLE_BACKWARD: Operator<Resample> =
    Operator::new("resample_backward", kernels::RESAMPLE_BACKWARD);

/// The tensor, resampled along its last dimensions, of which there are as many, one to three. Sizes
/// along these are at least 1. Integers are resampled by rules that choose single elements only.
///
/// The map is linear, and its gradient is the transposed one, whose gradient is this.
///
/// # Errors
/// The result is larger than any memory; memory or the runtime failed.
#[track_caller]
pub(super) fn resampled(op: &'static str, x: &Tensor, last: &[ResampleAxis]) -> Result<Tensor> {
    let leading = &x.shape()[..x.dims() - last.len()];
    let sizes = leading.iter().copied().chain(last.iter().map(|axis| axis.output));
    let results = Shape::from_iter(sizes);
    if results.checked_numel().is_none() {
        return Err(Error::TooLarge { shape: results, dtype: x.dtype() });
    }
    let mut axes = [ResampleAxis::unchanged(1); 3];
    axes[3 - last.len()..].copy_from_slice(last);
    let shape = ResampledShape {
        planes: leading.iter().product(),
        axes,
        elements: x.layout().shape().clone(),
        results,
    };
    mapped(op, Resampling::Forward, x, shape)
}

#[track_caller]
fn mapped(
    op: &'static str,
    direction: Resampling,
    x: &Tensor,
    shape: ResampledShape,
) -> Result<Tensor> {
    let (operator, transposed) = match direction {
        Resampling::Forward => (&RESAMPLE, Resampling::Backward),
        Resampling::Backward => (&RESAMPLE_BACKWARD, Resampling::Forward),
    };
    let (source, own) = (x.detach(), x.dtype());
    let dtype = match own {
        // Kernels choose bytes, which truth values are.
        DType::Bool if !x.is_cuda() => DType::U8,
        _ if x.is_cuda() && !own.is_float() => DType::I64,
        _ => own,
    };
    let compute = || {
        let output = dispatch::resample(operator, direction, &shape, &dense(&source, dtype)?)?;
        dense(&output, own)
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record(op, [x], output, |_| {
        move |grad: &Tensor, _| Ok([Some(mapped(op, transposed, grad, shape.clone())?)])
    }))
}
