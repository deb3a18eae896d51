//! Indexed operations of every dtype against plain loops.

use cpu_kernels::InstructionSet;
use cpu_kernels::index::{
    IndexKernel, IndexOperands, IndexOperation, IndexOutOfRange, IndexShape, check_indices,
};
use expression::DType;
use proptest::prelude::*;

use crate::guarded::Guarded;
use crate::values::{assert_same, decode, encode, numbers, rounded};

const OPERATIONS: [IndexOperation; 9] = [
    IndexOperation::Select,
    IndexOperation::Gather,
    IndexOperation::CopySlices,
    IndexOperation::Scatter,
    IndexOperation::AddSlices,
    IndexOperation::ScatterAdd,
    IndexOperation::ScatterProd,
    IndexOperation::ScatterMax,
    IndexOperation::ScatterMin,
];

/// The output of an operation, by a loop over the chosen side.
fn expected(
    operation: IndexOperation,
    shape: IndexShape,
    (out, source, index): (&[f64], &[f64], &[i64]),
    round: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let IndexShape { outer, size, count, inner } = shape;
    let mut out = out.to_vec();
    for (o, s, i) in
        (0..outer).flat_map(|o| (0..count).flat_map(move |s| (0..inner).map(move |i| (o, s, i))))
    {
        let small = (o * count + s) * inner + i;
        let chosen = index[if operation.is_per_element() { small } else { s }] as usize;
        let large = (o * size + chosen) * inner + i;
        match operation {
            IndexOperation::Select | IndexOperation::Gather => out[small] = source[large],
            IndexOperation::CopySlices | IndexOperation::Scatter => out[large] = source[small],
            IndexOperation::AddSlices | IndexOperation::ScatterAdd => {
                out[large] = round(out[large] + source[small]);
            }
            IndexOperation::ScatterProd => out[large] = round(out[large] * source[small]),
            IndexOperation::ScatterMax => out[large] = out[large].max(source[small]),
            IndexOperation::ScatterMin => out[large] = out[large].min(source[small]),
        }
    }
    out
}

fn check(shape: IndexShape, seed: usize) {
    let IndexShape { outer, size, count, inner } = shape;
    let [large, small] = [outer * size * inner, outer * count * inner];
    let index: Vec<i64> = (0..small.max(count)).map(|at| ((at * 7 + seed) % size) as i64).collect();
    for dtype in DType::ALL {
        for operation in OPERATIONS {
            let reads = matches!(operation, IndexOperation::Select | IndexOperation::Gather);
            let [outputs, sources] = if reads { [small, large] } else { [large, small] };
            let [out, mut source] =
                [outputs, sources].map(|count| rounded(dtype, &numbers(count + 1)[1..]));
            if operation == IndexOperation::ScatterProd {
                // So that no product is too large.
                source = rounded(dtype, &source.iter().map(|x| x.signum()).collect::<Vec<_>>());
            }
            let round = |x: f64| rounded(dtype, &[x])[0];
            let wanted = expected(operation, shape, (&out, &source, &index), round);
            for &set in InstructionSet::supported() {
                let [to, from] = [&out, &source].map(|x| Guarded::new(&encode(dtype, x)));
                let indices = if operation.is_per_element() { small } else { count };
                let index: Vec<u8> =
                    index[..indices].iter().flat_map(|at| at.to_le_bytes()).collect();
                let index = Guarded::new(&index);
                let operands = IndexOperands {
                    out: to.start(),
                    source: from.start(),
                    index: index.start().cast(),
                };
                // SAFETY: the arrays have as many elements as the shape says, and the indices are
                // less than its size.
                unsafe { IndexKernel::in_set(operation, dtype, set).run(shape, operands) };
                let what = format!("{operation:?} {dtype} {} {shape:?}", set.name());
                assert_same(&decode(dtype, to.bytes()), &wanted, &what);
            }
        }
    }
}

#[test]
fn large_operations_are_split_between_threads_and_stay_those_of_a_loop() {
    for [outer, size, count, inner] in [[1, 50, 40_000, 1], [1, 300, 1000, 64], [5, 9, 7, 3000]] {
        check(IndexShape { outer, size, count, inner }, 3);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn operations_of_any_shape_are_those_of_a_loop(
        outer in 0usize..4,
        size in 1usize..9,
        count in 0usize..9,
        inner in 0usize..6,
        seed in 0usize..100,
    ) {
        check(IndexShape { outer, size, count, inner }, seed);
    }
}

#[test]
fn the_first_index_out_of_range_is_named_with_its_position() {
    let mut indices = vec![4i64; 5000];
    assert_eq!(check_indices(&indices, 5), Ok(()));
    indices[3000] = 5;
    indices[4000] = -1;
    let error = IndexOutOfRange { position: 3000, index: 5, size: 5 };
    assert_eq!(check_indices(&indices, 5), Err(error));
    assert_eq!(check_indices(&indices, 6).unwrap_err().index, -1);
    assert_eq!(check_indices(&[], 0), Ok(()));
    assert!(check_indices(&[0], 0).is_err());
    let text = "index 5 at position 3000 is not in a dimension of size 5";
    assert_eq!(error.to_string(), text);
}
