//! Reductions of every dtype, layout and instruction set against plain loops.

use cpu_kernels::reduce::{
    Extreme, ExtremeKernel, ReducedInput, Reducer, ReductionKernel, VarianceKernel, VarianceResults,
};
use cpu_kernels::{Axes, InstructionSet};
use expression::DType;
use proptest::prelude::*;

use crate::guarded::Guarded;
use crate::values::{assert_close, assert_same, decode, encode, numbers, rounded};

/// A strided operand, and which of its dimensions are reduced.
#[derive(Clone, Debug)]
struct Case {
    sizes: Vec<usize>,
    strides: Vec<isize>,
    is_reduced: Vec<bool>,
}

impl Case {
    /// Dimensions that lie in memory in the order of `order`, outermost first.
    fn permuted(sizes: &[usize], order: &[usize], is_reduced: &[bool]) -> Case {
        let mut strides = vec![0; sizes.len()];
        let mut step = 1;
        for &dim in order.iter().rev() {
            strides[dim] = step;
            step *= sizes[dim] as isize;
        }
        Case { sizes: sizes.into(), strides, is_reduced: is_reduced.into() }
    }

    fn rows(outputs: usize, count: usize) -> Case {
        Case::permuted(&[outputs, count], &[0, 1], &[false, true])
    }

    fn columns(outputs: usize, count: usize) -> Case {
        Case::permuted(&[outputs, count], &[1, 0], &[false, true])
    }

    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    fn part(&self, reduced: bool) -> (Vec<usize>, Vec<isize>) {
        let dims = (0..self.sizes.len()).filter(|&dim| self.is_reduced[dim] == reduced);
        dims.map(|dim| (self.sizes[dim], self.strides[dim])).unzip()
    }

    /// The positions in memory of the elements of each output, in order.
    fn groups(&self) -> Vec<Vec<usize>> {
        let offsets = |(sizes, strides): (Vec<usize>, Vec<isize>)| {
            sizes.iter().zip(&strides).fold(vec![0isize], |offsets, (&size, &stride)| {
                let along = |at: isize| (0..size as isize).map(move |i| at + i * stride);
                offsets.into_iter().flat_map(along).collect()
            })
        };
        let (kept, reduced) = (offsets(self.part(false)), offsets(self.part(true)));
        let group = |&at: &isize| reduced.iter().map(|&of| (at + of) as usize).collect();
        kept.iter().map(group).collect()
    }

    /// Calls `run` with the operand at the end of a page, and gives the outputs of `output`.
    fn run(
        &self,
        dtype: DType,
        elements: &[f64],
        output: DType,
        run: impl FnOnce(&ReducedInput<'_>, *mut u8),
    ) -> Vec<f64> {
        let memory = Guarded::new(&encode(dtype, elements));
        let ((sizes, strides), (of_sizes, of_strides)) = (self.part(false), self.part(true));
        let outputs: usize = sizes.iter().product();
        let results = Guarded::new(&vec![0x55; outputs * output.size()]);
        let input = ReducedInput {
            start: memory.start(),
            dtype,
            kept: Axes { sizes: &sizes, strides: &strides },
            reduced: Axes { sizes: &of_sizes, strides: &of_strides },
        };
        run(&input, results.start());
        decode(output, results.bytes())
    }
}

fn reduced(
    case: &Case,
    (reducer, set): (Reducer, InstructionSet),
    (dtype, output): (DType, DType),
    elements: &[f64],
) -> Vec<f64> {
    let kernel = ReductionKernel::in_set(reducer, dtype, output, set);
    let kernel = kernel.unwrap_or_else(|| panic!("{reducer:?} of {dtype} to {output}"));
    // SAFETY: the case's strides are those of its elements, and there is a place for each output.
    case.run(dtype, elements, output, |input, results| unsafe { kernel.run(input, results) })
}

/// The dtype of the results of a reducer.
fn output_of(reducer: Reducer, dtype: DType) -> DType {
    match reducer {
        Reducer::Sum | Reducer::Prod if !dtype.is_float() => DType::I64,
        Reducer::Any | Reducer::All => DType::Bool,
        Reducer::CountNonzero => DType::I64,
        _ => dtype,
    }
}

fn expected(reducer: Reducer, group: &[f64]) -> f64 {
    let sum = group.iter().sum::<f64>();
    match reducer {
        Reducer::Sum => sum,
        Reducer::Mean => sum / group.len() as f64,
        Reducer::Prod => group.iter().product(),
        Reducer::Amax => group.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)),
        Reducer::Amin => group.iter().fold(f64::INFINITY, |a, &b| a.min(b)),
        Reducer::Any => f64::from(group.iter().any(|&x| x != 0.0)),
        Reducer::All => f64::from(group.iter().all(|&x| x != 0.0)),
        Reducer::CountNonzero => group.iter().filter(|&&x| x != 0.0).count() as f64,
    }
}

