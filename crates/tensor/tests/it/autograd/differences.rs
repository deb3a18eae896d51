//! Gradients of random programs, against finite differences.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tensor::{Result, Tensor, keepdim};

/// One step of a program: an operation on values that are there already, chosen by position modulo
/// their number. Every value has the shape `ROWS` by `ROWS`.
#[derive(Clone, Debug)]
enum Step {
    Unary(Function, usize),
    Binary(Operator, usize, usize),
    /// The sums along a dimension, broadcast onto another value.
    Broadcast(usize, usize, isize),
    Transpose(usize),
    Join(usize, usize),
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Sin,
    Tanh,
    Sigmoid,
    Square,
    Neg,
    Softmax,
}

#[derive(Clone, Copy, Debug)]
enum Operator {
    Add,
    Sub,
    Mul,
    Matmul,
}

const ROWS: usize = 2;
const LEAVES: usize = 3;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Function::{Neg, Sigmoid, Sin, Softmax, Square, Tanh};
    use Operator::{Add, Matmul, Mul, Sub};
    let function = prop::sample::select(vec![Sin, Tanh, Sigmoid, Square, Neg, Softmax]);
    let operator = prop::sample::select(vec![Add, Sub, Mul, Matmul]);
    let position = 0usize..16;
    let step = prop_oneof![
        (function, position.clone()).prop_map(|(f, a)| Step::Unary(f, a)),
        (operator, position.clone(), position.clone()).prop_map(|(o, a, b)| Step::Binary(o, a, b)),
        (position.clone(), position.clone(), 0isize..2)
            .prop_map(|(a, b, dim)| Step::Broadcast(a, b, dim)),
        position.clone().prop_map(Step::Transpose),
        (position.clone(), position).prop_map(|(a, b)| Step::Join(a, b)),
    ];
    prop::collection::vec(step, 1..8)
}

/// The program's result, one number: the mean of all its values, kept in bounds by tanh.
fn run(steps: &[Step], leaves: &[Tensor]) -> Result<Tensor> {
    let mut values: Vec<Tensor> = leaves.to_vec();
    for step in steps {
        let value = |position: usize| &values[position % values.len()];
        let next = match step {
            Step::Unary(function, a) => unary(*function, value(*a))?,
            Step::Binary(operator, a, b) => binary(*operator, value(*a), value(*b))?,
            Step::Broadcast(a, b, dim) => value(*a).sum(keepdim(*dim))?.mul(value(*b))?,
            Step::Transpose(a) => value(*a).t()?,
            Step::Join(a, b) => {
                let joined = Tensor::cat([value(*a), value(*b)], 0)?;
                joined.narrow(0, 1, ROWS)?
            }
        };
        values.push(next.tanh()?);
    }
    let all: Vec<&Tensor> = values.iter().collect();
    Tensor::stack(&all, 0)?.mean(())
}

fn unary(function: Function, a: &Tensor) -> Result<Tensor> {
    match function {
        Function::Sin => a.sin(),
        Function::Tanh => a.tanh(),
        Function::Sigmoid => a.sigmoid(),
        Function::Square => a.square(),
        Function::Neg => a.neg(),
        Function::Softmax => a.softmax(1),
    }
}

fn binary(operator: Operator, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match operator {
        Operator::Add => a.add(b),
        Operator::Sub => a.sub(b),
        Operator::Mul => a.mul(b),
        Operator::Matmul => a.matmul(b),
    }
}

fn leaves(numbers: &[f64], requires_grad: bool) -> Result<Vec<Tensor>> {
    numbers
        .chunks(ROWS * ROWS)
        .map(|chunk| {
            let leaf = Tensor::from_vec(chunk.to_vec(), [ROWS, ROWS], ())?;
            leaf.requires_grad_(requires_grad)
        })
        .collect()
}

fn check(steps: &[Step], numbers: &[f64]) -> Result<TestCaseResult> {
    let inputs = leaves(numbers, true)?;
    run(steps, &inputs)?.backward()?;
    let mut gradients = Vec::new();
    for input in &inputs {
        gradients.extend(input.grad().expect("every leaf is in the mean").to_vec::<f64>()?);
    }
    let step = 1e-5;
    for (position, gradient) in gradients.iter().enumerate() {
        let at = |moved: f64| {
            let mut numbers = numbers.to_vec();
            numbers[position] += moved;
            run(steps, &leaves(&numbers, false)?)?.item::<f64>()
        };
        let difference = (at(step)? - at(-step)?) / (2.0 * step);
        if (gradient - difference).abs() > 1e-6 * (1.0 + difference.abs()) {
            let text = format!("{gradient}, not {difference}, at {position} of {numbers:?}");
            return Ok(Err(TestCaseError::fail(text)));
        }
    }
    Ok(Ok(()))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_programs_have_the_gradients_that_differences_show(
        steps in steps(),
        numbers in prop::collection::vec(-1.5f64..1.5, LEAVES * ROWS * ROWS),
    ) {
        check(&steps, &numbers).expect("every step fits")?;
    }
}
