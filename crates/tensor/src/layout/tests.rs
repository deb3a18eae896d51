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
fn a_layout_overlaps_itself_if_two_elements_have_one_position() {
    let sizes = [[1, 1, 1], [2, 3, 1], [2, 2, 2], [3, 2, 4], [4, 3, 2], [0, 2, 3]];
    let strides = [0isize, 1, 2, 3, 4, 5, 6, 7, -3];
    for shape in sizes {
        for (&a, &b, &c) in strides
            .iter()
            .flat_map(|a| strides.iter().map(move |b| (a, b)))
            .flat_map(|(a, b)| strides.iter().map(move |c| (a, b, c)))
        {
            let layout = strided(&shape, &[a, b, c], 100).expect("it fits");
            let mut positions: Vec<isize> = (0..shape[0] as isize)
                .flat_map(|i| (0..shape[1] as isize).map(move |j| i * a + j * b))
                .flat_map(|at| (0..shape[2] as isize).map(move |k| at + k * c))
                .collect();
            let count = positions.len();
            positions.sort_unstable();
            positions.dedup();
            let overlaps = positions.len() < count;
            assert_eq!(layout.overlaps_itself(), overlaps, "{shape:?} {:?}", [a, b, c]);
            for way in -8..=8 {
                let other = strided(&shape, &[a, b, c], 100_usize.wrapping_add_signed(way));
                let is_apart = !positions.iter().any(|at| positions.contains(&(at + way)));
                let found = layout.lies_apart_from(&other.expect("it fits"));
                assert_eq!(found, is_apart, "{shape:?} {:?} {way}", [a, b, c]);
            }
        }
    }
}

#[test]
fn large_layouts_are_known_to_overlap_or_not_at_once() {
    let windows = strided(&[1 << 20, 1 << 10], &[1, 1], 0).expect("it fits");
    assert!(windows.overlaps_itself());
    let apart = strided(&[1 << 20, 1 << 10, 2], &[1 << 10, 1, 1 << 30], 0).expect("it fits");
    assert!(!apart.overlaps_itself());
    let coprime = strided(&[1 << 20, 1 << 20], &[(1 << 21) + 1, 1 << 21], 0).expect("it fits");
    assert!(!coprime.overlaps_itself());
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
