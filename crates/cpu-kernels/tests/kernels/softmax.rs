//! Softmax and its like against plain loops.

use cpu_kernels::InstructionSet;
use cpu_kernels::softmax::{RowFunction, RowKernel, RowOperands};
use expression::DType;

use crate::guarded::Guarded;
use crate::values::{assert_close, assert_same, decode, encode, numbers, rounded};

const FUNCTIONS: [RowFunction; 4] = [
    RowFunction::Softmax,
    RowFunction::LogSoftmax,
    RowFunction::SoftmaxBackward,
    RowFunction::LogSoftmaxBackward,
];

fn expected(function: RowFunction, a: &[f64], b: &[f64]) -> Vec<f64> {
    let largest = a.iter().fold(f64::NEG_INFINITY, |x, &y| x.max(y));
    let sum: f64 = a.iter().map(|x| (x - largest).exp()).sum();
    let dot: f64 = a.iter().zip(b).map(|(g, y)| g * y).sum();
    let total: f64 = a.iter().sum();
    let pairs = a.iter().zip(b);
    match function {
        RowFunction::Softmax => a.iter().map(|x| (x - largest).exp() / sum).collect(),
        RowFunction::LogSoftmax => a.iter().map(|x| x - largest - sum.ln()).collect(),
        RowFunction::SoftmaxBackward => pairs.map(|(g, y)| y * (g - dot)).collect(),
        RowFunction::LogSoftmaxBackward => pairs.map(|(g, y)| g - y.exp() * total).collect(),
    }
}

fn run(
    function: RowFunction,
    (dtype, set): (DType, InstructionSet),
    [rows, cols]: [usize; 2],
    [a, b]: [&[f64]; 2],
) -> Vec<f64> {
    let [a, b] = [a, b].map(|x| Guarded::new(&encode(dtype, x)));
    let out = Guarded::new(&vec![0; a.bytes().len()]);
    let kernel = RowKernel::in_set(function, dtype, set).expect("it is a float");
    let operands = RowOperands { out: out.start(), a: a.start(), b: b.start(), rows, cols };
    // SAFETY: all are matrices of this size and dtype.
    unsafe { kernel.run(operands) };
    decode(dtype, out.bytes())
}

#[test]
fn functions_of_rows_are_those_of_a_loop() {
    for [rows, cols] in [[1, 1], [40, 10], [3, 257], [2, 4097], [300, 100], [1, 100_000]] {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
            let a = rounded(dtype, &numbers(rows * cols));
            let b: Vec<f64> = a.iter().rev().map(|x| x * 0.0625 - 0.5).collect();
            let b = rounded(dtype, &b);
            for function in FUNCTIONS {
                let rows_of =
                    |x: &[f64]| -> Vec<Vec<f64>> { x.chunks(cols).map(<[f64]>::to_vec).collect() };
                let wanted: Vec<f64> = rows_of(&a)
                    .iter()
                    .zip(rows_of(&b))
                    .flat_map(|(a, b)| expected(function, a, &b))
                    .collect();
                let scale = wanted.iter().fold(1.0, |x: f64, y| x.max(y.abs()));
                let tolerance = match dtype {
                    DType::F64 => 1e-12,
                    DType::F32 => 2e-6,
                    DType::F16 => 1e-3,
                    _ => 8e-3,
                };
                for &set in InstructionSet::supported() {
                    let ours = run(function, (dtype, set), [rows, cols], [&a, &b]);
                    let what = format!("{function:?} {dtype} {rows} x {cols} {}", set.name());
                    assert_close(&ours, &wanted, tolerance * scale, &what);
                }
            }
        }
    }
}

#[test]
fn a_row_gives_the_same_alone_and_among_others_and_in_every_instruction_set() {
    let cols = 30_000;
    let x: Vec<f64> = numbers(4 * cols).iter().map(|x| x * 0.3).collect();
    for function in FUNCTIONS {
        let shape = [4, cols];
        let among = run(function, (DType::F32, InstructionSet::Baseline), shape, [&x, &x]);
        for &set in InstructionSet::supported() {
            let row = &x[cols..2 * cols];
            let alone = run(function, (DType::F32, set), [1, cols], [row, row]);
            assert_same(&alone, &among[cols..2 * cols], set.name());
        }
    }
}

#[test]
fn infinities_are_certain_or_impossible() {
    let inf = f64::INFINITY;
    let of = |function, x: &[f64]| {
        run(function, (DType::F32, InstructionSet::current()), [1, x.len()], [x, x])
    };
    assert_eq!(of(RowFunction::Softmax, &[-inf, 1.0, 1.0]), [0.0, 0.5, 0.5]);
    assert_eq!(of(RowFunction::LogSoftmax, &[-inf, 1.0]), [-inf, 0.0]);
    assert!(of(RowFunction::Softmax, &[-inf, -inf]).iter().all(|x| x.is_nan()));
    assert!(of(RowFunction::Softmax, &[f64::NAN, 0.0]).iter().all(|x| x.is_nan()));
    // The same where the row has several pieces, some of which have no finite element.
    let mut long = vec![-inf; 20_000];
    long[19_000] = 3.0;
    let ours = of(RowFunction::Softmax, &long);
    assert_eq!((ours[0], ours[19_000]), (0.0, 1.0));
    assert_eq!(of(RowFunction::Softmax, &[300.0, -300.0]), [1.0, 0.0]);
}
