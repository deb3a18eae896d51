//! Times programs: `cargo bench -p cpu-kernels --bench blocks -- [filter] [set]`.
//!
//! Each line is the best of many calls and their median, in nanoseconds, and the bytes that an ideal
//! kernel moves per nanosecond of the median.

#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::env;
use std::time::{Duration, Instant};

use cpu_kernels::{InstructionSet, Program, StridedPointer};
use expression::{ComputeType, DType, Expression, Value, elementwise, trace};
use smallvec::smallvec;

const F32: ComputeType = ComputeType::F32;

struct BlockCase {
    name: &'static str,
    expression: Expression,
    dtypes: Vec<DType>,
    output: DType,
    sizes: Vec<usize>,
    /// The strides of the inputs; the output is dense.
    strides: Vec<Vec<isize>>,
    is_in_place: bool,
    scalars: Vec<u64>,
}

impl BlockCase {
    fn dense(name: &'static str, expression: Expression, dtype: DType, count: usize) -> BlockCase {
        let inputs = expression.inputs().len();
        BlockCase {
            name,
            expression,
            dtypes: vec![dtype; inputs],
            output: dtype,
            sizes: vec![count],
            strides: vec![vec![1]; inputs],
            is_in_place: false,
            scalars: vec![],
        }
    }

    fn broadcast(name: &'static str, sizes: [usize; 2], strides: [[isize; 2]; 2]) -> BlockCase {
        let strides = strides.iter().map(|strides| strides.to_vec()).collect();
        BlockCase { sizes: sizes.into(), strides, ..BlockCase::dense(name, add(), DType::F32, 0) }
    }

    fn bytes(&self) -> usize {
        let elements = |sizes: &[usize], strides: &[isize]| -> usize {
            sizes.iter().zip(strides).filter(|(_, stride)| **stride != 0).map(|(s, _)| s).product()
        };
        let inputs = self.dtypes.iter().zip(&self.strides);
        let read: usize =
            inputs.map(|(of, strides)| of.size() * elements(&self.sizes, strides)).sum();
        read + self.output.size() * self.sizes.iter().product::<usize>()
    }

    fn run(&self, set: InstructionSet) {
        let program =
            Program::for_instruction_set(set, &self.expression, &self.dtypes, &[self.output]);
        let count: usize = self.sizes.iter().product();
        let memory = |of: &DType| vec![0x3c3c_3c3c_u32; count * of.size() / 4 + 32];
        // As tensors lie in memory.
        let aligned = |memory: &mut Vec<u32>| {
            let start = memory.as_mut_ptr();
            start.wrapping_add(start.align_offset(64)).cast()
        };
        let mut inputs: Vec<Vec<u32>> = self.dtypes.iter().map(memory).collect();
        let mut output = memory(&self.output);
        let mut dense = vec![1; self.sizes.len()];
        for dim in (1..dense.len()).rev() {
            dense[dim - 1] = dense[dim] * self.sizes[dim] as isize;
        }
        let pointers: Vec<StridedPointer<'_>> = inputs
            .iter_mut()
            .zip(&self.strides)
            .map(|(memory, strides)| StridedPointer::new(aligned(memory), strides))
            .collect();
        let own = StridedPointer::new(aligned(&mut output), &dense);
        let outputs = [if self.is_in_place { pointers[0] } else { own }];
        let call = || {
            // SAFETY: the vectors have all elements, and the output is an input or apart.
            unsafe { program.run(&self.sizes, &outputs, &pointers, &self.scalars) };
        };
        let (best, median) = time(call);
        let speed = self.bytes() as f64 / median;
        println!(
            "{:24} {:9} best {best:12.1} median {median:12.1} {speed:8.2}",
            self.name,
            set.name()
        );
    }
}

