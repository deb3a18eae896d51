//! Loops over strided operands, in runs of evenly spaced elements along the innermost dimension.

use std::ops::Range;

/// Calls `run(linear index, offset of each operand, length)` for the runs that make up the elements
/// `units`, in row-major order, of an array of `sizes`. Offsets and strides are in elements.
#[inline(always)]
pub(super) fn for_each_run<const N: usize>(
    sizes: &[i64],
    strides: [&[i64]; N],
    units: Range<usize>,
    mut run: impl FnMut(usize, [isize; N], usize),
) {
    let Some((&innermost, outer)) = sizes.split_last() else {
        if !units.is_empty() {
            run(0, [0; N], 1);
        }
        return;
    };
    let innermost = innermost as usize;
    let mut at = units.start;
    while at < units.end {
        let along = at % innermost;
        let len = (innermost - along).min(units.end - at);
        let mut offsets = strides.map(|stride| along as isize * stride[outer.len()] as isize);
        let mut rest = at / innermost;
        for (dim, &size) in outer.iter().enumerate().rev() {
            let coordinate = (rest % size as usize) as isize;
            rest /= size as usize;
            for (offset, stride) in offsets.iter_mut().zip(&strides) {
                *offset += coordinate * stride[dim] as isize;
            }
        }
        run(at, offsets, len);
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_begins_and_ends_inside_rows_is_covered_once() {
        let mut seen = Vec::new();
        for_each_run(&[2, 3], [&[1, 2]], 1..5, |at, [offset], len| {
            seen.push((at, offset, len));
        });
        assert_eq!(seen, [(1, 2, 2), (3, 1, 2)]);
    }

    #[test]
    fn no_dimensions_are_one_element() {
        let mut count = 0;
        for_each_run(&[], [&[]], 0..1, |_, _, len| count += len);
        assert_eq!(count, 1);
    }
}