const REDUCERS: [Reducer; 8] = [
    Reducer::Sum,
    Reducer::Mean,
    Reducer::Prod,
    Reducer::Amax,
    Reducer::Amin,
    Reducer::Any,
    Reducer::All,
    Reducer::CountNonzero,
];

fn check(case: &Case, elements: &[f64]) {
    for dtype in DType::ALL {
        let elements = rounded(dtype, elements);
        for reducer in REDUCERS {
            // Products stay exact where the factors are 1 and -1.
            let elements: Vec<f64> = match reducer {
                Reducer::Prod if dtype == DType::U8 => elements.iter().map(|x| x % 2.0).collect(),
                Reducer::Prod => elements.iter().map(|x| x.signum()).collect(),
                _ => elements.clone(),
            };
            if reducer == Reducer::Mean && !dtype.is_float() {
                continue;
            }
            let output = output_of(reducer, dtype);
            let wanted: Vec<f64> = case
                .groups()
                .iter()
                .map(|group| {
                    let group: Vec<f64> = group.iter().map(|&at| elements[at]).collect();
                    expected(reducer, &rounded(dtype, &group))
                })
                .collect();
            let wanted = rounded(output, &wanted);
            for &set in InstructionSet::supported() {
                let ours = reduced(case, (reducer, set), (dtype, output), &elements);
                assert_same(
                    &ours,
                    &wanted,
                    &format!("{reducer:?} {dtype} {} {case:?}", set.name()),
                );
            }
        }
    }
}

#[test]
fn every_reduction_of_every_dtype_is_that_of_a_loop() {
    let cases = [
        Case::rows(3, 100),
        Case::rows(70, 3),
        Case::rows(2, 2500),
        Case::columns(70, 5),
        Case::columns(3, 300),
        Case::columns(601, 131),
        Case::permuted(&[3, 5, 70], &[0, 1, 2], &[true, false, true]),
        Case::permuted(&[3, 5, 70], &[2, 0, 1], &[true, true, true]),
        Case::permuted(&[9, 5, 70], &[0, 2, 1], &[false, true, false]),
    ];
    for case in cases {
        check(&case, &numbers(case.len()));
    }
}

