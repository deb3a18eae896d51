//! Large reductions to few elements on CUDA, in two launches: first to about a thousand partial
//! results, then to the result.

use crate::dispatch::abi::Reduce;
use crate::dispatch::{self, Operator};
use crate::layout::Layout;
use crate::{DType, Result, Shape, Tensor};

/// The fewest elements that are reduced in two launches. A kernel reduces each output within one
/// block, so with few outputs most multiprocessors are idle; from this size on that costs more than
/// a second launch.
const LARGE: usize = 1 << 17;

/// The number of partial results that the first launch aims at: enough blocks for any device.
const PARTS: usize = 1 << 10;

/// Reduces neighbouring dimensions of a large dense tensor on CUDA to few outputs, in two launches.
/// `None` if one launch is better, or if the partial results would be rounded to halves.
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

/// The number of parts that the elements of each output are cut into, if that is worth a launch.
/// All parts have the same size, since only then is the mean of their means the mean; sizes in
/// practice have many factors of two.
fn parts(outputs: usize, folded: usize) -> Option<usize> {
    let wanted = PARTS.checked_div(outputs)?.next_power_of_two();
    let halved = std::iter::successors(Some(wanted), |parts| Some(parts / 2));
    let mut useful = halved.take_while(|&parts| parts >= 8);
    useful.find(|&parts| folded.is_multiple_of(parts))
}

/// The dense elements from `offset` on as a tensor of `shape`.
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
