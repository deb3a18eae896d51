//! `+ - * /` and `-x` take tensors and numbers, owned or borrowed, in every order.

use tensor::{Result, Scalar, Tensor, tensor};

fn assert_is(result: Result<Tensor>, expected: [f32; 2]) -> Result<()> {
    assert_eq!(result?.to_vec::<f32>()?, expected);
    Ok(())
}

#[test]
fn tensors_owned_or_borrowed_are_operands() -> Result<()> {
    let (a, b) = (|| tensor![6.0f32, 8.0], || tensor![2.0f32, 4.0]);
    let (x, y) = (a()?, b()?);
    for sum in [&x + &y, &x + b()?, a()? + &y, a()? + b()?] {
        assert_is(sum, [8.0, 12.0])?;
    }
    for difference in [&x - &y, &x - b()?, a()? - &y, a()? - b()?] {
        assert_is(difference, [4.0, 4.0])?;
    }
    for product in [&x * &y, &x * b()?, a()? * &y, a()? * b()?] {
        assert_is(product, [12.0, 32.0])?;
    }
    for quotient in [&x / &y, &x / b()?, a()? / &y, a()? / b()?] {
        assert_is(quotient, [3.0, 2.0])?;
    }
    let owned = a()?;
    for negative in [-&x, -owned] {
        assert_is(negative, [-6.0, -8.0])?;
    }
    Ok(())
}

#[test]
fn numbers_are_operands_on_both_sides() -> Result<()> {
    let a = || tensor![2.0f32, 4.0];
    let x = a()?;
    for difference in [1.0 - &x, 1.0 - a()?, 1 - &x, 1i64 - a()?, Scalar::Int(1) - &x] {
        assert_is(difference, [-1.0, -3.0])?;
    }
    for quotient in [8.0 / &x, 8.0 / a()?, 8 / a()?, Scalar::from(8.0f32) / a()?] {
        assert_is(quotient, [4.0, 2.0])?;
    }
    for product in [&x * 3.0, a()? * 3, 3 * a()?, &x * Scalar::Int(3)] {
        assert_is(product, [6.0, 12.0])?;
    }
    let difference: Tensor = (1.0f64 - a()?)?;
    let negative = -difference;
    assert_is(negative? + 1, [2.0, 4.0])
}

#[test]
fn a_literal_on_the_left_needs_no_type() -> Result<()> {
    let x = tensor![2.0, 4.0]?;
    assert_eq!((2.0 * &x)?.to_vec::<f32>()?, [4.0, 8.0]);
    assert_eq!((1 + &x)?.to_vec::<f32>()?, [3.0, 5.0]);
    assert_eq!((1.0 / (x + 2.0)?)?.sum(())?.item::<f32>()?, 0.25 + 1.0 / 6.0);
    Ok(())
}

#[test]
fn results_of_operations_are_operands_beside_tensors_on_both_sides() -> Result<()> {
    let (x, w, b) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?, tensor![10.0, 20.0]?);
    let owned = || tensor![10.0, 20.0];
    for sum in [&x * &w + &b, &b + &x * &w, &x * &w + owned()?, owned()? + &x * &w] {
        assert_is(sum, [13.0, 28.0])?;
    }
    assert_is(&b - &x * &w, [7.0, 12.0])?;
    assert_is(&x * &w - &b, [-7.0, -12.0])?;
    assert_is(&b / (&x + &x), [5.0, 5.0])?;
    assert_is(x.matmul(&Tensor::eye(2, ())?) + &b, [11.0, 22.0])
}

#[test]
fn an_expression_gives_the_error_of_the_operation_that_failed_first() -> Result<()> {
    let (x, b) = (tensor![1.0, 2.0]?, tensor![1.0, 2.0, 3.0]?);
    let error = (&x + &x * &b).expect_err("two sizes").to_string();
    assert!(error.starts_with("mul: `self` has shape [2], `other` [3]"), "{error}");
    Ok(())
}
