//! Tensors of Rust data and of literals.

use half::f16;
use tensor::{DType, Error, Result, Tensor, tensor, with_default_dtype};

use crate::devices::for_each_device;

#[test]
fn a_rust_type_keeps_its_dtype_but_that_of_literals_takes_the_default_one() -> Result<()> {
    for_each_device(|device| {
        assert_eq!(Tensor::new([1.0], device)?.dtype(), DType::F32);
        let wide = with_default_dtype(DType::F64, || Tensor::new([1.0], device))??;
        assert_eq!(wide.dtype(), DType::F64);
        let narrow = with_default_dtype(DType::F64, || Tensor::new([1.0f32], device))??;
        assert_eq!(narrow.dtype(), DType::F32);
        assert_eq!(Tensor::from_vec(vec![1.0f64], [1], device)?.dtype(), DType::F64);
        assert_eq!(Tensor::new([f16::ONE], device)?.dtype(), DType::F16);
        assert_eq!(Tensor::new([1i64], device)?.dtype(), DType::I64);
        assert_eq!(Tensor::new([1i32], device)?.dtype(), DType::I64);
        assert_eq!(Tensor::new([1u8], device)?.dtype(), DType::U8);
        assert_eq!(Tensor::new([true], device)?.dtype(), DType::Bool);
        Ok(())
    })
}

#[test]
fn literals_take_the_default_dtype_and_device() -> Result<()> {
    assert_eq!(tensor![1.0]?.dtype(), DType::F32);
    assert_eq!(tensor![1]?.dtype(), DType::I64);
    assert_eq!(tensor![true, false]?.dtype(), DType::Bool);
    assert_eq!(tensor![]?.shape(), [0]);
    let wide = with_default_dtype(DType::F64, || tensor![[1.5], [2.5]])??;
    assert_eq!((wide.dtype(), wide.shape()), (DType::F64, &[2, 1][..]));
    for_each_device(|device| {
        let x = tensor::with_default_device(device, || tensor![1, 2])??;
        assert_eq!(x.device(), device.resolve()?);
        Ok(())
    })
}

#[test]
fn nested_data_gives_its_shape_and_row_major_values() -> Result<()> {
    for_each_device(|device| {
        let arrays = Tensor::new([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], device)?;
        assert_eq!(arrays.shape(), [2, 2, 2]);
        assert_eq!(arrays.to_vec::<i64>()?, [1, 2, 3, 4, 5, 6, 7, 8]);
        let vectors = Tensor::new(vec![vec![1.0f32, 2.0], vec![3.0, 4.0]], device)?;
        assert_eq!(vectors.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
        let slice = [1u8, 2, 3];
        assert_eq!(Tensor::new(&slice[1..], device)?.to_vec::<u8>()?, [2, 3]);
        let single = Tensor::new(7.5f64, device)?;
        assert_eq!((single.dims(), single.item::<f64>()?), (0, 7.5));
        Ok(())
    })
}

#[test]
fn empty_data_keeps_the_sizes_that_its_type_tells() -> Result<()> {
    assert_eq!(Tensor::new(Vec::<f32>::new(), ())?.shape(), [0]);
    assert_eq!(Tensor::new([[0.0f32; 0]; 3], ())?.shape(), [3, 0]);
    assert_eq!(Tensor::new(Vec::<[f32; 3]>::new(), ())?.shape(), [0, 3]);
    Ok(())
}

#[test]
fn ragged_data_is_an_error_that_names_both_lengths() {
    let error = Tensor::new(vec![vec![1.0f32, 2.0], vec![3.0]], ()).expect_err("ragged");
    assert!(matches!(error, Error::Ragged { expected: 2, found: 1, .. }), "{error:?}");
    let deep = vec![vec![vec![1, 2]], vec![vec![1, 2, 3]]];
    let text = Tensor::new(deep, ()).expect_err("ragged").to_string();
    assert!(text.contains('2') && text.contains('3'), "{text}");
}

#[test]
fn elements_that_do_not_fit_the_shape_are_an_error() {
    let error = Tensor::from_vec(vec![1.0f32; 5], [2, 3], ()).expect_err("five for six");
    assert!(matches!(error, Error::WrongNumel { numel: 5, .. }), "{error:?}");
}

#[test]
fn a_dtype_in_the_options_converts() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([0.0f32, 1.75, -2.75], (DType::I64, device))?;
        assert_eq!(x.to_vec::<i64>()?, [0, 1, -2]);
        assert_eq!(Tensor::new([2, 0], (DType::Bool, device))?.to_vec::<bool>()?, [true, false]);
        Ok(())
    })
}

#[test]
fn rows_of_different_lengths_are_an_error_that_says_how_long_they_are() -> Result<()> {
    let error = Tensor::new(vec![vec![1.0], vec![1.0, 2.0]], ()).expect_err("two lengths");
    assert_eq!(
        error.to_string(),
        "new: an entry holds 2 numbers, where the first of its kind holds 1; rows must have equal \
         lengths"
    );
    Ok(())
}
