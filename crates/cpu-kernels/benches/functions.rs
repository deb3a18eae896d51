//! Times elementary functions: `cargo bench -p cpu-kernels --bench functions -- [name]`.
//!
//! Each line is a function and a type, and the elements per nanosecond in each instruction set and
//! of a loop over the function of the standard library or of `libm`, measured in turns. The last
//! column is the largest set over that loop.

#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::env;
use std::hint::black_box;
use std::time::Instant;

use cpu_kernels::{InstructionSet, Program, StridedPointer};
use expression::{ComputeType, DType, Primitive, trace};
use smallvec::smallvec;

/// Elements that lie in the first-level cache with their results. Not as many as fill pages: results
/// at the same places of pages as operands would look like the next operands to the processor.
const COUNT: usize = 1000;
const ROUNDS: usize = 300;
/// Calls that are measured together.
const CALLS: usize = 8;

/// Numbers from `low` to `high`, spread by the golden ratio so that neighbours differ.
fn between(low: f64, high: f64) -> Vec<f64> {
    (0..COUNT).map(|i| low + (high - low) * (i as f64 * 0.618_033_988_749_895).fract()).collect()
}

/// A float that is timed.
trait Timed: Copy + 'static {
    const DTYPE: DType;
    fn of(x: f64) -> Self;
}

impl Timed for f32 {
    const DTYPE: DType = DType::F32;
    fn of(x: f64) -> f32 {
        x as f32
    }
}

impl Timed for f64 {
    const DTYPE: DType = DType::F64;
    fn of(x: f64) -> f64 {
        x
    }
}

/// Elements per nanosecond of the fastest round, of each loop.
fn speeds(loops: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; loops.len()];
    for _ in 0..ROUNDS {
        for (one, best) in loops.iter_mut().zip(&mut best) {
            let start = Instant::now();
            (0..CALLS).for_each(|_| one());
            *best = best.min(start.elapsed().as_nanos() as f64 / CALLS as f64);
        }
    }
    best.into_iter().map(|ns| COUNT as f64 / ns).collect()
}

fn time<T: Timed>(primitive: Primitive, bounds: [(f64, f64); 2], reference: impl Fn(T, T) -> T) {
    let arity = primitive.arity();
    let of: ComputeType = T::DTYPE.compute_type();
    let numbers = |(low, high)| between(low, high).into_iter().map(T::of).collect::<Vec<T>>();
    let inputs = bounds.map(numbers);
    let mut outputs = vec![inputs[0].clone(); InstructionSet::supported().len() + 1];
    let (last, outputs) = outputs.split_last_mut().expect("there is a set");
    let pointer = |start: *const T| StridedPointer::new(start.cast_mut().cast(), &[1]);
    let mut loops: Vec<Box<dyn FnMut() + '_>> = Vec::new();
    for (&set, output) in InstructionSet::supported().iter().zip(outputs) {
        let expression =
            trace(&vec![of; arity], &[], |tracer, x, _| smallvec![tracer.apply(primitive, x)]);
        let program =
            Program::for_instruction_set(set, &expression, &vec![T::DTYPE; arity], &[T::DTYPE]);
        let operands = [pointer(inputs[0].as_ptr()), pointer(inputs[1].as_ptr())];
        let output = [pointer(output.as_ptr())];
        loops.push(Box::new(move || {
            // SAFETY: the vectors have so many elements, and the output is apart from the inputs.
            unsafe { program.run(&[COUNT], black_box(&output), &operands[..arity], &[]) };
        }));
    }
    loops.push(Box::new(|| {
        let (a, b) = (black_box(&inputs[0]), black_box(&inputs[1]));
        for ((out, &a), &b) in last.iter_mut().zip(a).zip(b) {
            *out = reference(a, b);
        }
        black_box(&last);
    }));
    let found = speeds(&mut loops);
    let text: Vec<String> = found.iter().map(|speed| format!("{speed:7.3}")).collect();
    let ratio = found[found.len() - 2] / found[found.len() - 1];
    println!("{:10} {:?} {} {ratio:6.1}", format!("{primitive:?}"), T::DTYPE, text.join(" "));
}

macro_rules! functions {
    ($filter:ident: $($name:ident $low:literal $high:literal $single:expr, $double:expr;)*) => {$(
        if stringify!($name).to_lowercase().contains(&$filter) {
            let bounds = [($low, $high), (-3.0, 3.0)];
            time::<f32>(Primitive::$name, bounds, |a, b| { let _ = b; $single(a) });
            time::<f64>(Primitive::$name, bounds, |a, b| { let _ = b; $double(a) });
        }
    )*};
}

macro_rules! functions_of_two {
    ($filter:ident: $($name:ident $low:literal $high:literal $single:expr, $double:expr;)*) => {$(
        if stringify!($name).to_lowercase().contains(&$filter) {
            let bounds = [($low, $high), (-3.0, 3.0)];
            time::<f32>(Primitive::$name, bounds, $single);
            time::<f64>(Primitive::$name, bounds, $double);
        }
    )*};
}

fn main() {
    // Cargo says `--bench`, too.
    let name = env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let filter = name.unwrap_or_default();
    println!("elements per ns: {:?}, library, ratio", InstructionSet::supported());
    functions! {
        filter:
        Exp -10.0 10.0 f32::exp, f64::exp;
        Exp2 -10.0 10.0 f32::exp2, f64::exp2;
        Expm1 -3.0 3.0 f32::exp_m1, f64::exp_m1;
        Log 0.0 100.0 f32::ln, f64::ln;
        Log2 0.0 100.0 f32::log2, f64::log2;
        Log10 0.0 100.0 f32::log10, f64::log10;
        Log1p 0.0 10.0 f32::ln_1p, f64::ln_1p;
        Sin -10.0 10.0 f32::sin, f64::sin;
        Cos -10.0 10.0 f32::cos, f64::cos;
        Tan -10.0 10.0 f32::tan, f64::tan;
        Asin -1.0 1.0 f32::asin, f64::asin;
        Acos -1.0 1.0 f32::acos, f64::acos;
        Atan -5.0 5.0 f32::atan, f64::atan;
        Sinh -5.0 5.0 f32::sinh, f64::sinh;
        Cosh -5.0 5.0 f32::cosh, f64::cosh;
        Tanh -5.0 5.0 f32::tanh, f64::tanh;
        Asinh -5.0 5.0 libm::asinhf, libm::asinh;
        Acosh 1.0 9.0 libm::acoshf, libm::acosh;
        Atanh -1.0 1.0 libm::atanhf, libm::atanh;
        Sigmoid -10.0 10.0 |x: f32| 1.0 / (1.0 + (-x).exp()), |x: f64| 1.0 / (1.0 + (-x).exp());
        Erf -4.0 4.0 libm::erff, libm::erf;
        Erfc -4.0 4.0 libm::erfcf, libm::erfc;
        Erfinv -1.0 1.0 libm::erff, libm::erf;
        Lgamma 0.0 20.0 libm::lgammaf, libm::lgamma;
        Digamma 0.0 20.0 libm::lgammaf, libm::lgamma;
    }
    functions_of_two! {
        filter:
        Pow 0.0 10.0 f32::powf, f64::powf;
        Atan2 -3.0 3.0 f32::atan2, f64::atan2;
        Hypot -3.0 3.0 f32::hypot, f64::hypot;
        Fmod -1000.0 1000.0 |a, b| a % b, |a, b| a % b;
        Remainder -1000.0 1000.0 f32::rem_euclid, f64::rem_euclid;
        FloorDiv -1000.0 1000.0 f32::div_euclid, f64::div_euclid;
    }
}
