//! Calls of resampling.

use cpu_kernels::resample::{ResampleAxis, ResampleRule, Resampling};
use gpu_runtime::Access;

use super::abi::{Resample, ResampledAxis};
use super::{Operands, Operator};
use crate::{Result, Shape, Tensor};

/// A resampling of dense tensors, and the shapes of the tensors on both sides.
#[derive(Clone)]
pub(crate) struct ResampledShape {
    pub(crate) planes: usize,
    pub(crate) axes: [ResampleAxis; 3],
    pub(crate) elements: Shape,
    pub(crate) results: Shape,
}

impl ResampledShape {
    /// Whether the shapes of the tensors are those that the axes are for.
    fn fits(&self) -> bool {
        // Of no planes there are no elements, however large these would be.
        let of = |size: fn(&ResampleAxis) -> usize| {
            self.axes.iter().map(size).fold(self.planes, usize::wrapping_mul)
        };
        of(|axis| axis.input) == self.elements.numel()
            && of(|axis| axis.output) == self.results.numel()
    }
}

/// The results that a dense tensor is resampled to, or, backward, the gradients of the elements from
/// those of the results.
///
/// # Errors
/// The operator has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn resample(
    operator: &'static Operator<Resample>,
    direction: Resampling,
    shape: &ResampledShape,
    input: &Tensor,
) -> Result<Tensor> {
    let (op, device) = (operator.name(), input.resolved_device());
    let (from, to) = match direction {
        Resampling::Forward => (&shape.elements, &shape.results),
        Resampling::Backward => (&shape.results, &shape.elements),
    };
    let is_prepared = input.is_contiguous() && input.shape() == &**from && shape.fits();
    assert!(is_prepared, "{op}: prepared operands");
    operator.check_dtype(input.dtype(), device)?;
    if input.numel() == 0 {
        return Tensor::zeros(to.clone(), (input.dtype(), input.device()));
    }
    let output = Tensor::uninit(to.clone(), input.dtype(), device)?;
    if output.numel() == 0 {
        return Ok(output);
    }
    let operands = [(&output, Access::Write), (input, Access::Read)];
    let operands = Operands::hold_for_new(op, device, &operands)?;
    let arguments = Resample {
        out: operands.address(0),
        input: operands.address(1),
        count: output.numel() as i64,
        axes: shape.axes.map(axis),
    };
    // SAFETY: both are dense, of the shapes that the axes are for (asserted above), and of the
    // operator's dtype.
    unsafe { operator.run(input.dtype(), &operands, &arguments)? };
    drop(operands);
    Ok(output)
}

fn axis(axis: ResampleAxis) -> ResampledAxis {
    let (rule, before, scale, aligned) = match axis.rule {
        ResampleRule::Nearest { scale, is_exact } => (0, 0, scale, is_exact),
        ResampleRule::Linear { scale, is_aligned } => (1, 0, scale, is_aligned),
        ResampleRule::Cubic { scale, is_aligned } => (2, 0, scale, is_aligned),
        ResampleRule::Reflect { before } => (3, before, 1.0, false),
        ResampleRule::Replicate { before } => (4, before, 1.0, false),
        ResampleRule::Circular { before } => (5, before, 1.0, false),
    };
    ResampledAxis {
        input: axis.input as i64,
        output: axis.output as i64,
        before: before as i64,
        scale,
        rule,
        aligned: i32::from(aligned),
    }
}
