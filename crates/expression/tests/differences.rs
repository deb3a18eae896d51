//! Derivatives of random expressions against finite differences, once and twice.

use expression::{ComputeType, Expression, Gradient, GradientOperand, Value, trace};
use proptest::prelude::*;
use smallvec::smallvec;

const INPUTS: usize = 3;

/// A step of a random expression: a function and the values that it takes, counted from the latest.
#[derive(Clone, Copy, Debug)]
struct Instruction {
    function: usize,
    operands: [usize; 2],
}

const FUNCTIONS: usize = 26;

/// Functions that keep values of moderate size moderate, and have no poles near them.
fn function<'t>(number: usize, a: Value<'t>, b: Value<'t>) -> Value<'t> {
    // Positive, and away from 0.
    let positive = |x: Value<'t>| (x * x + 0.5).sqrt();
    match number {
        0 => a + b,
        1 => a - b,
        2 => a * b.sin(),
        3 => a / positive(b),
        4 => a.tanh(),
        5 => a.sin().exp(),
        6 => positive(a).log(),
        7 => a.sigmoid(),
        8 => a.erf(),
        9 => positive(a).rsqrt(),
        10 => positive(a).pow(b.tanh()),
        11 => a.atan2(positive(b)),
        12 => a.hypot(positive(b)),
        13 => a.gt(b).select(a.sin(), b.cos() * 0.5),
        14 => a.maximum(b),
        15 => a.minimum(0.3),
        16 => a.abs(),
        17 => a.gelu(),
        18 => a.softplus(1.0, 20.0),
        19 => -a,
        20 => a.relu(),
        21 => a.tanh().asin(),
        22 => (a.tanh() * 0.9).atanh(),
        23 => a.sin().expm1() + b.asinh(),
        24 => positive(a).lgamma(),
        25 => a.leaky_relu(0.1) * positive(b).reciprocal(),
        _ => unreachable!("there are {FUNCTIONS} functions"),
    }
}

fn expression(program: &[Instruction]) -> Expression {
    trace(&[ComputeType::F64; INPUTS], &[], |_, inputs, _| {
        let mut values = inputs.to_vec();
        for Instruction { function: number, operands } in program {
            let [a, b] = operands.map(|back| values[values.len() - 1 - back % values.len()]);
            values.push(function(*number, a, b));
        }
        let sum = values[values.len() - 1] + values[values.len() - 2] * 0.5;
        smallvec![sum, values[values.len() - 1]]
    })
}

fn evaluate(expression: &Expression, inputs: &[f64]) -> Vec<f64> {
    let bits: Vec<u64> = inputs.iter().map(|x| x.to_bits()).collect();
    expression.evaluate(&bits, &[]).into_iter().map(f64::from_bits).collect()
}

/// The gradients by the inputs of `expression` that `gradient` was derived for.
fn gradients(
    expression: &Expression,
    gradient: &Gradient,
    inputs: &[f64],
    cotangents: &[f64],
) -> Vec<f64> {
    let given = operands(expression, gradient, inputs, cotangents);
    let results = evaluate(&gradient.expression, &given);
    let mut gradients = vec![0.0; inputs.len()];
    for (&input, result) in gradient.inputs.iter().zip(results) {
        gradients[input] = result;
    }
    gradients
}

fn operands(
    expression: &Expression,
    gradient: &Gradient,
    inputs: &[f64],
    cotangents: &[f64],
) -> Vec<f64> {
    let outputs = evaluate(expression, inputs);
    let of = |operand: &GradientOperand| match *operand {
        GradientOperand::Input(number) => inputs[number],
        GradientOperand::Output(number) => outputs[number],
        GradientOperand::Cotangent(number) => cotangents[number],
    };
    gradient.operands.iter().map(of).collect()
}

