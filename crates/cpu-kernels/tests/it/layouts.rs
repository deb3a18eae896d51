//! Layouts of operands.

use cpu_kernels::InstructionSet;
use expression::{ComputeType, DType, trace};
use smallvec::smallvec;

use crate::numbers::Random;
use crate::tensors::{Call, StridedTensor, dense};

/// Sizes of up to four dimensions, of about so many elements at most.
pub(crate) fn random_sizes(random: &mut Random, most: usize) -> Vec<usize> {
    let dims = random.below(5);
    let mut left = most;
    let mut sizes: Vec<usize> = (0..dims)
        .map(|dim| {
            let bound = if dim + 1 == dims { left } else { left.min(40) };
            let size = 1 + random.below(bound);
            left = (left / size).max(1);
            size
        })
        .collect();
    // The large dimension may be any.
    for at in (1..sizes.len()).rev() {
        sizes.swap(at, random.below(at + 1));
    }
    sizes
}

/// Strides of a view: permuted, with gaps, backwards, and repeated along some dimensions if
/// `may_repeat`.
pub(crate) fn random_strides(random: &mut Random, sizes: &[usize], may_repeat: bool) -> Vec<isize> {
    if random.below(3) == 0 {
        return dense(sizes);
    }
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    if random.below(2) == 0 {
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
    }
    let mut strides = vec![0; sizes.len()];
    let mut next = if random.below(3) == 0 { 2 } else { 1 };
    for &dim in order.iter().rev() {
        if may_repeat && random.below(3) == 0 {
            continue;
        }
        strides[dim] = if random.below(5) == 0 { -next } else { next };
        next *= sizes[dim] as isize + (random.below(4) == 0) as isize;
    }
    strides
}

/// A sum of tensors of two dtypes in these layouts.
fn check_sum(sizes: &[usize], strides: [&[isize]; 3], dtypes: [DType; 3]) {
    let sum =
        trace(&[ComputeType::F32; 2], &[], |_, tensors, _| smallvec![tensors[0] + tensors[1]]);
    for &set in InstructionSet::supported() {
        let mut random = Random(1);
        let mut input =
            |at: usize| StridedTensor::random(&mut random, dtypes[at], sizes, strides[at]);
        Call {
            expression: &sum,
            sizes,
            inputs: vec![input(0), input(1)],
            outputs: vec![StridedTensor::zeros(dtypes[2], sizes, strides[2])],
            in_place: vec![None],
            scalars: vec![],
        }
        .check(set);
    }
}

const SINGLES: [DType; 3] = [DType::F32; 3];

#[test]
fn rows_and_columns_are_repeated() {
    for sizes in [[3, 5], [40, 64], [7, 1500], [1500, 7], [70, 1025], [1, 2000]] {
        let of_dense = dense(&sizes);
        check_sum(&sizes, [&of_dense, &[0, 1], &of_dense], SINGLES);
        check_sum(&sizes, [&of_dense, &[1, 0], &of_dense], SINGLES);
        check_sum(&sizes, [&[0, 1], &[1, 0], &of_dense], SINGLES);
        check_sum(&sizes, [&of_dense, &[0, 0], &of_dense], SINGLES);
        check_sum(&sizes, [&of_dense, &[0, 1], &of_dense], [DType::F16, DType::BF16, DType::F16]);
    }
}

#[test]
fn a_column_of_long_rows_is_repeated_in_every_dtype() {
    // Rows that are blocks by themselves, longer ones and shorter ones; planes of a column, too.
    for sizes in [[9, 256], [5, 300], [4, 1024], [3, 2500], [9, 255]] {
        let of_dense = dense(&sizes);
        for of in [DType::F32, DType::F16, DType::BF16] {
            check_sum(&sizes, [&of_dense, &[1, 0], &of_dense], [DType::F32, of, DType::F32]);
            check_sum(&sizes, [&[1, 0], &of_dense, &of_dense], [of; 3]);
            check_sum(&sizes, [&[1, 0], &[-3, 0], &of_dense], [of; 3]);
        }
    }
    let planes = [2, 3, 20, 31];
    check_sum(&planes, [&dense(&planes), &[3, 1, 0, 0], &dense(&planes)], SINGLES);
    check_sum(&planes, [&dense(&planes), &[0, 1, 0, 0], &dense(&planes)], SINGLES);
}

#[test]
fn operands_may_be_transposed() {
    for [rows, columns] in [[2, 3], [8, 8], [32, 32], [33, 65], [100, 257], [1, 300], [300, 1]] {
        let sizes = [rows, columns];
        let (of_dense, turned) = (dense(&sizes), [1, rows as isize]);
        for dtypes in [SINGLES, [DType::F16, DType::F32, DType::BF16]] {
            check_sum(&sizes, [&of_dense, &turned, &of_dense], dtypes);
            check_sum(&sizes, [&turned, &turned, &of_dense], dtypes);
            check_sum(&sizes, [&of_dense, &of_dense, &turned], dtypes);
        }
    }
}

#[test]
fn copies_go_between_all_layouts_in_every_size_of_element() {
    for dtype in DType::ALL {
        let of = dtype.compute_type();
        let copy = trace(&[of], &[], |_, tensors, _| smallvec![tensors[0]]);
        for seed in 0..60 {
            let mut random = Random(seed);
            let sizes = random_sizes(&mut random, 6000);
            let from = random_strides(&mut random, &sizes, true);
            let to = random_strides(&mut random, &sizes, false);
            Call {
                expression: &copy,
                sizes: &sizes,
                inputs: vec![StridedTensor::random(&mut random, dtype, &sizes, &from)],
                outputs: vec![StridedTensor::zeros(dtype, &sizes, &to)],
                in_place: vec![None],
                scalars: vec![],
            }
            .check(random.choose(InstructionSet::supported()));
        }
    }
}

#[test]
fn large_work_is_split_and_complete() {
    let sizes = [700, 1000];
    let of_dense = dense(&sizes);
    check_sum(&sizes, [&of_dense, &of_dense, &of_dense], SINGLES);
    check_sum(&sizes, [&of_dense, &[1, 700], &of_dense], SINGLES);
    check_sum(&sizes, [&of_dense, &[0, 1], &of_dense], [DType::F16, DType::F32, DType::BF16]);
}
