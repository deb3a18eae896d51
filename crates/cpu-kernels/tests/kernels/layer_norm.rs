//! Layer normalisation and its gradients against plain loops.

use cpu_kernels::InstructionSet;
use cpu_kernels::layer_norm::{
    LayerNormBackward, LayerNormForward, LayerNormGradients, LayerNormOperands,
};
use expression::DType;

use crate::guarded::Guarded;
use crate::values::{assert_close, assert_same, decode, encode, numbers, rounded};

/// Rows with what they are normalised by.
struct Case {
    dtype: DType,
    parameters: DType,
    rows: usize,
    cols: usize,
    x: Vec<f64>,
    weight: Vec<f64>,
    bias: Vec<f64>,
    /// The gradients of the results.
    gradient: Vec<f64>,
}

const EPSILON: f64 = 1e-3;

impl Case {
    fn new([dtype, parameters]: [DType; 2], [rows, cols]: [usize; 2]) -> Case {
        let scaled = |count, dtype, factor: f64, shift: f64| {
            let scaled: Vec<f64> = numbers(count).iter().map(|x| x * factor + shift).collect();
            rounded(dtype, &scaled)
        };
        let mut gradient = scaled(rows * cols, dtype, 0.125, 0.0);
        gradient.reverse();
        let (weight, bias) =
            (scaled(cols, parameters, 0.25, 1.0), scaled(cols, parameters, 0.5, 0.0));
        Case {
            dtype,
            parameters,
            rows,
            cols,
            x: scaled(rows * cols, dtype, 1.0, 3.0),
            weight,
            bias,
            gradient,
        }
    }

    /// The normalised values of each row, and the inverse of its deviation.
    fn normalized(&self) -> Vec<(Vec<f64>, f64)> {
        let normalized = |row: &[f64]| {
            let mean = row.iter().sum::<f64>() / self.cols as f64;
            let squares: f64 = row.iter().map(|x| (x - mean) * (x - mean)).sum();
            let rstd = 1.0 / (squares / self.cols as f64 + EPSILON).sqrt();
            (row.iter().map(|x| (x - mean) * rstd).collect(), rstd)
        };
        self.x.chunks(self.cols).map(normalized).collect()
    }

    fn expected(&self) -> Vec<f64> {
        let affine = |x: &[f64]| -> Vec<f64> {
            let scales = self.weight.iter().zip(&self.bias);
            x.iter().zip(scales).map(|(x, (weight, bias))| x * weight + bias).collect()
        };
        self.normalized().iter().flat_map(|(row, _)| affine(row)).collect()
    }

    /// The gradients of the rows, the weights and the biases.
    fn expected_gradients(&self) -> [Vec<f64>; 3] {
        let count = self.cols as f64;
        let (mut of_x, mut of_weight, mut of_bias) =
            (Vec::new(), vec![0.0; self.cols], vec![0.0; self.cols]);
        for ((x, rstd), gradient) in self.normalized().iter().zip(self.gradient.chunks(self.cols)) {
            let weighted: Vec<f64> =
                gradient.iter().zip(&self.weight).map(|(g, w)| g * w).collect();
            let sum: f64 = weighted.iter().sum();
            let product: f64 = weighted.iter().zip(x).map(|(g, x)| g * x).sum();
            for col in 0..self.cols {
                of_x.push((weighted[col] - sum / count - x[col] * product / count) * rstd);
                of_weight[col] += gradient[col] * x[col];
                of_bias[col] += gradient[col];
            }
        }
        [of_x, of_weight, of_bias]
    }

    fn run(&self, set: InstructionSet) -> Vec<f64> {
        let [x, out] =
            [&self.x, &vec![0.0; self.x.len()]].map(|x| Guarded::new(&encode(self.dtype, x)));
        let [weight, bias] =
            [&self.weight, &self.bias].map(|x| Guarded::new(&encode(self.parameters, x)));
        let kernel =
            LayerNormForward::in_set(self.dtype, self.parameters, set).expect("they are floats");
        let operands = self.operands(&x, &weight, &bias);
        // SAFETY: all are of the sizes and dtypes that the kernel is told.
        unsafe { kernel.run(out.start(), operands) };
        decode(self.dtype, out.bytes())
    }

