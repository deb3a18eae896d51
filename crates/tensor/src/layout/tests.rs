//! Ends, merges and overlaps of layouts.

use super::*;

fn strided(shape: &[usize], strides: &[isize], offset: usize) -> Result<Layout, NoLayout> {
    Layout::strided(shape.into(), strides.iter().copied().collect(), offset)
}

#[test]
fn a_layout_knows_where_it_ends() {
    let end = |shape: &[usize], strides: &[isize], offset| {
        strided(shape, strides, offset).expect("it fits").end()
    };
    assert_eq!(end(&[2, 3], &[3, 1], 0), 6);
    assert_eq!(end(&[2, 3], &[10, 2], 5), 20);
    assert_eq!(end(&[1 << 62], &[0], 7), 8);
    assert_eq!(end(&[4], &[-1], 3), 4);
    assert_eq!(end(&[], &[], 3), 4);
    assert_eq!(end(&[5, 0], &[1, 1], 9), 0, "nothing needs no place");
}

#[test]
fn a_part_of_a_layout_is_what_its_numbers_say() {
    for (strides, offset) in [([12, 4, 1], 2), ([-12, 0, 3], 40), ([1, -7, 2], 30)] {
        let whole = strided(&[3, 4, 5], &strides, offset).expect("it fits");
        for dim in 0..3 {
            let size = whole.shape()[dim];
            for (start, end) in (0..size).flat_map(|s| (s + 1..=size).map(move |e| (s, e))) {
                let mut shape = whole.shape().to_vec();
                shape[dim] = end - start;
                let offset = offset.wrapping_add_signed(start as isize * strides[dim]);
                let expected = strided(&shape, &strides, offset);
                assert_eq!(whole.slice(dim, start, end - start, 1), expected);
            }
        }
    }
}

#[test]
fn what_begins_before_its_storage_is_no_layout() {
    assert!(matches!(strided(&[4], &[-1], 2), Err(NoLayout::Outside(_))));
}

#[test]
fn numbers_that_overflow_are_no_layout() {
    const MOST: isize = isize::MAX;
    for (shape, strides, offset) in [
        (&[usize::MAX][..], &[0][..], 0),
        (&[1 << 32, 1 << 31], &[0, 0], 0),
        (&[1 << 32, 0, 1 << 31], &[0, 0, 0], 0),
        (&[3], &[MOST / 2], 0),
        (&[2, 2], &[MOST / 2, MOST / 2], 1),
        (&[2], &[MOST / 2], usize::MAX / 2),
        (&[], &[], usize::MAX),
    ] {
        let refused = strided(shape, strides, offset);
        assert!(matches!(refused, Err(NoLayout::TooLarge(_))), "{shape:?} {strides:?}");
    }
}
