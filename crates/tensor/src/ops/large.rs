//! Large reductions to few elements on CUDA: first to a thousand parts, then to the result.

use crate::dispatch::abi::Reduce;
use crate::dispatch::{self, Operation};
use crate::layout::Layout;
use crate::{DType, Result, Tensor};

/// A kernel folds each output within one block, so one output keeps one multiprocessor busy; from
/// this many elements on a second launch costs less than that.
const LARGE: usize = 1 << 17;

/// Parts of the first step: enough blocks for any device.
const PARTS: usize = 1 << 10;

/// The reduction of all elements of a large dense tensor on CUDA, in two launches; nothing where
/// one launch is better, or where the partial results would be rounded to halves.
pub(super) fn in_two_steps(
    operation: &'static Operation<Reduce>,
    x: &Tensor,
    dims: &[usize],
    keepdim: bool,
) -> Result<Option<Tensor>> {
    let count = x.numel();
    let whole = dims.len() == x.dims() && x.is_contiguous();
    // The parts must be of one size. Sizes in practice are even many times over.
    let parts =
        [PARTS, PARTS / 2, PARTS / 4, PARTS / 8].into_iter().find(|&n| count.is_multiple_of(n));
    let Some(parts) = parts else { return Ok(None) };
    if !x.is_cuda() || !whole || count < LARGE || x.dtype() == DType::F16 {
        return Ok(None);
    }
    let rows = x.alias(dense_at(x, &[parts, count / parts]));
    let partial = dispatch::reduce(operation, &rows, &[1], false)?;
    let output = dispatch::reduce(operation, &partial, &[0], false)?;
    if !keepdim {
        return Ok(Some(output));
    }
    let ones = Layout::contiguous(std::iter::repeat_n(1, x.dims()).collect());
    Ok(Some(output.alias(ones)))
}

fn dense_at(x: &Tensor, sizes: &[usize; 2]) -> Layout {
    let strides = [sizes[1] as isize, 1].into_iter().collect();
    Layout::strided((*sizes).into(), strides, x.offset())
}