    fn run_backward(&self, set: InstructionSet) -> [Vec<f64>; 3] {
        let [x, gradient, of_x] = [&self.x, &self.gradient, &vec![9.0; self.x.len()]]
            .map(|x| Guarded::new(&encode(self.dtype, x)));
        let parameters = [&self.weight, &self.bias, &vec![9.0; self.cols], &vec![9.0; self.cols]];
        let [weight, bias, of_weight, of_bias] =
            parameters.map(|x| Guarded::new(&encode(self.parameters, x)));
        let kernel =
            LayerNormForward::in_set(self.dtype, self.parameters, set).expect("they are floats");
        let gradients = LayerNormGradients {
            x: Some(of_x.start()),
            weight: Some(of_weight.start()),
            bias: Some(of_bias.start()),
        };
        let operands = self.operands(&x, &weight, &bias);
        // SAFETY: all are of the sizes and dtypes that the kernel is told.
        unsafe { LayerNormBackward::of(kernel).run(gradients, gradient.start(), operands) };
        let [of_weight, of_bias] = [of_weight, of_bias].map(|x| decode(self.parameters, x.bytes()));
        [decode(self.dtype, of_x.bytes()), of_weight, of_bias]
    }

    fn operands(&self, x: &Guarded, weight: &Guarded, bias: &Guarded) -> LayerNormOperands {
        LayerNormOperands {
            x: x.start(),
            weight: Some(weight.start()),
            bias: Some(bias.start()),
            rows: self.rows,
            cols: self.cols,
            epsilon: EPSILON,
        }
    }
}

const DTYPES: [[DType; 2]; 6] = [
    [DType::F64, DType::F64],
    [DType::F32, DType::F32],
    [DType::F16, DType::F16],
    [DType::BF16, DType::BF16],
    [DType::F16, DType::F32],
    [DType::BF16, DType::F32],
];

fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-12,
        DType::F32 => 1e-5,
        DType::F16 => 1e-3,
        _ => 8e-3,
    }
}

#[test]
fn rows_are_normalised_as_by_a_loop() {
    for size in [[1, 1], [40, 10], [3, 257], [2, 4097], [300, 100], [1, 100_000]] {
        for dtypes in DTYPES {
            let case = Case::new(dtypes, size);
            for &set in InstructionSet::supported() {
                let what = format!("{dtypes:?} {size:?} {}", set.name());
                assert_close(&case.run(set), &case.expected(), tolerance(dtypes[0]), &what);
            }
        }
    }
}

#[test]
fn gradients_are_those_of_a_loop() {
    for size in [[1, 2], [40, 10], [3, 257], [70, 4097], [1100, 33]] {
        for dtypes in DTYPES {
            let case = Case::new(dtypes, size);
            let expected = case.expected_gradients();
            for &set in InstructionSet::supported() {
                let ours = case.run_backward(set);
                for (part, (ours, expected)) in ours.iter().zip(&expected).enumerate() {
                    let what = format!("{part} of {dtypes:?} {size:?} {}", set.name());
                    let dtype = if part == 0 { dtypes[0] } else { dtypes[1] };
                    // Sums over rows have as many roundings as terms.
                    let tolerance =
                        tolerance(dtype).max(1e-5 * f64::from(part > 0 && dtype != DType::F64));
                    let scale = expected.iter().fold(1.0, |x: f64, y| x.max(y.abs()));
                    assert_close(ours, expected, tolerance * scale, &what);
                }
            }
        }
    }
}

#[test]
fn a_row_gives_the_same_alone_and_among_others_and_in_every_instruction_set() {
    for cols in [100, 30_000] {
        let all = Case::new([DType::F32; 2], [4, cols]);
        let among = all.run(InstructionSet::Baseline);
        let gradients = all.run_backward(InstructionSet::Baseline);
        let row = |x: &[f64]| x[cols..2 * cols].to_vec();
        let weight = (all.weight.clone(), all.bias.clone());
        let alone = Case {
            rows: 1,
            x: row(&all.x),
            gradient: row(&all.gradient),
            weight: weight.0,
            bias: weight.1,
            ..all
        };
        for &set in InstructionSet::supported() {
            assert_same(&alone.run(set), &row(&among), set.name());
            assert_same(&alone.run_backward(set)[0], &row(&gradients[0]), set.name());
        }
    }
}

#[test]
fn rows_far_from_zero_keep_their_digits() {
    for cols in [1000, 5000] {
        let mut case = Case::new([DType::F32; 2], [2, cols]);
        // Whole numbers around 2^20 are exact; their sum is not.
        case.x.iter_mut().for_each(|x| *x += f64::from(1 << 20));
        let ours = case.run(InstructionSet::current());
        // The mean is rounded to a sixteenth, and for pieces twice.
        assert_close(&ours, &case.expected(), 0.1, "means are rounded, and no more");
    }
}

#[test]
fn rows_with_no_spread_become_the_bias_and_what_is_not_finite_stays_so() {
    let mut case = Case::new([DType::F32; 2], [3, 40]);
    case.x[..40].fill(7.0);
    case.x[50] = f64::NAN;
    case.x[90] = f64::INFINITY;
    let ours = case.run(InstructionSet::current());
    assert_same(&ours[..40], &case.bias, "the bias");
    assert!(ours[40..].iter().all(|x| x.is_nan()));
}
