//! Large reductions to few elements on CUDA: first to a thousand parts, then to the result.

use crate::dispatch::abi::Reduce;
use crate::dispatch::{self, Operator};
use crate::layout::Layout;
use crate::{DType, Result, Shape, Tensor};

/// A kernel folds each output within one block, so few outputs keep few multiprocessors busy. From
/// this many elements on, a second launch costs less than that.
const LARGE: usize = 1 << 17;

/// The number of parts that the first step aims at: enough blocks for any device.
const PARTS: usize = 1 << 10;

/// The reduction over neighbouring dimensions of a large dense tensor on CUDA to few outputs, in two
/// launches; nothing where one launch is better, or where parts would be rounded to halves.
#[track_caller]
pub(super) fn in_two_steps(
    operator: &'static Operator<Reduce>,
    x: &Tensor,
    dims: &[usize],
    keepdim: bool,
) -> Result<Option<Tensor>> {
    let suits = x.is_cuda() && x.numel() >= LARGE && x.dtype() != DType::F16 && x.is_contiguous();
    let neighbours = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let (Some(&first), Some(&last)) = (dims.first(), dims.last()) else { return Ok(None) };
    if !suits || !neighbours {
        return Ok(None);
    }
    let sizes = x.shape();
    let product = |sizes: &[usize]| sizes.iter().product::<usize>();
    let (outer, folded, inner) =
        (product(&sizes[..first]), product(&sizes[first..=last]), product(&sizes[last + 1..]));
    let Some(parts) = parts(outer * inner, folded) else { return Ok(None) };
    let rows = dense(x, [outer, parts, folded / parts, inner].into(), x.offset())?;
    let partial = dispatch::reduce(operator, &rows, &[2], false)?;
    let output = dispatch::reduce(operator, &partial, &[1], false)?;
    dense(&output, dispatch::reduced_shape(sizes, dims, keepdim), 0).map(Some)
}

/// How many parts the elements of each output are cut into. They are of one size, since the mean of
/// means is a mean only then; sizes in practice are even many times over.
fn parts(outputs: usize, folded: usize) -> Option<usize> {
    let wanted = PARTS.checked_div(outputs)?.next_power_of_two();
    let halved = std::iter::successors(Some(wanted), |parts| Some(parts / 2));
    let mut useful = halved.take_while(|&parts| parts >= 8);
    useful.find(|&parts| folded.is_multiple_of(parts))
}

/// The elements from `offset` on, seen as row-major of `shape`.
fn dense(x: &Tensor, shape: Shape, offset: usize) -> Result<Tensor> {
    x.alias(Layout::contiguous(shape).and_then(|layout| layout.at(offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal_and_enough_to_be_worth_a_launch() {
        assert_eq!(parts(1, 1 << 20), Some(1024));
        assert_eq!(parts(10, 1 << 14), Some(128));
        assert_eq!(parts(1, 8 * 999_983), Some(8));
        assert_eq!(parts(1, 999_983), None, "a prime has no parts");
        assert_eq!(parts(500, 1 << 10), None, "the outputs are enough blocks");
        assert_eq!(parts(0, 1 << 20), None);
    }
}
