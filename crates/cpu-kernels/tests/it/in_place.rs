//! Outputs that are inputs.

use cpu_kernels::InstructionSet;
use expression::{ComputeType, DType, Expression, Value, trace};
use smallvec::{SmallVec, smallvec};

use crate::numbers::Random;
use crate::tensors::{Call, StridedTensor, dense};

type Results<'t> = SmallVec<[Value<'t>; 2]>;

fn check(expression: &Expression, dtype: DType, sizes: &[usize], in_place: &[Option<usize>]) {
    for &set in InstructionSet::supported() {
        let mut random = Random(3);
        let strides = dense(sizes);
        let inputs = expression
            .inputs()
            .iter()
            .map(|_| StridedTensor::random(&mut random, dtype, sizes, &strides))
            .collect();
        let output = |_: &Option<usize>| StridedTensor::zeros(dtype, sizes, &strides);
        Call {
            expression,
            sizes,
            inputs,
            outputs: in_place.iter().map(output).collect(),
            in_place: in_place.into(),
            scalars: vec![],
        }
        .check(set);
    }
}

fn of_two(f: impl for<'t> FnOnce(Value<'t>, Value<'t>) -> Results<'t>) -> Expression {
    trace(&[ComputeType::F32; 2], &[], |_, tensors, _| f(tensors[0], tensors[1]))
}

#[test]
fn results_may_replace_operands() {
    let sum = of_two(|x, y| smallvec![x - y]);
    for length in [1, 63, 64, 65, 1000, 5000] {
        for dtype in [DType::F32, DType::F16] {
            check(&sum, dtype, &[length], &[Some(0)]);
            check(&sum, dtype, &[length], &[Some(1)]);
        }
    }
}

#[test]
fn an_operand_that_a_result_replaces_is_still_read_by_later_steps() {
    // Steps as an optimizer makes them: the first result replaces what the second needs.
    let steps = of_two(|x, y| smallvec![x * 0.5 + y, x - y * x]);
    let swap = of_two(|x, y| smallvec![y, x]);
    let rotate = of_two(|x, y| smallvec![y, x + y]);
    for expression in [steps, swap, rotate] {
        for dtype in [DType::F32, DType::BF16] {
            for sizes in [&[5][..], &[3000], &[30, 70], &[3, 2000]] {
                check(&expression, dtype, sizes, &[Some(0), Some(1)]);
                check(&expression, dtype, sizes, &[Some(1), Some(0)]);
                check(&expression, dtype, sizes, &[Some(0), None]);
            }
        }
    }
}

#[test]
fn bounds_are_those_of_a_comparison_and_a_choice() {
    let relu = of_two(|x, _| smallvec![x.relu()]);
    let bound = of_two(|x, y| smallvec![x.le(y).select(y, x)]);
    let later = of_two(|x, y| smallvec![(x * y).relu() + x, (x + y).relu() * y]);
    // The comparison is needed besides.
    let both = of_two(|x, y| {
        let is_less = x.le(y);
        smallvec![is_less.select(y, x), is_less.select(x, y)]
    });
    for dtype in [DType::F32, DType::F16] {
        for sizes in [&[5][..], &[64], &[3000], &[30, 70]] {
            for expression in [&relu, &bound] {
                check(expression, dtype, sizes, &[Some(0)]);
                check(expression, dtype, sizes, &[Some(1)]);
                check(expression, dtype, sizes, &[None]);
            }
            for expression in [&later, &both] {
                check(expression, dtype, sizes, &[Some(0), Some(1)]);
                check(expression, dtype, sizes, &[Some(1), Some(0)]);
                check(expression, dtype, sizes, &[None, None]);
            }
        }
    }
}
