//! Attention against plain loops, in every instruction set.

use cpu_kernels::InstructionSet;
use cpu_kernels::attention::{
    AttentionGradients, AttentionKernel, AttentionMask, AttentionOperands, AttentionResults,
    AttentionShape, HeadRows,
};
use expression::DType;

use crate::guarded::Guarded;
use crate::values::{assert_close, decode, encode, numbers, rounded};

/// Dense `[batch, head, position, element]` arrays of numbers.
struct Arrays {
    shape: AttentionShape,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    /// `[queries, keys]`, added to the scores of all heads.
    mask: Option<Vec<f64>>,
    grad: Vec<f64>,
}

/// The results and the gradients of queries, keys and values, as `[batch, head, position, element]`.
type Outcome = [Vec<f64>; 4];

impl Arrays {
    fn new(dtype: DType, shape: AttentionShape, masked: bool) -> Arrays {
        let AttentionShape { batch, heads, kv_heads, queries, keys, depth, columns, .. } = shape;
        let some = |count: usize, step: f64| {
            let all: Vec<f64> = numbers(count).iter().map(|x| x * step).collect();
            rounded(dtype, &all)
        };
        let mut mask = masked.then(|| some(queries * keys, 0.5));
        if let Some(first) = mask.iter_mut().flatten().next() {
            *first = f64::NEG_INFINITY;
        }
        Arrays {
            shape,
            q: some(batch * heads * queries * depth, 0.25),
            k: some(batch * kv_heads * keys * depth, 0.125),
            v: some(batch * kv_heads * keys * columns, 0.5),
            mask,
            grad: some(batch * heads * queries * columns, 0.25),
        }
    }

    /// By plain loops.
    fn expected(&self) -> Outcome {
        let AttentionShape { heads, kv_heads, queries, keys, depth, columns, .. } = self.shape;
        let mut out = vec![0.0; self.grad.len()];
        let [mut dq, mut dk, mut dv] = [&self.q, &self.k, &self.v].map(|x| vec![0.0; x.len()]);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for row in 0..self.shape.batch * heads * queries {
            let (head, query) = (row / queries, row % queries);
            let kv = head / heads * kv_heads + head % heads / (heads / kv_heads);
            let (q, grad) =
                (&self.q[row * depth..][..depth], &self.grad[row * columns..][..columns]);
            let at = |key: usize| kv * keys + key;
            let scores: Vec<f64> = (0..keys)
                .map(|key| {
                    let hidden = self.shape.is_causal && key > query;
                    let added = self.mask.as_ref().map_or(0.0, |mask| mask[query * keys + key]);
                    let score = self.shape.scale * dot(q, &self.k[at(key) * depth..][..depth]);
                    if hidden { f64::NEG_INFINITY } else { score + added }
                })
                .collect();
            let largest = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let terms: Vec<f64> = scores.iter().map(|x| (x - largest).exp()).collect();
            let sum: f64 = terms.iter().sum();
            let shares: Vec<f64> =
                terms.iter().map(|x| if largest.is_finite() { x / sum } else { 0.0 }).collect();
            let slope = |key: usize| dot(grad, &self.v[at(key) * columns..][..columns]);
            let mean: f64 = (0..keys).map(|key| shares[key] * slope(key)).sum();
            for (key, share) in shares.iter().enumerate() {
                let slope = share * (slope(key) - mean) * self.shape.scale;
                for column in 0..columns {
                    out[row * columns + column] += share * self.v[at(key) * columns + column];
                    dv[at(key) * columns + column] += share * grad[column];
                }
                for element in 0..depth {
                    dq[row * depth + element] += slope * self.k[at(key) * depth + element];
                    dk[at(key) * depth + element] += slope * q[element];
                }
            }
        }
        [out, dq, dk, dv]
    }

