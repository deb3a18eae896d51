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

/// The rows and columns of a tile. As many cache lines as a tile has columns are in use at a time;
/// more would evict each other where rows are a power of two apart, since they fall into the same
/// cache sets.
const TILE: [usize; 2] = [64, 16];

/// Calls `run` like [`for_each_run`], in tiles of the last two dimensions. Elements of a transposed
/// operand that are neighbours in memory are neighbours along the last dimension but one: a tile
/// uses all of a cache line before it is evicted.
#[inline(always)]
pub(super) fn for_each_tiled_run<const N: usize>(
    sizes: &[i64],
    strides: [&[i64]; N],
    units: Range<usize>,
    mut run: impl FnMut([isize; N], usize),
) {
    let [.., rows, cols] = *sizes else {
        return for_each_run(sizes, strides, units, |_, offsets, len| run(offsets, len));
    };
    let (rows, cols, last) = (rows as usize, cols as usize, sizes.len() - 1);
    let whole = units.start.next_multiple_of(cols)..units.end / cols * cols;
    if whole.start >= whole.end {
        return for_each_run(sizes, strides, units, |_, offsets, len| run(offsets, len));
    }
    for part in [units.start..whole.start, whole.end..units.end] {
        for_each_run(sizes, strides, part, |_, offsets, len| run(offsets, len));
    }
    let mut row = whole.start / cols;
    while row < whole.end / cols {
        // A tile ends where the matrix does.
        let height = TILE[0].min(rows - row % rows).min(whole.end / cols - row);
        let start = row * cols;
        for_each_run(sizes, strides, start..start + 1, |_, corner, _| {
            for col in (0..cols).step_by(TILE[1]) {
                for below in 0..height {
                    let offset = |operand: usize| {
                        let [down, right] = [strides[operand][last - 1], strides[operand][last]];
                        corner[operand]
                            + below as isize * down as isize
                            + col as isize * right as isize
                    };
                    run(std::array::from_fn(offset), TILE[1].min(cols - col));
                }
            }
        });
        row += height;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_a_range_once() {
        let (sizes, strides) = ([3, 70, 20], [1400, 1, 70]);
        for units in [0..4200, 13..4199, 5..17, 25..1300, 1399..2801] {
            let mut seen = vec![0; 4200];
            for_each_tiled_run(&sizes, [&strides], units.clone(), |[offset], len| {
                for step in 0..len {
                    seen[offset as usize + step * 70] += 1;
                }
            });
            let mut expected = vec![0; 4200];
            for unit in units {
                expected[unit / 1400 * 1400 + unit / 20 % 70 + unit % 20 * 70] += 1;
            }
            assert_eq!(seen, expected);
        }
    }

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