/// The gradient by the inputs of a weighted sum of the first gradients, as an engine computes it:
/// back through the derivative, and for its operands that are results back through these.
fn second_gradients(
    expression: &Expression,
    inputs: &[f64],
    cotangents: &[f64],
    weights: &[f64],
) -> Vec<f64> {
    let first = expression.gradient(&[true; INPUTS]);
    let given = operands(expression, &first, inputs, cotangents);
    let second = first.expression.gradient(&vec![true; given.len()]);
    let weights: Vec<f64> = first.inputs.iter().map(|&input| weights[input]).collect();
    let of_operands = gradients(&first.expression, &second, &given, &weights);
    let mut sums = [0.0; INPUTS];
    let mut of_outputs = vec![0.0; cotangents.len()];
    for (operand, gradient) in first.operands.iter().zip(of_operands) {
        match *operand {
            GradientOperand::Input(number) => sums[number] += gradient,
            GradientOperand::Output(number) => of_outputs[number] += gradient,
            GradientOperand::Cotangent(_) => {}
        }
    }
    let through_outputs = gradients(expression, &first, inputs, &of_outputs);
    sums.iter().zip(through_outputs).map(|(a, b)| a + b).collect()
}

/// The derivative of a function of one number, by differences of two steps, from which the error's
/// first term is eliminated (Richardson); `None` where they do not agree, as at a kink.
fn difference(f: impl Fn(f64) -> f64) -> Option<f64> {
    let of_step = |step: f64| (f(step) - f(-step)) / (2.0 * step);
    let (coarse, fine) = (of_step(2e-4), of_step(1e-4));
    let scale = 1.0 + fine.abs();
    ((coarse - fine).abs() < 1e-4 * scale).then(|| fine + (fine - coarse) / 3.0)
}

fn moved(inputs: &[f64], number: usize, by: f64) -> Vec<f64> {
    let mut moved = inputs.to_vec();
    moved[number] += by;
    moved
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn programs() -> impl Strategy<Value = Vec<Instruction>> {
    let instruction = (0..FUNCTIONS, 0..5_usize, 0..5_usize)
        .prop_map(|(function, a, b)| Instruction { function, operands: [a, b] });
    prop::collection::vec(instruction, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn first_derivatives_are_those_of_finite_differences(
        program in programs(),
        inputs in prop::array::uniform3(-1.5_f64..1.5),
        cotangents in prop::array::uniform2(-1.0_f64..1.0),
    ) {
        let expression = expression(&program);
        let gradient = expression.gradient(&[true; INPUTS]);
        let actual = gradients(&expression, &gradient, &inputs, &cotangents);
        for (number, actual) in actual.into_iter().enumerate() {
            let loss = |step| dot(&evaluate(&expression, &moved(&inputs, number, step)), &cotangents);
            if let Some(expected) = difference(loss) {
                let error = (actual - expected).abs();
                prop_assert!(
                    error < 1e-5 * (1.0 + expected.abs()),
                    "input {number}: {actual} instead of {expected}\n{expression}\n{gradient:?}"
                );
            }
        }
    }

    #[test]
    fn second_derivatives_are_those_of_finite_differences(
        program in programs(),
        inputs in prop::array::uniform3(-1.5_f64..1.5),
        cotangents in prop::array::uniform2(-1.0_f64..1.0),
        weights in prop::array::uniform3(-1.0_f64..1.0),
    ) {
        let expression = expression(&program);
        let first = expression.gradient(&[true; INPUTS]);
        let actual = second_gradients(&expression, &inputs, &cotangents, &weights);
        for (number, actual) in actual.into_iter().enumerate() {
            let loss = |step| {
                let inputs = moved(&inputs, number, step);
                dot(&gradients(&expression, &first, &inputs, &cotangents), &weights)
            };
            if let Some(expected) = difference(loss) {
                let error = (actual - expected).abs();
                prop_assert!(
                    error < 1e-4 * (1.0 + expected.abs()),
                    "input {number}: {actual} instead of {expected}\n{expression}\n{first:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_asked_of_several_results_is_what_is_asked_of_each(
        program in programs(),
        inputs in prop::array::uniform3(-1.5_f64..1.5),
        cotangents in prop::array::uniform2(-1.0_f64..1.0),
    ) {
        let expression = expression(&program);
        let wrt = [true; INPUTS];
        let of = |outputs: [bool; 2]| {
            let gradient = expression.gradient_of(&wrt, &outputs);
            gradients(&expression, &gradient, &inputs, &cotangents)
        };
        let (both, first, second) = (of([true, true]), of([true, false]), of([false, true]));
        for (both, (first, second)) in both.into_iter().zip(first.into_iter().zip(second)) {
            let sum = first + second;
            prop_assert!((both - sum).abs() <= 1e-9 * (1.0 + sum.abs()));
        }
    }
}
