//! arange, linspace, eye.

use tensor::{DType, Result, Tensor};

use crate::devices::for_each_device;

#[test]
fn arange_counts_from_start_to_before_the_end() -> Result<()> {
    for_each_device(|device| {
        assert_eq!(Tensor::arange(4, device)?.to_vec::<i64>()?, [0, 1, 2, 3]);
        assert_eq!(Tensor::arange(-1..2, device)?.to_vec::<i64>()?, [-1, 0, 1]);
        assert_eq!(
            Tensor::arange((0.0, 1.0, 0.25), device)?.to_vec::<f32>()?,
            [0.0, 0.25, 0.5, 0.75]
        );
        assert_eq!(Tensor::arange((7, 0, -3), device)?.to_vec::<i64>()?, [7, 4, 1]);
        assert_eq!(Tensor::arange(3, (DType::F64, device))?.to_vec::<f64>()?, [0.0, 1.0, 2.0]);
        assert_eq!(Tensor::arange(3, (DType::U8, device))?.to_vec::<u8>()?, [0, 1, 2]);
        assert_eq!(Tensor::arange(0, device)?.shape(), [0]);
        Ok(())
    })
}

#[test]
fn arange_refuses_steps_that_do_not_lead_to_the_end() {
    let error = Tensor::arange((0, 5, -1), ()).expect_err("away from the end").to_string();
    assert!(error.contains("arange") && error.contains("step"), "{error}");
    assert!(Tensor::arange((0, 5, 0), ()).is_err());
    assert!(Tensor::arange(2, DType::Bool).is_err());
}

#[test]
fn linspace_meets_both_ends_exactly() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::linspace(0.1, 0.7, 7, (DType::F64, device))?.to_vec::<f64>()?;
        assert_eq!((x[0], x[6], x.len()), (0.1, 0.7, 7));
        assert!(x.windows(2).all(|pair| (pair[1] - pair[0] - 0.1).abs() < 1e-12), "{x:?}");
        assert_eq!(Tensor::linspace(3.0, 9.0, 1, device)?.to_vec::<f32>()?, [3.0]);
        assert_eq!(Tensor::linspace(3.0, 9.0, 0, device)?.shape(), [0]);
        Ok(())
    })
}

#[test]
fn logspace_in_half_precision_spreads_the_rounded_difference_of_the_exponents() -> Result<()> {
    // torch.logspace(-2.7, 4.9, 7, 10, dtype=torch.bfloat16)
    let expected = [0.001_983_642_6, 0.036_865_234, 0.691_406_25, 12.4375, 232.0, 4320.0, 80384.0];
    for_each_device(|device| {
        let x = Tensor::logspace(-2.7, 4.9, 7, 10.0, (DType::BF16, device))?;
        assert_eq!(x.to(DType::F32)?.to_vec::<f32>()?, expected);
        Ok(())
    })
}

#[test]
fn logspace_of_one_number_has_the_power_of_the_start_as_it_was_given() -> Result<()> {
    // torch.logspace(4.3, 4, 1, 5, dtype=torch.bfloat16), torch.logspace(1.5, 4, 1, 10, dtype=torch.int64)
    for_each_device(|device| {
        let x = Tensor::logspace(4.3, 4.0, 1, 5.0, (DType::BF16, device))?;
        assert_eq!(x.to(DType::F32)?.to_vec::<f32>()?, [1012.0]);
        let x = Tensor::logspace(1.5, 4.0, 1, 10.0, (DType::I64, device))?;
        assert_eq!(x.to_vec::<i64>()?, [31]);
        Ok(())
    })
}

#[test]
fn eye_has_ones_on_its_diagonal() -> Result<()> {
    for_each_device(|device| {
        assert_eq!(Tensor::eye(2, device)?.to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(Tensor::eye(1, (DType::I64, device))?.to_vec::<i64>()?, [1]);
        assert_eq!(Tensor::eye(0, device)?.shape(), [0, 0]);
        Ok(())
    })
}
