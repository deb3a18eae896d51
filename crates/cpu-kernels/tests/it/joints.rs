//! Primitives that are computed together give the bits that they give one by one.

use cpu_kernels::{InstructionSet, Program, StridedPointer};
use expression::{DType, Expression, Value, trace};
use smallvec::{SmallVec, smallvec};

/// Numbers of many sizes and both signs, and special ones.
fn numbers() -> Vec<f64> {
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-320, 1e300, 1.1, 4.0];
    let sizes = (0..2000).map(|i| (f64::from(i) * 0.37).sin() * 2f64.powi(i % 16 - 10));
    special.into_iter().chain(sizes).collect()
}

/// The bytes of the first result of an expression of three operands.
fn first_result(expression: &Expression, dtype: DType, set: InstructionSet) -> Vec<u8> {
    let results = vec![dtype; expression.outputs().len()];
    let program = Program::for_instruction_set(set, expression, &[dtype; 3], &results);
    let x = numbers();
    let shifted = |by: usize| x[by..].iter().chain(&x[..by]).copied().collect::<Vec<f64>>();
    let mut inputs: Vec<Vec<u8>> = [0, 5, 100].map(|by| bytes_of(dtype, &shifted(by))).into();
    let mut outputs = vec![vec![0_u8; x.len() * dtype.size()]; results.len()];
    let pointer = |memory: &mut Vec<u8>| StridedPointer::new(memory.as_mut_ptr(), &[1]);
    let (to, from): (Vec<_>, Vec<_>) =
        (outputs.iter_mut().map(pointer).collect(), inputs.iter_mut().map(pointer).collect());
    // SAFETY: the vectors have so many elements.
    unsafe { program.run(&[x.len()], &to, &from, &[]) };
    outputs.swap_remove(0)
}

fn bytes_of(dtype: DType, numbers: &[f64]) -> Vec<u8> {
    let bytes = |&x: &f64| match dtype {
        DType::F32 => (x as f32).to_le_bytes().to_vec(),
        _ => x.to_le_bytes().to_vec(),
    };
    numbers.iter().flat_map(bytes).collect()
}

/// Whether two results are the same, or both NaN.
fn are_same(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    let is_nan = |x: &[u8]| match dtype {
        DType::F32 => f32::from_le_bytes(x.try_into().expect("four bytes")).is_nan(),
        _ => f64::from_le_bytes(x.try_into().expect("eight bytes")).is_nan(),
    };
    let (a, b) = (a.chunks(dtype.size()), b.chunks(dtype.size()));
    a.zip(b).all(|(a, b)| a == b || (is_nan(a) && is_nan(b)))
}

/// The last values and those on the way to them; what is a result itself is not joined.
type Steps = for<'t> fn(&[Value<'t>]) -> SmallVec<[Value<'t>; 2]>;

#[test]
fn joined_primitives_give_the_bits_of_single_ones() {
    let cases: [Steps; 7] = [
        |x| smallvec![x[0].gelu(), (x[0] * std::f64::consts::FRAC_1_SQRT_2).erf()],
        |x| {
            let erf = (x[0] * std::f64::consts::FRAC_1_SQRT_2).erf();
            smallvec![x[0] * 0.5 * (1.0 + erf), erf]
        },
        |x| smallvec![x[0] * x[1] + x[2], x[0] * x[1]],
        |x| smallvec![x[2] + x[0] * x[1], x[0] * x[1]],
        |x| smallvec![x[0] * x[1] - x[2], x[0] * x[1]],
        |x| smallvec![x[2] - x[0] * x[1], x[0] * x[1]],
        |x| smallvec![(x[0] * x[0] + x[0]) * x[1] - x[0], x[0] * x[0], x[0] * x[0] + x[0]],
    ];
    for dtype in [DType::F32, DType::F64] {
        for (number, steps) in cases.into_iter().enumerate() {
            let types = [dtype.compute_type(); 3];
            let single = trace(&types, &[], |_, x, _| steps(x));
            let joined = trace(&types, &[], |_, x, _| smallvec![steps(x)[0]]);
            for &set in InstructionSet::supported() {
                let found = first_result(&joined, dtype, set);
                let expected = first_result(&single, dtype, set);
                let set = set.name();
                assert!(are_same(dtype, &found, &expected), "case {number}, {dtype}, {set}");
            }
        }
    }
}