/// Nanoseconds of a call: the least, and the median.
fn time(call: impl Fn()) -> (f64, f64) {
    let start = Instant::now();
    call();
    let once = start.elapsed().max(Duration::from_nanos(20));
    let repeats = (Duration::from_micros(200).as_nanos() / once.as_nanos()).clamp(1, 10_000) as u32;
    let samples = (Duration::from_millis(300).as_nanos() / (once.as_nanos() * u128::from(repeats)))
        .clamp(5, 200);
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            (0..repeats).for_each(|_| call());
            start.elapsed().as_nanos() as f64 / f64::from(repeats)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn add() -> Expression {
    elementwise([F32; 2], |[x, y]| x + y)
}

fn add_number() -> Expression {
    trace(&[F32], &[F32], |_, x, number| smallvec![x[0] + number[0]])
}

fn gelu(x: Value<'_>) -> Value<'_> {
    x * 0.5 * ((x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0)
}

fn muladd() -> Expression {
    elementwise([F32; 3], |[x, y, z]| x * y + z)
}

fn cases() -> Vec<BlockCase> {
    let mut cases = small();
    for (count, names) in SIZES {
        cases.extend(large(count, names));
    }
    cases.extend(layouts());
    cases
}

const SIZES: [(usize, [&str; 9]); 3] = [
    (
        1 << 16,
        [
            "add 64k",
            "in place 64k",
            "muladd 64k",
            "six 64k",
            "f16 64k",
            "bf16 64k",
            "exp 64k",
            "gelu 64k",
            "number 64k",
        ],
    ),
    (
        1 << 20,
        [
            "add 1M",
            "in place 1M",
            "muladd 1M",
            "six 1M",
            "f16 1M",
            "bf16 1M",
            "exp 1M",
            "gelu 1M",
            "number 1M",
        ],
    ),
    (
        1 << 24,
        [
            "add 16M",
            "in place 16M",
            "muladd 16M",
            "six 16M",
            "f16 16M",
            "bf16 16M",
            "exp 16M",
            "gelu 16M",
            "number 16M",
        ],
    ),
];

fn small() -> Vec<BlockCase> {
    vec![
        BlockCase::dense("add 8", add(), DType::F32, 8),
        BlockCase { scalars: vec![0], ..BlockCase::dense("number 8", add_number(), DType::F32, 8) },
        BlockCase::dense("muladd 8", muladd(), DType::F32, 8),
        BlockCase::dense("f16 8", add(), DType::F16, 8),
        BlockCase::broadcast("row 2x4", [2, 4], [[4, 1], [0, 1]]),
        BlockCase::dense("add 4k", add(), DType::F32, 1 << 12),
        BlockCase {
            is_in_place: true,
            ..BlockCase::dense("in place 4k", add(), DType::F32, 1 << 12)
        },
    ]
}

fn large(count: usize, names: [&'static str; 9]) -> [BlockCase; 9] {
    let six = || elementwise([F32; 3], |[x, y, z]| ((x * y + z) * x - y).maximum(z) * 0.5);
    [
        BlockCase::dense(names[0], add(), DType::F32, count),
        BlockCase { is_in_place: true, ..BlockCase::dense(names[1], add(), DType::F32, count) },
        BlockCase::dense(names[2], muladd(), DType::F32, count),
        BlockCase::dense(names[3], six(), DType::F32, count),
        BlockCase::dense(names[4], add(), DType::F16, count),
        BlockCase::dense(names[5], add(), DType::BF16, count),
        BlockCase::dense(names[6], elementwise([F32], |[x]| x.exp()), DType::F32, count),
        BlockCase::dense(names[7], elementwise([F32], |[x]| gelu(x)), DType::F32, count),
        BlockCase {
            scalars: vec![0],
            ..BlockCase::dense(names[8], add_number(), DType::F32, count)
        },
    ]
}

fn layouts() -> Vec<BlockCase> {
    let copy = || elementwise([F32], |[x]| x);
    vec![
        BlockCase::broadcast("row 4096x1024", [4096, 1024], [[1024, 1], [0, 1]]),
        BlockCase::broadcast("column 4096x1024", [4096, 1024], [[1024, 1], [1, 0]]),
        BlockCase::broadcast("column 8192x512", [8192, 512], [[512, 1], [1, 0]]),
        BlockCase::broadcast("column 16384x256", [16384, 256], [[256, 1], [1, 0]]),
        BlockCase::broadcast("column 256x256", [256, 256], [[256, 1], [1, 0]]),
        BlockCase::broadcast("column 65536x64", [65536, 64], [[64, 1], [1, 0]]),
        BlockCase {
            dtypes: vec![DType::BF16; 2],
            output: DType::BF16,
            ..BlockCase::broadcast("bf16 column 16384x256", [16384, 256], [[256, 1], [1, 0]])
        },
        BlockCase {
            dtypes: vec![DType::BF16; 2],
            output: DType::BF16,
            ..BlockCase::broadcast("bf16 column 4096x1024", [4096, 1024], [[1024, 1], [1, 0]])
        },
        BlockCase::broadcast("row 64x1024", [64, 1024], [[1024, 1], [0, 1]]),
        BlockCase::broadcast("column 64x1024", [64, 1024], [[1024, 1], [1, 0]]),
        BlockCase::broadcast("row 65536x12", [65536, 12], [[12, 1], [0, 1]]),
        BlockCase::broadcast("column 65536x12", [65536, 12], [[12, 1], [1, 0]]),
        BlockCase::broadcast("transposed 256", [256, 256], [[256, 1], [1, 256]]),
        BlockCase::broadcast("transposed 2048", [2048, 2048], [[2048, 1], [1, 2048]]),
        BlockCase {
            strides: vec![vec![1, 2048]],
            sizes: vec![2048, 2048],
            ..BlockCase::dense("contiguous t 2048", copy(), DType::F32, 0)
        },
        BlockCase {
            strides: vec![vec![3, 1]],
            sizes: vec![1 << 18, 2],
            ..BlockCase::dense("rows of 2 of 3", copy(), DType::F32, 0)
        },
        BlockCase {
            output: DType::BF16,
            ..BlockCase::dense("f32 to bf16 1M", copy(), DType::F32, 1 << 20)
        },
        BlockCase {
            output: DType::F16,
            ..BlockCase::dense("f32 to f16 1M", copy(), DType::F32, 1 << 20)
        },
        BlockCase {
            dtypes: vec![DType::F16],
            ..BlockCase::dense("f16 to f32 1M", copy(), DType::F32, 1 << 20)
        },
    ]
}

fn main() {
    // Cargo says `--bench`, too.
    let arguments = env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let arguments: Vec<String> = arguments.collect();
    let filter = arguments.first().map_or("", String::as_str);
    let sets = InstructionSet::supported();
    let set = arguments.get(1).and_then(|name| sets.iter().find(|set| set.name() == name));
    for case in cases().iter().filter(|case| case.name.contains(filter)) {
        case.run(set.copied().unwrap_or(InstructionSet::current()));
    }
}
