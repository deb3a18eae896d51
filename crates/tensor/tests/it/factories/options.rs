//! What options say, and what they leave to the tensor that the new one is like.

use tensor::{
    AutogradError, DType, Device, Error, Result, Tensor, TensorOptions, cuda, set_default_dtype,
    with_default_device, with_default_dtype,
};

use crate::devices::{cuda_devices, for_each_device, two_cuda_devices};

#[test]
fn new_takes_device_and_dtype_of_its_tensor_whatever_is_current() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::empty([1], (DType::F16, device))?;
        with_default_dtype(DType::F64, || {
            let made = [
                x.new_tensor([[1, 2]], ())?,
                x.new_full([1, 2], -5, ())?,
                x.new_zeros([1, 2], ())?,
                x.new_ones([1, 2], ())?,
                x.new_empty([1, 2], ())?,
            ];
            for y in &made {
                assert_eq!((y.dtype(), y.device()), (DType::F16, x.device()));
                assert_eq!(y.shape(), [1, 2]);
            }
            let values = |index: usize| made[index].to(DType::F32)?.to_vec::<f32>();
            assert_eq!(values(0)?, [1.0, 2.0]);
            assert_eq!(values(1)?, [-5.0, -5.0]);
            assert_eq!(values(2)?, [0.0, 0.0]);
            assert_eq!(values(3)?, [1.0, 1.0]);
            Ok(())
        })?
    })
}

#[test]
fn options_override_what_a_tensor_is_like() -> Result<()> {
    let x = Tensor::zeros([2], DType::F64)?;
    for_each_device(|device| {
        let y = x.ones_like_with((DType::U8, device))?;
        assert_eq!((y.dtype(), y.device()), (DType::U8, device.resolve()?));
        let z = x.new_full([3], true, device)?;
        assert_eq!((z.dtype(), z.to_vec::<f64>()?), (DType::F64, vec![1.0; 3]));
        Ok(())
    })
}

#[test]
fn like_takes_shape_device_and_dtype() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::empty([2, 3], (DType::F64, device))?.t()?;
        let made = [
            x.empty_like()?,
            x.zeros_like()?,
            x.ones_like()?,
            x.full_like(3)?,
            x.rand_like()?,
            x.randn_like()?,
        ];
        for y in &made {
            assert_eq!((y.shape(), y.dtype(), y.device()), (&[3, 2][..], DType::F64, x.device()));
        }
        assert_eq!(made[1].to_vec::<f64>()?, [0.0; 6]);
        assert_eq!(made[3].to_vec::<f64>()?, [3.0; 6]);
        Ok(())
    })
}

#[test]
fn the_kind_of_a_value_chooses_the_dtype_of_full() -> Result<()> {
    assert_eq!(Tensor::full([1], 1.0, ())?.dtype(), DType::F32);
    assert_eq!(Tensor::full([1], 1, ())?.dtype(), DType::I64);
    assert_eq!(Tensor::full([1], true, ())?.dtype(), DType::Bool);
    assert_eq!(Tensor::scalar(2.5, DType::F16)?.item::<f64>()?, 2.5);
    Ok(())
}

#[test]
fn a_new_leaf_can_require_gradients_if_it_is_of_floats() -> Result<()> {
    let options = TensorOptions::new().requires_grad(true);
    for leaf in [Tensor::randn([2], options)?, Tensor::new([1.0f32], options)?] {
        assert!(leaf.requires_grad() && leaf.is_leaf());
    }
    assert!(Tensor::eye(2, options)?.requires_grad());
    let error = Tensor::zeros([2], options.dtype(DType::I64)).expect_err("integers");
    let refused = matches!(error, Error::Autograd(AutogradError::NotDifferentiable { .. }));
    assert!(refused, "{error}");
    Ok(())
}

#[test]
fn pinned_memory_is_made_on_the_host_only() -> Result<()> {
    let cuda = cuda_devices();
    let pinned = TensorOptions::new().pinned(true);
    for x in [
        Tensor::zeros([3], pinned)?,
        Tensor::new([1.0f32, 2.0, 3.0], pinned)?,
        Tensor::arange(3, pinned)?,
        Tensor::full([3], 2.5, pinned.dtype(DType::F64))?,
    ] {
        assert!(x.is_pinned());
        assert_eq!(x.numel(), 3);
    }
    let error = Tensor::zeros([3], pinned.device(cuda[0])).expect_err("device memory");
    assert!(error.to_string().contains("pinned"), "{error}");
    Ok(())
}

#[test]
fn the_default_device_is_resolved_when_a_tensor_is_made() -> Result<()> {
    let Some(devices) = two_cuda_devices("the_default_device_is_resolved") else {
        return Ok(());
    };
    with_default_device(Device::cuda(), || {
        assert_eq!(Tensor::zeros([1], ())?.device(), devices[0]);
        let _other = cuda::device(1)?;
        assert_eq!(Tensor::zeros([1], ())?.device(), devices[1]);
        assert_eq!(Tensor::zeros([1], Device::Cpu)?.device(), Device::Cpu);
        Ok(())
    })?
}

#[test]
fn a_default_that_cannot_be_is_refused() {
    cuda_devices();
    assert!(set_default_dtype(DType::Bool).is_err());
    assert!(tensor::set_default_device(Device::cuda_at(99)).is_err());
    assert!(with_default_device(Device::cuda_at(99), || ()).is_err());
    assert_eq!(tensor::default_dtype(), DType::F32);
    assert_eq!(tensor::default_device(), Device::Cpu);
}

#[test]
fn a_shape_beyond_any_memory_is_an_error() {
    let error = Tensor::zeros([usize::MAX, 2], ()).expect_err("too large");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}