    /// By the kernels.
    fn outcome(&self, dtype: DType, set: InstructionSet) -> Outcome {
        let AttentionShape { batch, heads, kv_heads, queries, keys, depth, columns, .. } =
            self.shape;
        let guarded = |x: &[f64]| Guarded::new(&encode(dtype, x));
        let inputs = [&self.q, &self.k, &self.v, &self.grad].map(|x| guarded(x));
        let results = inputs.each_ref().map(|x| Guarded::new(&vec![0xff; x.bytes().len()]));
        let log_sum = Guarded::new(&vec![0; batch * heads * queries * dtype.size()]);
        let rows = |x: &Guarded, [heads, positions, elements]: [usize; 3]| {
            let position = elements as isize;
            let head = position * positions as isize;
            HeadRows { start: x.start(), strides: [head * heads as isize, head, position] }
        };
        let mask = self.mask.as_ref().map(|mask| guarded(mask));
        let mask = mask.as_ref().map(|mask| AttentionMask {
            start: mask.start(),
            strides: [0, 0, keys as isize, 1],
            is_truth: false,
        });
        let operands = AttentionOperands {
            q: rows(&inputs[0], [heads, queries, depth]),
            k: rows(&inputs[1], [kv_heads, keys, depth]),
            v: rows(&inputs[2], [kv_heads, keys, columns]),
            mask,
            dropout: None,
        };
        let kernel = AttentionKernel::in_set(dtype, set).expect("it is a float");
        let [dq, dk, dv, out] = results.each_ref().map(Guarded::start);
        // SAFETY: the arrays are of these sizes.
        unsafe {
            let results = AttentionResults { out, log_sum: log_sum.start() };
            kernel.run(&self.shape, &operands, results);
            let gradients = AttentionGradients {
                grad: rows(&inputs[3], [heads, queries, columns]),
                out,
                log_sum: log_sum.start(),
                q: Some(dq),
                k: Some(dk),
                v: Some(dv),
            };
            kernel.run_backward(&self.shape, &operands, &gradients);
        }
        let by_head = |x: &Guarded, [positions, heads, elements]: [usize; 3]| {
            let all = decode(dtype, x.bytes());
            let row = |at: usize| {
                let (batch, head) = (at / (heads * positions), at / positions % heads);
                let from = ((batch * positions + at % positions) * heads + head) * elements;
                all[from..from + elements].to_vec()
            };
            (0..batch * heads * positions).flat_map(row).collect()
        };
        [
            by_head(&results[3], [queries, heads, columns]),
            by_head(&results[0], [queries, heads, depth]),
            by_head(&results[1], [keys, kv_heads, depth]),
            by_head(&results[2], [keys, kv_heads, columns]),
        ]
    }
}

#[test]
fn results_and_gradients_are_those_of_loops() {
    // Batches, heads, heads of keys, queries, keys, elements of queries and of values.
    let sizes = [
        [1, 1, 1, 1, 1, 1, 1],
        [2, 4, 2, 5, 9, 8, 3],
        [1, 2, 2, 40, 150, 16, 64],
        [1, 1, 1, 70, 33, 7, 20],
        [1, 2, 1, 16, 300, 33, 17],
    ];
    for [batch, heads, kv_heads, queries, keys, depth, columns] in sizes {
        for (is_causal, masked) in [(false, false), (true, false), (false, true)] {
            for dtype in [DType::F32, DType::F64] {
                let scale = 0.25;
                let shape = AttentionShape {
                    batch,
                    heads,
                    kv_heads,
                    queries,
                    keys,
                    depth,
                    columns,
                    scale,
                    is_causal,
                };
                let arrays = Arrays::new(dtype, shape, masked);
                let expected = arrays.expected();
                let tolerance = if dtype == DType::F64 { 1e-11 } else { 2e-5 };
                for &set in InstructionSet::supported() {
                    let ours = arrays.outcome(dtype, set);
                    for (which, (ours, expected)) in ours.iter().zip(&expected).enumerate() {
                        let scale = expected.iter().fold(1.0, |x: f64, y| x.max(y.abs()));
                        let what = format!("{which} of {shape:?}, {masked}, {}", set.name());
                        assert_close(ours, expected, tolerance * scale, &what);
                    }
                }
            }
        }
    }
}