#[test]
fn large_reductions_are_split_between_threads_and_stay_those_of_a_loop() {
    for case in [Case::rows(1, 300_001), Case::columns(4, 100_003), Case::columns(2000, 300)] {
        let elements = numbers(case.len());
        for (dtype, output) in [(DType::F32, DType::F32), (DType::I8, DType::I64)] {
            let sums: Vec<f64> = case
                .groups()
                .iter()
                .map(|group| group.iter().map(|&at| elements[at]).sum())
                .collect();
            for &set in InstructionSet::supported() {
                let ours = reduced(&case, (Reducer::Sum, set), (dtype, output), &elements);
                assert_same(&ours, &sums, "sum");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn reductions_of_any_shape_and_order_are_those_of_a_loop(
        sizes in prop::collection::vec(1usize..12, 1..5),
        keys in prop::collection::vec(any::<u32>(), 4),
        mask in prop::collection::vec(any::<bool>(), 4),
    ) {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|&dim| keys[dim]);
        let case = Case::permuted(&sizes, &order, &mask[..sizes.len()]);
        check(&case, &numbers(case.len()));
        check_places(&case, &numbers(case.len()));
        check_variances(&case, &numbers(case.len()));
    }
}

#[test]
fn backward_and_repeated_dimensions_are_read_as_they_lie() {
    let elements = numbers(40);
    let memory = encode(DType::F32, &elements);
    let kernel = ReductionKernel::new(Reducer::Sum, DType::F32, DType::F32).expect("it is there");
    let mut sums = [0.0f32; 20];
    let input = ReducedInput {
        start: memory[39 * 4..].as_ptr(),
        dtype: DType::F32,
        kept: Axes { sizes: &[20], strides: &[-2] },
        reduced: Axes { sizes: &[3], strides: &[0] },
    };
    // SAFETY: the elements at 39, 37, .. are read three times each; there are 20 places.
    unsafe { kernel.run(&input, sums.as_mut_ptr().cast()) };
    for (at, sum) in sums.iter().enumerate() {
        assert_eq!(f64::from(*sum), 3.0 * elements[39 - 2 * at]);
    }
}

#[test]
fn nothing_gives_what_each_fold_starts_with() {
    let case = Case::rows(3, 0);
    let of = |reducer, output| {
        reduced(&case, (reducer, InstructionSet::current()), (DType::F32, output), &[])
    };
    assert_eq!(of(Reducer::Sum, DType::F32), [0.0; 3]);
    assert_eq!(of(Reducer::Prod, DType::F32), [1.0; 3]);
    assert_eq!(of(Reducer::Any, DType::Bool), [0.0; 3]);
    assert_eq!(of(Reducer::All, DType::U8), [1.0; 3]);
    assert!(of(Reducer::Mean, DType::F32).iter().all(|mean| mean.is_nan()));
}

#[test]
fn a_row_has_the_same_sum_alone_and_among_others_and_in_every_instruction_set() {
    for count in [7usize, 100, 1024, 5000, 100_000] {
        let case = Case::rows(40, count);
        let elements: Vec<f64> = numbers(case.len()).iter().map(|x| x * 0.1 + 0.013).collect();
        let set = InstructionSet::Baseline;
        let among = reduced(&case, (Reducer::Sum, set), (DType::F32, DType::F32), &elements);
        for &set in InstructionSet::supported() {
            let again = reduced(&case, (Reducer::Sum, set), (DType::F32, DType::F32), &elements);
            assert_same(&again, &among, set.name());
            let row = &elements[3 * count..4 * count];
            let alone =
                reduced(&Case::rows(1, count), (Reducer::Sum, set), (DType::F32, DType::F32), row);
            assert_same(&alone, &among[3..4], set.name());
        }
    }
}

#[test]
fn long_sums_keep_their_digits() {
    for case in [Case::rows(1, 1 << 20), Case::columns(2, 1 << 19), Case::columns(64, 1 << 14)] {
        let elements = vec![0.1; case.len()];
        let exact = f64::from(0.1f32) * (case.len() / case.groups().len()) as f64;
        let current = InstructionSet::current();
        for sum in reduced(&case, (Reducer::Sum, current), (DType::F32, DType::F32), &elements) {
            assert!((sum / exact - 1.0).abs() < 1e-6, "{sum}, not {exact}");
        }
    }
}

#[test]
fn sums_into_other_dtypes_are_gathered_in_them() {
    let case = Case::rows(1, 3);
    let of = |dtypes, elements: &[f64]| {
        reduced(&case, (Reducer::Sum, InstructionSet::current()), dtypes, elements)[0]
    };
    assert_eq!(of((DType::F32, DType::F64), &[1e8, 1.0, 1.0]), 100_000_002.0);
    assert_eq!(of((DType::I64, DType::U8), &[200.0, 100.0, 0.0]), 44.0);
    assert_eq!(of((DType::F16, DType::F32), &[65504.0, 65504.0, 0.0]), 131_008.0);
}

fn check_places(case: &Case, elements: &[f64]) {
    for dtype in DType::ALL {
        let elements = rounded(dtype, elements);
        for extreme in [Extreme::Max, Extreme::Min] {
            let is_better = |a: f64, b: f64| match extreme {
                _ if b.is_nan() => false,
                _ if a.is_nan() => true,
                Extreme::Max => a > b,
                Extreme::Min => a < b,
            };
            let place = |group: &Vec<usize>| {
                (0..group.len()).fold(0, |best, at| {
                    let [x, y] = [at, best].map(|at| elements[group[at]]);
                    if is_better(x, y) { at } else { best }
                })
            };
            let groups = case.groups();
            let places: Vec<usize> = groups.iter().map(place).collect();
            let extremes: Vec<f64> =
                groups.iter().zip(&places).map(|(group, &at)| elements[group[at]]).collect();
            for &set in InstructionSet::supported() {
                let kernel = ExtremeKernel::in_set(extreme, dtype, set);
                let mut indices = vec![-1i64; groups.len()];
                let values = case.run(dtype, &elements, dtype, |input, values| {
                    // SAFETY: the strides are those of the elements; there is a place for each
                    // output.
                    unsafe { kernel.run(input, indices.as_mut_ptr(), Some(values)) }
                });
                let what = format!("{extreme:?} {dtype} {} {case:?}", set.name());
                let indices: Vec<usize> = indices.iter().map(|&index| index as usize).collect();
                assert_eq!(indices, places, "{what}");
                assert_same(&values, &extremes, &what);
            }
        }
    }
}

#[test]
fn the_first_of_equal_extremes_is_found_and_nan_before_any_number() {
    for case in [
        Case::rows(3, 100),
        Case::rows(30, 5),
        Case::columns(70, 40),
        Case::rows(2, 3000),
        Case::rows(1, 100_000),
    ] {
        let mut elements = numbers(case.len());
        check_places(&case, &elements);
        let nan = |elements: &mut [f64], at: usize| elements[at % case.len()] = f64::NAN;
        nan(&mut elements, 57);
        nan(&mut elements, 31);
        nan(&mut elements, 2077);
        check_places(&case, &elements);
        check_places(&case, &vec![f64::NEG_INFINITY; case.len()]);
        check_places(&case, &vec![f64::INFINITY; case.len()]);
    }
}

fn check_variances(case: &Case, elements: &[f64]) {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        let elements = rounded(dtype, elements);
        let moments = |group: &Vec<usize>| {
            let count = group.len() as f64;
            let mean = group.iter().map(|&at| elements[at]).sum::<f64>() / count;
            let squares: f64 = group.iter().map(|&at| (elements[at] - mean).powi(2)).sum();
            (mean, squares / (count - 1.0).max(0.0))
        };
        let (means, variances): (Vec<f64>, Vec<f64>) = case.groups().iter().map(moments).unzip();
        let tolerance = match dtype {
            DType::F64 => 1e-13,
            DType::F32 => 1e-7,
            DType::F16 => 1e-3,
            _ => 8e-3,
        };
        for &set in InstructionSet::supported() {
            let kernel = VarianceKernel::in_set(dtype, set).expect("it is a float");
            let places = Guarded::new(&vec![0; means.len() * dtype.size()]);
            let ours = case.run(dtype, &elements, dtype, |input, variances| {
                let (variances, means) = (Some(variances), Some(places.start()));
                let results = VarianceResults { variances, means, deviations: None };
                // SAFETY: the strides are those of the elements; there is a place for each output.
                unsafe { kernel.run(input, 1.0, results) }
            });
            let what = format!("var {dtype} {} {case:?}", set.name());
            assert_close(&ours, &variances, tolerance, &what);
            assert_close(&decode(dtype, places.bytes()), &means, tolerance, &what);
        }
    }
}

#[test]
fn variances_are_those_of_a_loop() {
    for case in [
        Case::rows(3, 100),
        Case::rows(2, 5000),
        Case::rows(1, 200_000),
        Case::rows(40, 4),
        Case::columns(300, 50),
        Case::permuted(&[4, 30, 20], &[0, 1, 2], &[true, false, true]),
    ] {
        let elements: Vec<f64> = numbers(case.len()).iter().map(|x| x + 1000.0).collect();
        check_variances(&case, &elements);
    }
}

#[test]
fn the_variance_of_halves_is_rounded_once() {
    let case = Case::rows(1, 2);
    let kernel = VarianceKernel::new(DType::F16).expect("it is a float");
    let of = |correction: f64| {
        case.run(DType::F16, &[-200.0, 200.0], DType::F16, |input, results| {
            let results =
                VarianceResults { variances: Some(results), ..VarianceResults::default() };
            // SAFETY: there are two elements, and a place for the result.
            unsafe { kernel.run(input, correction, results) }
        })[0]
    };
    // As in PyTorch, where the squares do not overflow either.
    assert_eq!(of(0.0), 40_000.0);
    assert_eq!(of(2.0), f64::INFINITY);
}
