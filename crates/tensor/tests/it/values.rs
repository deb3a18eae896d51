//! Values of the operations, against PyTorch's and against exact ones.

use tensor::{DType, MatrixNorm, Result, Tensor};

use crate::apply::apply;
use crate::devices::for_each_kind;
use crate::expected::{assert_is, cases};

/// Every case of a family on every device.
fn check(family: &str) -> Result<()> {
    for_each_kind(|device| {
        for case in cases(family) {
            let output = apply(&case, &case.inputs(device)?)?;
            assert_eq!(output.device(), device.resolve()?, "{}", case.describe());
            assert_is(&output, case.raw("output"), &format!("{} on {device}", case.describe()))?;
        }
        Ok(())
    })
}

#[test]
fn functions_of_one_tensor_give_pytorchs_numbers() -> Result<()> {
    check("unary")
}

#[test]
fn functions_of_two_tensors_give_pytorchs_numbers() -> Result<()> {
    check("binary")
}

#[test]
fn functions_of_a_tensor_and_a_number_give_pytorchs_numbers() -> Result<()> {
    check("scalars")
}

#[test]
fn functions_of_three_tensors_give_pytorchs_numbers() -> Result<()> {
    check("ternary")
}

#[test]
fn comparisons_give_pytorchs_answers() -> Result<()> {
    check("compare")
}

#[test]
fn elementwise_functions_give_pytorchs_numbers_in_all_dtypes() -> Result<()> {
    check("elementwise")
}

#[test]
fn what_is_easily_got_wrong_gives_pytorchs_numbers() -> Result<()> {
    check("pitfalls")
}

#[test]
fn casts_give_pytorchs_numbers() -> Result<()> {
    check("casts")
}

#[test]
fn reductions_give_pytorchs_numbers() -> Result<()> {
    check("reduce")
}

#[test]
fn softmax_and_losses_give_pytorchs_numbers() -> Result<()> {
    check("rows")
}

#[test]
fn matrix_products_give_pytorchs_numbers() -> Result<()> {
    check("matmul")
}

#[test]
fn indexing_and_joining_give_pytorchs_numbers() -> Result<()> {
    check("index")
}

#[test]
fn sorts_selections_and_searches_give_pytorchs_numbers() -> Result<()> {
    check("sorting")
}

#[test]
fn a_quotient_of_integers_is_rounded_down_at_the_ends_of_their_range_too() -> Result<()> {
    for_each_kind(|device| {
        let a = [i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, -1, 0, 1, 7, -7, i64::MIN];
        for b in [3, -3, 2, -2, 7, 1, -1, i64::MAX, i64::MIN, i64::MIN + 1] {
            let exact = |a: i64| {
                let (a, b) = (i128::from(a), i128::from(b));
                a / b - i128::from(a % b != 0 && (a < 0) != (b < 0))
            };
            let quotients = Tensor::new(a, device)?.floor_divide(b)?.to_vec::<i64>()?;
            let expected: Vec<i64> = a.iter().map(|&a| exact(a) as i64).collect();
            assert_eq!(quotients, expected, "divided by {b} on {device}");
            let left = Tensor::new(a, device)?.remainder(b)?.to_vec::<i64>()?;
            let expected: Vec<i64> =
                a.iter().map(|&a| (i128::from(a) - exact(a) * i128::from(b)) as i64).collect();
            assert_eq!(left, expected, "what {b} leaves on {device}");
        }
        Ok(())
    })
}

#[test]
fn what_rounding_or_a_dtype_would_spoil_is_as_in_pytorch() -> Result<()> {
    for_each_kind(|device| {
        let steps = Tensor::linspace(0.9, 9.7, 5, (DType::I64, device))?;
        assert_eq!(steps.to_vec::<i64>()?, [0, 2, 4, 6, 9]);
        let bytes = Tensor::new([0u8, 3], device)?;
        assert_eq!(bytes.any(())?.item::<u8>()?, 1);
        assert_eq!(bytes.all(())?.dtype(), DType::U8);
        let halves = Tensor::new([-200.0f32, 200.0], device)?.to(DType::F16)?;
        let variance = halves.var((), 0)?;
        assert_eq!(
            (variance.dtype(), variance.to(DType::F32)?.item::<f32>()?),
            (DType::F16, 40000.0)
        );
        let x = Tensor::new([f32::NAN, 1.0, 0.0, -1.0], device)?.requires_grad_(true)?;
        x.relu()?.sum(())?.backward()?;
        assert_eq!(x.grad().expect("computed").to_vec::<f32>()?, [1.0, 1.0, 0.0, 0.0]);
        Ok(())
    })
}

#[test]
fn a_difference_the_other_way_round_may_have_a_factor() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([1i64, 2], device)?;
        assert_eq!(x.rsub_scaled(10, 3)?.to_vec::<i64>()?, [7, 4]);
        assert!(x.rsub_scaled(10, 0.5).is_err(), "a float beside integers");
        assert!(x.gt(0)?.rsub_scaled(&x, 1).is_err(), "truth values");
        let y = x.to(DType::F32)?.requires_grad_(true)?;
        y.rsub_scaled(&x, 0.5)?.sum(())?.backward()?;
        assert_eq!(y.grad().expect("it has one").to_vec::<f32>()?, [-0.5, -0.5]);
        Ok(())
    })
}

#[test]
fn a_number_may_be_the_first_operand_of_powers_and_remainders() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([1i64, 3, -3], device)?;
        assert_eq!(x.rremainder(7)?.to_vec::<i64>()?, [0, 1, -2]);
        assert_eq!(x.rpow(2.0)?.to_vec::<f32>()?, [2.0, 8.0, 0.125]);
        let ones = x.rpow(true)?;
        assert_eq!((ones.dtype(), ones.to_vec::<i64>()?), (DType::I64, vec![1, 1, 1]));
        Ok(())
    })
}

#[test]
fn more_bins_than_a_dtype_has_numbers_have_their_last_one() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([0.0f32, 1e-5, 0.5e-5, 1.0], device)?.to(DType::BF16)?;
        let counts = x.histc(1000, 0.0, x.select(0, 1)?.item::<f64>()?)?;
        assert_eq!(counts.shape(), [1000]);
        assert_eq!(counts.select(0, 999)?.item::<f32>()?, 1.0);
        assert_eq!(counts.sum(())?.item::<f32>()?, 3.0);
        Ok(())
    })
}

#[test]
fn a_matrix_to_the_power_of_0_has_a_gradient_and_one_without_elements_a_norm() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::full([2, 3, 3], 2.0, device)?.requires_grad_(true)?;
        let ones = x.matrix_power(0)?;
        assert_eq!(ones.sum(())?.item::<f32>()?, 6.0);
        ones.sum(())?.backward()?;
        assert_eq!(x.grad().expect("zeros").to_vec::<f32>()?, [0.0; 18]);
        let empty = Tensor::zeros([0, 5], device)?;
        for order in [MatrixNorm::One, MatrixNorm::Inf, MatrixNorm::Fro, MatrixNorm::NegOne] {
            assert_eq!(empty.matrix_norm(order, [0, 1], false)?.item::<f32>()?, 0.0, "{order:?}");
        }
        assert!(empty.matrix_norm(MatrixNorm::NegInf, [0, 1], false).is_err(), "no smallest sum");
        Ok(())
    })
}
