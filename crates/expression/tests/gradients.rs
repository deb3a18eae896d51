//! The form of derivatives: what they need, and what they leave out.

use expression::ComputeType::{F32, F64, I32};
use expression::GradientOperand::{self, Cotangent, Input, Output};
use expression::{Gradient, Value, elementwise, trace};
use smallvec::smallvec;

type Unary = fn(Value<'_>) -> Value<'_>;

fn unary(f: impl for<'t> Fn(Value<'t>) -> Value<'t>) -> Gradient {
    elementwise([F32], |[x]| f(x)).gradient(&[true])
}

fn binary(f: impl for<'t> Fn(Value<'t>, Value<'t>) -> Value<'t>, wrt: [bool; 2]) -> Gradient {
    elementwise([F32; 2], |[x, y]| f(x, y)).gradient(&wrt)
}

fn at(gradient: &Gradient, operands: &[f32]) -> Vec<f32> {
    let bits: Vec<u64> = operands.iter().map(|x| u64::from(x.to_bits())).collect();
    let results = gradient.expression.evaluate(&bits, &[]);
    results.iter().map(|&bits| f32::from_bits(bits as u32)).collect()
}

#[test]
fn results_are_saved_instead_of_operands_where_they_say_more() {
    let of_result: [(&str, Unary); 8] = [
        ("exp", |x| x.exp()),
        ("expm1", |x| x.expm1()),
        ("tanh", |x| x.tanh()),
        ("sigmoid", |x| x.sigmoid()),
        ("sqrt", |x| x.sqrt()),
        ("rsqrt", |x| x.rsqrt()),
        ("reciprocal", |x| x.reciprocal()),
        ("relu", |x| x.relu()),
    ];
    for (name, f) in of_result {
        assert_eq!(unary(f).operands, [Output(0), Cotangent(0)], "{name}");
    }
    // The result of a clamp may be written to afterwards: PyTorch saves its operand.
    assert_eq!(unary(|x| x.maximum(1.0)).operands, [Input(0), Cotangent(0)]);
    // The result of the whole counts, not that of a part.
    let fused = elementwise([F32; 3], |[x, y, z]| (x * y + z).relu());
    let of_z = fused.gradient(&[false, false, true]);
    assert_eq!(of_z.operands, [Output(0), Cotangent(0)]);
    assert_eq!(unary(|x| x.exp() * 2.0).operands, [Input(0), Cotangent(0)]);
}

#[test]
fn only_what_the_asked_gradients_need_is_an_operand() {
    let of_x = binary(|x, y| x * y, [true, false]);
    assert_eq!(of_x.operands, [Input(1), Cotangent(0)]);
    assert_eq!(of_x.inputs, [0]);
    let of_both = binary(|x, y| x * y, [true, true]);
    assert_eq!(of_both.operands, [Input(0), Input(1), Cotangent(0)]);
    assert_eq!(of_both.inputs, [0, 1]);
    let none: [GradientOperand; 0] = [];
    assert_eq!(binary(|x, y| x * y, [false, false]).operands, none);
}

#[test]
fn a_sum_hands_the_gradient_on_as_it_came() {
    let sum = binary(|x, y| x + y, [true, true]);
    assert_eq!(sum.operands, [Cotangent(0)]);
    assert_eq!(sum.expression.output_as_input(0), Some(0));
    assert_eq!(sum.expression.output_as_input(1), Some(0));
    let difference = binary(|x, y| x - y, [true, true]);
    assert_eq!(difference.expression.output_as_input(1), None);
}

#[test]
fn gradients_that_are_zero_everywhere_are_named_and_not_computed() {
    let gradient = binary(|x, y| x.floor() + y, [true, true]);
    assert_eq!((gradient.inputs, gradient.zeros), (vec![1], vec![0]));
    let comparison = elementwise([F32; 2], |[x, y]| x.lt(y)).gradient(&[true, true]);
    assert_eq!((comparison.inputs.len(), comparison.zeros), (0, vec![0, 1]));
    // An input that is not used.
    assert_eq!(binary(|x, _| x, [true, true]).zeros, [1]);
}

