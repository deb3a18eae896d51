//! To and from the arrays of `ndarray`.

use half::bf16;
use ndarray::{Array3, Axis, arr0};
use serialization::ndarray::{from_ndarray, to_ndarray};
use tensor::{DType, Result, Tensor};

use crate::devices;

#[test]
fn arrays_of_any_strides_become_tensors_and_arrays_again() -> Result<()> {
    let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as i64);
    let mut view = array.view().permuted_axes([2, 0, 1]);
    view.invert_axis(Axis(0));
    for device in devices::all() {
        let tensor = from_ndarray(&view, device)?;
        assert_eq!((tensor.shape(), tensor.device()), (&[4, 2, 3][..], device));
        assert_eq!(to_ndarray::<i64>(&tensor)?, view.into_dyn());
        assert_eq!(to_ndarray::<i64>(&tensor.transpose(1, 2)?)?.shape(), [4, 3, 2]);
    }
    Ok(())
}

#[test]
fn the_dtype_is_that_of_the_elements_or_of_the_options() -> Result<()> {
    let x = from_ndarray(&arr0(bf16::from_f32(1.5)), ())?;
    assert_eq!((x.shape(), x.dtype()), (&[][..], DType::BF16));
    assert_eq!(from_ndarray(&arr0(1.5_f64), DType::F16)?.dtype(), DType::F16);
    assert!(to_ndarray::<f32>(&Tensor::zeros([2], DType::I64)?).is_err());
    Ok(())
}
