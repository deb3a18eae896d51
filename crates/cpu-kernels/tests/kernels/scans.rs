//! Cumulative functions of every dtype against plain loops.

use cpu_kernels::InstructionSet;
use cpu_kernels::scan::{Scan, ScanKernel, ScanShape};
use expression::DType;

use crate::guarded::Guarded;
use crate::values::{assert_close, assert_same, decode, encode, numbers, rounded};

const SCANS: [Scan; 5] = [Scan::Sum, Scan::Prod, Scan::Max, Scan::Min, Scan::LogSumExp];

fn next(scan: Scan, so_far: f64, x: f64) -> f64 {
    match scan {
        Scan::Sum => so_far + x,
        Scan::Prod => so_far * x,
        Scan::Max if so_far.is_nan() || x.is_nan() => f64::NAN,
        Scan::Min if so_far.is_nan() || x.is_nan() => f64::NAN,
        Scan::Max => so_far.max(x),
        Scan::Min => so_far.min(x),
        Scan::LogSumExp => (so_far.exp() + x.exp()).ln(),
    }
}

/// The results and, for extremes, their places.
fn expected(scan: Scan, shape: ScanShape, x: &[f64]) -> (Vec<f64>, Vec<i64>) {
    let ScanShape { outer, size, inner } = shape;
    let (mut results, mut places) = (x.to_vec(), vec![0; x.len()]);
    for (row, col) in (0..outer).flat_map(|row| (0..inner).map(move |col| (row, col))) {
        let at = |step: usize| (row * size + step) * inner + col;
        for step in 1..size {
            let (so_far, own) = (results[at(step - 1)], x[at(step)]);
            results[at(step)] = next(scan, so_far, own);
            let is_new = match scan {
                Scan::Max => own.is_nan() || own >= so_far,
                Scan::Min => own.is_nan() || own <= so_far,
                _ => false,
            };
            places[at(step)] = if is_new { step as i64 } else { places[at(step - 1)] };
        }
    }
    (results, places)
}

fn check(scan: Scan, dtype: DType, shape: ScanShape, x: &[f64]) {
    let output = match scan {
        Scan::Sum | Scan::Prod if !dtype.is_float() => DType::I64,
        Scan::LogSumExp if !dtype.is_float() => return,
        _ => dtype,
    };
    let x = rounded(dtype, x);
    let (wanted, places) = expected(scan, shape, &x);
    let is_extreme = matches!(scan, Scan::Max | Scan::Min);
    for &set in InstructionSet::supported() {
        let kernel = ScanKernel::in_set(scan, dtype, output, set).expect("it is there");
        let input = Guarded::new(&encode(dtype, &x));
        let out = Guarded::new(&vec![0; x.len() * output.size()]);
        let mut indices = vec![-1i64; x.len()];
        let place = is_extreme.then_some(indices.as_mut_ptr());
        // SAFETY: all arrays have as many elements as the shape.
        unsafe { kernel.run(shape, input.start(), out.start(), place) };
        let ours = decode(output, out.bytes());
        let what = format!("{scan:?} {dtype} {} {shape:?}", set.name());
        if scan == Scan::LogSumExp {
            let tolerance = if dtype == DType::BF16 { 8e-3 } else { 1e-3 };
            assert_close(&ours, &wanted, tolerance, &what);
        } else {
            assert_same(&ours, &rounded(output, &wanted), &what);
        }
        if is_extreme {
            assert_eq!(indices, places, "{what}");
        }
    }
}

#[test]
fn scans_of_every_dtype_and_shape_are_those_of_a_loop() {
    for [outer, size, inner] in [[3, 7, 1], [1, 1500, 1], [2, 5, 700], [4, 9, 3], [2, 0, 3]] {
        let shape = ScanShape { outer, size, inner };
        for dtype in DType::ALL {
            for scan in SCANS {
                let x = numbers(outer * size * inner);
                // Products stay exact where the factors are 1 and -1; bytes have only the one.
                let x: Vec<f64> = match scan {
                    Scan::Prod if dtype == DType::U8 => x.iter().map(|_| 1.0).collect(),
                    Scan::Prod => x.iter().map(|x| x.signum()).collect(),
                    _ => x,
                };
                check(scan, dtype, shape, &x);
            }
        }
    }
}

#[test]
fn nan_stays_and_of_equal_extremes_the_last_one_counts() {
    let x = [1.0, 3.0, 3.0, 2.0, f64::NAN, 9.0, f64::NAN];
    for inner in [1, 2] {
        let shape = ScanShape { outer: 1, size: x.len(), inner };
        let x: Vec<f64> = x.iter().flat_map(|&x| vec![x; inner]).collect();
        for scan in [Scan::Sum, Scan::Max, Scan::Min] {
            check(scan, DType::F32, shape, &x);
        }
    }
}

#[test]
fn only_the_results_of_long_sums_are_rounded() {
    // As PyTorch does on the CPU, where they are gathered in doubles.
    let count = 100_000;
    let kernel = ScanKernel::new(Scan::Sum, DType::F32, DType::F32).expect("it is there");
    let (x, mut sums) = (vec![0.1f32; count], vec![0.0f32; count]);
    let shape = ScanShape { outer: 1, size: count, inner: 1 };
    // SAFETY: both arrays have as many elements as the shape.
    unsafe { kernel.run(shape, x.as_ptr().cast(), sums.as_mut_ptr().cast(), None) };
    assert_eq!(sums[count - 1], (f64::from(0.1f32) * count as f64) as f32);
}

#[test]
fn logarithms_of_sums_do_not_overflow() {
    let kernel = ScanKernel::new(Scan::LogSumExp, DType::F64, DType::F64).expect("it is there");
    let inf = f64::INFINITY;
    let x = [-inf, -inf, 1000.0, 1000.0, inf, inf];
    let mut ours = [0.0; 6];
    let shape = ScanShape { outer: 1, size: 6, inner: 1 };
    // SAFETY: both arrays have as many elements as the shape.
    unsafe { kernel.run(shape, x.as_ptr().cast(), ours.as_mut_ptr().cast(), None) };
    assert_eq!(ours, [-inf, -inf, 1000.0, 1000.0 + 2f64.ln(), inf, inf]);
}