#[test]
fn integers_have_no_gradient_and_end_the_chain() {
    let f = elementwise([F32, I32], |[x, n]| x * n.convert(F32));
    let gradient = f.gradient(&[true, true]);
    assert_eq!((gradient.inputs, gradient.zeros), (vec![0], vec![]));
    let rounded = unary(|x| x.convert(I32).convert(F32));
    assert_eq!(rounded.zeros, [0]);
}

#[test]
fn a_conversion_of_floats_is_converted_back() {
    let f = elementwise([F32, F64], |[x, y]| x.convert(F64) * y);
    let gradient = f.gradient(&[true, true]);
    let types: Vec<_> =
        gradient.expression.outputs().iter().map(|&id| gradient.expression.type_of(id)).collect();
    assert_eq!(types, [F32, F64]);
}

#[test]
fn a_branch_that_is_not_taken_has_no_influence() {
    // The derivative of the square root is infinite at 0, of which 0 times would be NaN.
    let f = unary(|x| x.gt(0.0).select(x.sqrt() * x, 0.0));
    assert_eq!(f.operands, [Input(0), Cotangent(0)]);
    assert_eq!(at(&f, &[0.0, 1.0]), [0.0]);
    assert_eq!(at(&f, &[-1.0, 1.0]), [0.0]);
    assert_eq!(at(&f, &[4.0, 1.0]), [3.0]);
    // Through several choices, one within the other.
    let nested = unary(|x| {
        let inner = x.gt(1.0).select(x.log(), x.sqrt());
        x.gt(0.0).select(inner * 2.0, x * 3.0)
    });
    assert_eq!(at(&nested, &[0.0, 1.0]), [3.0]);
    assert_eq!(at(&nested, &[2.0, 1.0]), [1.0]);
    assert_eq!(at(&nested, &[0.25, 1.0]), [2.0]);
}

#[test]
fn a_choice_of_two_is_one_choice_of_gradients() {
    let gradient = unary(|x| x.leaky_relu(0.1));
    let expected = elementwise([F32; 2], |[x, grad]| x.gt(0.0).select(grad, grad * 0.1));
    assert_eq!(gradient.expression, expected);
}

#[test]
fn results_without_a_gradient_cost_nothing() {
    let f = trace(&[F32; 2], &[], |_, x, _| smallvec![x[0] * x[1], x[0].exp()]);
    let first = f.gradient_of(&[true, true], &[true, false]);
    assert_eq!(first.operands, [Input(0), Input(1), Cotangent(0)]);
    let second = f.gradient_of(&[true, true], &[false, true]);
    assert_eq!((second.operands, second.zeros), (vec![Output(1), Cotangent(1)], vec![1]));
}

#[test]
fn scalars_stay_scalars_of_the_derivative() {
    let f = trace(&[F32; 2], &[F32], |_, x, s| smallvec![x[0] + s[0] * x[1]]);
    let gradient = f.gradient(&[true, true]);
    assert_eq!(gradient.expression.scalars(), [F32]);
    let bits = gradient
        .expression
        .evaluate(&[u64::from(2.0_f32.to_bits())], &[u64::from(3.0_f32.to_bits())]);
    assert_eq!(bits, [2.0_f32, 6.0].map(|x| u64::from(x.to_bits())));
}

#[test]
fn a_derivative_may_be_given_instead_of_derived() {
    let f = elementwise([F32], |[x]| (x / (1.0 - x)).log());
    let gradient = f.gradient_by(&[true], |values| {
        let (x, grad) = (values.inputs[0], values.cotangents[0]);
        vec![Some(grad / (x * (1.0 - x)))]
    });
    assert_eq!(gradient.operands, [Input(0), Cotangent(0)]);
    assert_eq!(at(&gradient, &[0.5, 1.0]), [4.0]);
}
