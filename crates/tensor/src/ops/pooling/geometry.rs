//! Windows over the last dimensions of a tensor, checked.

use cpu_kernels::pooling::{PoolShape, Pooling, WindowAxis, Windows};

use super::options::PerAxis;
use crate::dispatch::PoolCall;
use crate::{Error, Result, Shape, Tensor};

/// The most that sizes, distances and paddings of windows can be, so that nothing that is computed of
/// them overflows.
const MOST: usize = i32::MAX as usize;

/// The sizes and places of sliding windows, as options have them.
pub(super) struct SlidingWindows<const N: usize> {
    pub(super) kernel_size: PerAxis<N>,
    pub(super) stride: PerAxis<N>,
    pub(super) padding: PerAxis<N>,
    pub(super) dilation: PerAxis<N>,
    pub(super) ceil_mode: bool,
}

impl<const N: usize> SlidingWindows<N> {
    /// The windows along an axis with so many elements.
    ///
    /// # Errors
    /// A number is too large, or 0 where it must not be; the padding is more than half a window; no
    /// window has room.
    pub(super) fn along(&self, op: &'static str, axis: usize, input: usize) -> Result<WindowAxis> {
        let kernel = bounded(op, "kernel_size", self.kernel_size, 1)?[axis];
        let stride = bounded(op, "stride", self.stride, 1)?[axis];
        let dilation = bounded(op, "dilation", self.dilation, 1)?[axis];
        let padding = bounded(op, "padding", self.padding, 0)?[axis];
        // The distance between the first and the last element of a window, less than 2^62.
        let reach = (kernel - 1) * dilation;
        let refused = |argument, numbers: PerAxis<N>, why| {
            Err(Error::InvalidArgument { op, argument, value: numbers.to_string(), why })
        };
        if padding > reach.div_ceil(2) {
            let why = "it must be at most half the size of a window";
            return refused("padding", self.padding, why);
        }
        let Some(room) = (input + 2 * padding).checked_sub(reach + 1) else {
            let why = "a window is larger than the tensor with its padding";
            return refused("kernel_size", self.kernel_size, why);
        };
        let mut output = room / stride + 1;
        // A last window that is cut off counts if it begins before the padding at the end.
        let is_cut = self.ceil_mode && !room.is_multiple_of(stride);
        if is_cut && output * stride < input + padding {
            output += 1;
        }
        let windows = Windows::Sliding { kernel, stride, padding, dilation };
        Ok(WindowAxis { input, output, windows })
    }
}

/// The numbers of an option, which are at least `least`, and not so large that what is computed of them
/// overflows.
///
/// # Errors
/// One is not.
pub(in crate::ops) fn bounded<const N: usize>(
    op: &'static str,
    argument: &'static str,
    numbers: PerAxis<N>,
    least: usize,
) -> Result<[usize; N]> {
    if numbers.each().iter().all(|number| (least..=MOST).contains(number)) {
        return Ok(numbers.each());
    }
    let why = match least {
        0 => "it must be at most 2147483647",
        _ => "it must lie between 1 and 2147483647",
    };
    Err(Error::InvalidArgument { op, argument, value: numbers.to_string(), why })
}

/// Checks the dimensions of a tensor, of which the last `N` have windows.
///
/// # Errors
/// There are not one or two dimensions before these; one of the others than the batch has size 0.
pub(super) fn check_dims<const N: usize>(op: &'static str, x: &Tensor) -> Result<()> {
    let leading = x.dims().checked_sub(N);
    let batch = usize::from(leading == Some(2));
    if matches!(leading, Some(1 | 2)) && !x.shape()[batch..].contains(&0) {
        return Ok(());
    }
    let rule = match N {
        1 => {
            "`self` must be [channels, length] or [batch, channels, length], and only the batch empty"
        }
        2 => {
            "`self` must be [channels, height, width] or [batch, channels, height, width], and only \
             the batch empty"
        }
        _ => {
            "`self` must be [channels, depth, height, width] or [batch, channels, depth, height, \
             width], and only the batch empty"
        }
    };
    Err(Error::ShapeMismatch { op, shapes: vec![("self", x.layout().shape().clone())], rule })
}

/// The pooling of a tensor, whose dimensions were checked, by windows along its last `N` dimensions.
///
/// # Errors
/// Those of `along`, which gives the windows of an axis with so many elements; the result is larger than
/// any memory.
pub(super) fn plan<const N: usize>(
    x: &Tensor,
    pooling: Pooling,
    along: impl Fn(usize, usize) -> Result<WindowAxis>,
) -> Result<PoolCall> {
    let first = x.dims() - N;
    let one = WindowAxis { input: 1, output: 1, windows: Windows::Adaptive };
    let mut axes = [one; 3];
    let mut output: Vec<usize> = x.shape().to_vec();
    for axis in 0..N {
        let windows = along(axis, x.shape()[first + axis])?;
        output[first + axis] = windows.output;
        axes[3 - N + axis] = windows;
    }
    let planes = x.shape()[..first].iter().product();
    let (input, output) = (x.layout().shape().clone(), Shape::from(output));
    if output.checked_numel().is_none() {
        return Err(Error::TooLarge { shape: output, dtype: x.dtype() });
    }
    Ok(PoolCall { pooling, windows: PoolShape { planes, axes }, input, output })
}
