//! Sorts and searches of every dtype against plain loops.

use std::cmp::Ordering;

use cpu_kernels::search::{SearchKernel, SearchOperands, SearchShape};
use cpu_kernels::sort::{SortKernel, SortShape};
use expression::DType;

use crate::guarded::Guarded;
use crate::values::{decode, encode, numbers};

/// NaN is greater than all numbers and equal to itself, and both zeros are equal.
fn compared(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The places of the row's elements in order.
fn sorted(row: &[f64], descending: bool) -> Vec<i64> {
    let mut places: Vec<i64> = (0..row.len() as i64).collect();
    places.sort_by(|&a, &b| {
        let order = compared(row[a as usize], row[b as usize]);
        if descending { order.reverse() } else { order }
    });
    places
}

#[test]
fn every_part_of_the_order_is_that_of_a_stable_sort() {
    for dtype in DType::ALL {
        for (rows, size) in [(1, 1), (3, 17), (2, 1023), (2, 1024), (1, 5000)] {
            let mut x = numbers(rows * size);
            // Where a dtype has no NaN, it is cut to zero, and for truth values it is true.
            x.iter_mut().step_by(7).for_each(|x| *x = f64::NAN);
            let elements = encode(dtype, &x);
            let (given, x) = (Guarded::new(&elements), decode(dtype, &elements));
            for (first, count) in [(0, size), (0, size / 2), (size / 2, 1), (size - 1, 1), (0, 0)] {
                for descending in [false, true] {
                    let mut places = vec![-1i64; rows * count];
                    let shape = SortShape { rows, size, first, count };
                    let kernel = SortKernel::new(dtype, descending);
                    // SAFETY: there are so many elements, and places.
                    unsafe { kernel.run(shape, given.start(), places.as_mut_ptr()) };
                    let expected: Vec<i64> = x
                        .chunks(size)
                        .flat_map(|row| sorted(row, descending)[first..first + count].to_vec())
                        .collect();
                    assert_eq!(places, expected, "{dtype}, {shape:?}, {descending}");
                }
            }
        }
    }
}

#[test]
fn a_search_counts_what_comes_before_a_value() {
    for dtype in DType::ALL {
        let (rows, size, count) = (3, 21, 9);
        let mut x = decode(dtype, &encode(dtype, &numbers(rows * size)));
        x.chunks_mut(size).for_each(|row| row.sort_by(|&a, &b| compared(a, b)));
        let elements = encode(dtype, &x);
        let wanted = encode(dtype, &numbers(rows * count));
        let (given, values) = (Guarded::new(&elements), Guarded::new(&wanted));
        for right in [false, true] {
            let mut places = vec![-1i64; rows * count];
            let operands = SearchOperands {
                out: places.as_mut_ptr(),
                sorted: given.start(),
                values: values.start(),
                sorter: std::ptr::null(),
            };
            let shape = SearchShape { rows, size, count };
            // SAFETY: the operands are of these sizes.
            unsafe { SearchKernel::new(dtype, right).run(shape, operands) };
            for (at, value) in decode(dtype, &wanted).into_iter().enumerate() {
                let row = &x[at / count * size..][..size];
                let stops = |&element: &f64| if right { element > value } else { element >= value };
                let expected = row.iter().position(stops).unwrap_or(size);
                assert_eq!(places[at], expected as i64, "{dtype}, {value} in {row:?}");
            }
        }
    }
}
