//! Values of the operations, against PyTorch's.

use tensor::Result;

use crate::apply::apply;
use crate::devices::for_each_device;
use crate::expected::{assert_is, cases};

/// Every case of a family on every device.
fn check(family: &str) -> Result<()> {
    for_each_device(|device| {
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
