//! Calls of pooling.

use cpu_kernels::pooling::{PoolShape, Pooling, WindowAxis, Windows};
use gpu_runtime::Access;

use super::abi::{PoolAxis, PooledWindows};
use super::{Operands, Operator};
use crate::{DType, Result, Shape, Tensor};

/// A pooling of dense tensors, and the shapes of the tensors on both sides.
#[derive(Clone)]
pub(crate) struct PoolCall {
    pub(crate) pooling: Pooling,
    pub(crate) windows: PoolShape,
    pub(crate) input: Shape,
    pub(crate) output: Shape,
}

impl PoolCall {
    fn arguments(&self, count: usize) -> PooledWindows {
        let (divisor, counts_padding) = match self.pooling {
            Pooling::Max => (None, false),
            Pooling::Average { divisor, counts_padding } => (divisor, counts_padding),
        };
        PooledWindows {
            out: 0,
            places: 0,
            input: 0,
            count: count as i64,
            divisor: divisor.unwrap_or(0) as i64,
            counts_padding: i64::from(counts_padding),
            axes: self.windows.axes.map(axis),
        }
    }

    /// Whether the shapes of the tensors are those that the windows are for.
    fn fits(&self) -> bool {
        let axes = &self.windows.axes;
        // Of no planes there are no elements, however large these would be.
        let of = |size: fn(&WindowAxis) -> usize| {
            axes.iter().map(size).fold(self.windows.planes, usize::wrapping_mul)
        };
        of(|axis| axis.input) == self.input.numel() && of(|axis| axis.output) == self.output.numel()
    }
}

/// The results of the windows of a dense tensor, and if they are asked for the places of the largest
/// elements, as `I64`.
///
/// # Errors
/// The operator has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn pool(
    operator: &'static Operator<PooledWindows>,
    call: &PoolCall,
    input: &Tensor,
    has_places: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let (op, device) = (operator.name(), input.resolved_device());
    let is_prepared = input.is_contiguous() && input.shape() == &*call.input && call.fits();
    assert!(is_prepared, "{op}: prepared operands");
    operator.check_dtype(input.dtype(), device)?;
    let new = |dtype| Tensor::uninit(call.output.clone(), dtype, device);
    let output = new(input.dtype())?;
    let places = has_places.then(|| new(DType::I64)).transpose()?;
    if output.numel() == 0 {
        return Ok((output, places));
    }
    // Where there are no places, the output stands twice.
    let second = places.as_ref().unwrap_or(&output);
    let operands = [(&output, Access::Write), (second, Access::Write), (input, Access::Read)];
    let operands = Operands::hold_for_outputs(op, device, &operands, 2)?;
    let arguments = PooledWindows {
        out: operands.address(0),
        places: if has_places { operands.address(1) } else { 0 },
        input: operands.address(2),
        ..call.arguments(output.numel())
    };
    // SAFETY: all are dense and of the shapes that the windows are for (asserted above), of the
    // operator's dtype, and the places of `I64`.
    unsafe { operator.run(input.dtype(), &operands, &arguments)? };
    drop(operands);
    Ok((output, places))
}

/// The gradients of a pooling's elements, from the dense ones of its results and the places of the
/// largest elements, if it is one that has them.
///
/// # Errors
/// As [`pool`].
#[track_caller]
pub(crate) fn pool_backward(
    operator: &'static Operator<PooledWindows>,
    call: &PoolCall,
    grad: &Tensor,
    places: Option<&Tensor>,
) -> Result<Tensor> {
    let (op, device) = (operator.name(), grad.resolved_device());
    let is_output = |x: &Tensor| x.is_contiguous() && x.shape() == &*call.output;
    let are_places =
        |x: &Tensor| is_output(x) && x.dtype() == DType::I64 && x.resolved_device() == device;
    let has_places = call.pooling == Pooling::Max;
    let is_prepared = is_output(grad)
        && places.is_some() == has_places
        && places.is_none_or(are_places)
        && call.fits();
    assert!(is_prepared, "{op}: prepared operands");
    operator.check_dtype(grad.dtype(), device)?;
    if grad.numel() == 0 {
        return Tensor::zeros(call.input.clone(), (grad.dtype(), grad.device()));
    }
    let output = Tensor::uninit(call.input.clone(), grad.dtype(), device)?;
    // Where there are no places, the gradient stands twice; memory that is named twice is held once.
    let second = places.unwrap_or(grad);
    let operands = [(&output, Access::Write), (second, Access::Read), (grad, Access::Read)];
    let operands = Operands::hold_for_new(op, device, &operands)?;
    let arguments = PooledWindows {
        out: operands.address(0),
        places: if has_places { operands.address(1) } else { 0 },
        input: operands.address(2),
        ..call.arguments(output.numel())
    };
    // SAFETY: as in `pool`; the places are only compared with those of elements.
    unsafe { operator.run(grad.dtype(), &operands, &arguments)? };
    drop(operands);
    Ok(output)
}

fn axis(axis: WindowAxis) -> PoolAxis {
    let [input, output] = [axis.input, axis.output].map(|size| size as i64);
    match axis.windows {
        Windows::Adaptive => {
            PoolAxis { input, output, kernel: 0, stride: 0, padding: 0, dilation: 0 }
        }
        Windows::Sliding { kernel, stride, padding, dilation } => PoolAxis {
            input,
            output,
            kernel: kernel as i64,
            stride: stride as i64,
            padding: padding as i64,
            dilation: dilation as i64,
        },
    }
}
