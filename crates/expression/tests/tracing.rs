//! Tracing, simplification and the text form.

use expression::{ComputeType, DType, Expression, Primitive, elementwise, trace};
use smallvec::smallvec;

const F32: ComputeType = ComputeType::F32;
const I32: ComputeType = ComputeType::I32;

fn text(expression: &Expression) -> String {
    expression.to_string()
}

#[test]
fn constants_on_both_sides_take_the_type_of_the_value() {
    let f = elementwise([F32], |[x]| 2 * x + 0.5);
    let expected = "\
%0 = input f32 0
%1 = constant f32 2
%2 = mul f32 %0, %1
%3 = constant f32 0.5
%4 = add f32 %2, %3
return %4
";
    assert_eq!(text(&f), expected);
}

#[test]
fn values_without_use_are_left_out_and_equal_ones_are_computed_once() {
    let f = elementwise([F32; 2], |[x, y]| {
        let _ = x.exp() / y;
        (x * y).sin() + (y * x).sin()
    });
    let expected = "\
%0 = input f32 0
%1 = input f32 1
%2 = mul f32 %0, %1
%3 = sin f32 %2
%4 = add f32 %3, %3
return %4
";
    assert_eq!(text(&f), expected);
}

#[test]
fn an_unused_input_stays_in_the_signature() {
    let f = elementwise([F32, I32], |[x, _]| x);
    assert_eq!(f.inputs(), [F32, I32]);
    assert_eq!(text(&f), "%0 = input f32 0\nreturn %0\n");
}

#[test]
fn identities_hold_for_signed_zeros_and_nan_or_are_not_applied() {
    let same = |f: Expression| assert_eq!(text(&f), "%0 = input f32 0\nreturn %0\n");
    same(elementwise([F32], |[x]| x * 1.0));
    same(elementwise([F32], |[x]| x - 0.0));
    same(elementwise([F32], |[x]| x + -0.0));
    same(elementwise([F32], |[x]| -(-x)));
    same(elementwise([F32], |[x]| x.convert(ComputeType::F64).convert(F32)));
    same(elementwise([F32], |[x]| x.pow(1.0)));
    let kept = |f: Expression| assert_eq!(f.values().len(), 3, "{f}");
    kept(elementwise([F32], |[x]| x + 0.0));
    kept(elementwise([F32], |[x]| x * 0.0));
    kept(elementwise([F32], |[x]| x / 3.0));
    let difference = elementwise([F32], |[x]| x - x);
    assert_eq!(difference.values().len(), 2);
}

#[test]
fn a_quotient_by_a_power_of_two_is_a_product() {
    let f = elementwise([F32], |[x]| x / 8.0);
    assert!(text(&f).contains("constant f32 0.125\n%2 = mul"), "{f}");
    // 2^-127 is no normal number.
    let f = elementwise([F32], |[x]| x / 2.0_f64.powi(127));
    assert!(text(&f).contains("div"), "{f}");
}

#[test]
fn signs_go_into_sums() {
    let f = elementwise([F32; 3], |[x, y, z]| x + (-y) * z);
    assert!(text(&f).contains("sub") && !text(&f).contains("neg"), "{f}");
}

#[test]
fn exact_functions_of_constants_are_computed_and_others_left_to_the_backends() {
    let f = elementwise([I32], |[x]| x + x.constant(7).floor_divide(-2));
    assert!(text(&f).contains("constant i32 -4"), "{f}");
    let f = elementwise([F32], |[x]| x + x.constant(1.0).exp());
    assert!(text(&f).contains("exp"), "{f}");
}

#[test]
fn truth_values_are_added_by_or_and_multiplied_by_and() {
    let f = elementwise([ComputeType::Bool; 2], |[a, b]| (a + b) * b);
    assert!(text(&f).contains("or bool") && text(&f).contains("and bool"), "{f}");
}

#[test]
fn equal_expressions_are_equal_whoever_traced_them() {
    let make = |factor: f64| elementwise([F32; 2], move |[x, y]| (x * factor + y).tanh());
    let (a, b, other) = (make(3.0), make(3.0), make(4.0));
    assert_eq!(a, b);
    assert_eq!(a.fingerprint(), b.fingerprint());
    assert_ne!(a, other);
    assert_ne!(a.fingerprint(), other.fingerprint());
    // The signature counts, though the values are the same.
    let wider = elementwise([F32; 3], |[x, y, _]| (x * 3.0 + y).tanh());
    assert_ne!(a, wider);
}

#[test]
fn values_of_scalars_and_constants_alone_are_uniform() {
    let f = trace(&[F32], &[F32], |_, x, s| smallvec![x[0] * (1.0 - s[0])]);
    assert_eq!(f.uniform_values(), [false, true, true, true, false]);
}

#[test]
fn one_of_several_results_alone_is_what_was_traced_alone() {
    let both = trace(&[F32; 2], &[], |_, x, _| smallvec![x[0].exp() * x[1], x[1].sin()]);
    assert_eq!(both.result(1), elementwise([F32; 2], |[_, y]| y.sin()));
}

#[test]
fn each_primitive_has_its_own_name_and_one_arity() {
    let mut names: Vec<String> = Primitive::ALL
        .iter()
        .filter(|primitive| !matches!(primitive, Primitive::Convert(_)))
        .map(|primitive| primitive.to_string())
        .collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn integers_of_narrow_dtypes_wrap_around_where_they_are_told_to() {
    let f = |dtype| elementwise([I32], move |[x]| x.wrapped(dtype));
    let of = |dtype, x: i32| f(dtype).evaluate(&[u64::from(x as u32)], &[])[0] as u32 as i32;
    assert_eq!(of(DType::U8, -1), 255);
    assert_eq!(of(DType::I8, 128), -128);
    assert_eq!(of(DType::I16, 32_768 + 5), -32_763);
    assert_eq!(of(DType::I32, -7), -7);
}

#[test]
#[should_panic(expected = "mul of f32, i32: there is no such function")]
fn types_that_differ_are_refused() {
    let _ = elementwise([F32, I32], |[x, y]| x * y);
}

#[test]
#[should_panic(expected = "Float(0.5) is no value of i32")]
fn a_fraction_is_no_integer() {
    let _ = elementwise([I32], |[x]| x + 0.5);
}
