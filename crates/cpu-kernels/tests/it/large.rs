//! Results that are so large, 32 MiB and more, that they are copied past the caches.

use cpu_kernels::{InstructionSet, Program, StridedPointer};
use expression::{ComputeType, DType, elementwise};

const F64: ComputeType = ComputeType::F64;
const ROWS: usize = 4099;
const COLUMNS: usize = 1031;
const COUNT: usize = ROWS * COLUMNS;

/// Numbers of which one comes before those that are used, so that these are not aligned.
fn numbers(of: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..=COUNT).map(of).collect()
}

fn pointer<'a>(memory: &mut [f64], strides: &'a [isize]) -> StridedPointer<'a> {
    StridedPointer::new(memory[1..].as_mut_ptr().cast(), strides)
}

#[test]
fn large_results_are_complete_and_change_nothing_else() {
    // A single step, and several.
    let sum = (elementwise([F64; 2], |[x, y]| x + y), (|x, y| x + y) as fn(f64, f64) -> f64);
    let function = elementwise([F64; 2], |[x, y]| (x * 3.0 + y) * x);
    let functions = [sum, (function, |x, y| (x * 3.0 + y) * x)];
    let dense = [COLUMNS as isize, 1];
    let sets = InstructionSet::supported().iter();
    for (&set, (function, expected)) in sets.flat_map(|set| functions.iter().map(move |f| (set, f)))
    {
        let program = Program::for_instruction_set(set, function, &[DType::F64; 2], &[DType::F64]);
        for strides in [dense, [0, 1], [1, 0]] {
            let (mut x, mut y) = (numbers(|i| i as f64), numbers(|i| (i % 7) as f64));
            let mut out = numbers(|_| -1.0);
            let inputs = [pointer(&mut x, &dense), pointer(&mut y, &strides)];
            // SAFETY: the vectors have the elements that sizes and strides name.
            unsafe { program.run(&[ROWS, COLUMNS], &[pointer(&mut out, &dense)], &inputs, &[]) };
            assert_eq!(out[0], -1.0);
            for at in 0..COUNT {
                let (row, column) = ((at / COLUMNS) as isize, (at % COLUMNS) as isize);
                let of_y = y[1 + (row * strides[0] + column * strides[1]) as usize];
                assert_eq!(out[1 + at], expected(x[1 + at], of_y), "{} {strides:?}", set.name());
            }
        }
    }
}

#[test]
fn large_results_may_lie_where_an_operand_lies() {
    let function = elementwise([F64; 2], |[x, y]| (x * 3.0 + y) * x);
    let program = Program::new(&function, &[DType::F64; 2], &[DType::F64]);
    let (mut x, mut y) = (numbers(|i| i as f64), numbers(|i| (i % 7) as f64));
    let inputs = [pointer(&mut x, &[1]), pointer(&mut y, &[1])];
    // SAFETY: the vectors have so many elements.
    unsafe { program.run(&[COUNT], &inputs[..1], &inputs, &[]) };
    assert!((1..=COUNT).all(|i| x[i] == (i as f64 * 3.0 + (i % 7) as f64) * i as f64));
}
