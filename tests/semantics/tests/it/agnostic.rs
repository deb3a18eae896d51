//! Device-agnostic code: S09 to S12.

use nn::{Forward, Linear, Module, ReLU, sequential};
use semantics::{choose_driver, devices};
use tensor::{DType, Device, Result, Tensor, cuda, tensor};

/// The CPU, the first device, and the third where there is one.
fn places() -> impl Iterator<Item = Device> {
    choose_driver();
    let third = (cuda::device_count() > 2).then(|| Device::cuda_at(2));
    [Device::Cpu, Device::cuda_at(0)].into_iter().chain(third)
}

#[test]
pub(crate) fn s09_the_same_program_runs_where_a_device_was_chosen_once() -> Result<()> {
    let mut results = Vec::new();
    for device in places() {
        let _seed = tensor::enter_manual_seed(7);
        let mut net = sequential![Linear::new(4, 8)?, ReLU, Linear::new(8, 2)?];
        net.to(device)?;
        let x = Tensor::ones([3, 4], device)?;
        let y = net.forward(&x)?;
        assert_eq!(y.device(), x.device());
        results.push(y.cpu()?);
    }
    for other in &results[1..] {
        assert!(results[0].allclose(other, 1e-5, 1e-6)?, "{} and {other}", results[0]);
    }
    Ok(())
}

#[test]
pub(crate) fn s10_new_keeps_device_and_dtype_of_its_tensor() -> Result<()> {
    for device in places() {
        let x = Tensor::empty([2], (DType::F64, device))?;
        let _elsewhere = cuda::device(cuda::device_count() - 1)?;
        let made = [
            x.new_tensor([1, 2], ())?,
            x.new_full([3, 2], -5, ())?,
            x.new_empty([4], ())?,
            x.new_zeros([4], ())?,
            x.new_ones([4], ())?,
        ];
        for tensor in &made {
            assert_eq!(tensor.device(), x.device());
        }
        for tensor in &made[1..] {
            assert_eq!(tensor.dtype(), DType::F64);
        }
        assert_eq!(made[1].to_vec::<f64>()?, [-5.0; 6]);
        assert_eq!(made[4].to_vec::<f64>()?, [1.0; 4]);
    }
    Ok(())
}

#[test]
pub(crate) fn s10_both_can_be_overridden() -> Result<()> {
    if !devices(2, s10_both_can_be_overridden) {
        return Ok(());
    }
    let x = Tensor::empty([2], (DType::F64, Device::cuda_at(1)))?;
    let y = x.new_zeros([2], (DType::I64, Device::Cpu))?;
    assert_eq!((y.dtype(), y.device()), (DType::I64, Device::Cpu));
    let z = x.new_full([2], 1, DType::F16)?;
    assert_eq!((z.dtype(), z.device()), (DType::F16, Device::cuda_at(1)));
    Ok(())
}

#[test]
pub(crate) fn s11_like_keeps_device_dtype_and_shape() -> Result<()> {
    for device in places() {
        let x = Tensor::empty([2, 3], (DType::F64, device))?;
        let _elsewhere = cuda::device(cuda::device_count() - 1)?;
        let made = [
            x.zeros_like()?,
            x.ones_like()?,
            x.full_like(0.25)?,
            x.empty_like()?,
            x.rand_like()?,
            x.randn_like()?,
        ];
        for y in &made {
            assert_eq!((y.device(), y.dtype(), y.shape()), (x.device(), x.dtype(), x.shape()));
        }
        assert_eq!(made[1].to_vec::<f64>()?, [1.0; 6]);
        assert_eq!(made[2].to_vec::<f64>()?, [0.25; 6]);
    }
    Ok(())
}

#[test]
pub(crate) fn s12_defaults_hold_for_a_scope() -> Result<()> {
    if !devices(3, s12_defaults_hold_for_a_scope) {
        return Ok(());
    }
    assert_eq!(Tensor::zeros([2], ())?.dtype(), DType::F32);
    tensor::with_default_dtype(DType::F64, || -> Result<()> {
        assert_eq!(Tensor::zeros([2], ())?.dtype(), DType::F64);
        assert_eq!(tensor![1.5]?.dtype(), DType::F64);
        Ok(())
    })??;
    assert_eq!(Tensor::zeros([2], ())?.dtype(), DType::F32);

    assert_eq!(Tensor::zeros([2], ())?.device(), Device::Cpu);
    tensor::with_default_device(Device::cuda_at(2), || -> Result<()> {
        assert_eq!(Tensor::zeros([2], ())?.device(), Device::cuda_at(2));
        assert_eq!(Tensor::zeros([2], Device::Cpu)?.device(), Device::Cpu);
        Ok(())
    })??;
    assert_eq!(Tensor::zeros([2], ())?.device(), Device::Cpu);
    Ok(())
}

#[test]
fn s12_defaults_can_be_set_by_a_call() {
    test_support::isolate(|| {
        tensor::set_default_dtype(DType::F64).expect("a floating dtype");
        tensor::set_default_device(Device::cuda_at(1)).expect("one of four");
        let x = Tensor::ones([2], ()).expect("made");
        assert_eq!((x.dtype(), x.device()), (DType::F64, Device::cuda_at(1)));
        assert!(tensor::set_default_dtype(DType::I64).is_err(), "not a floating dtype");
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
pub(crate) fn s12_everything_in_a_loop_is_cast_to_one_type_and_device() -> Result<()> {
    if !devices(2, s12_everything_in_a_loop_is_cast_to_one_type_and_device) {
        return Ok(());
    }
    let chosen = (DType::F16, Device::cuda_at(1));
    for x in [Tensor::ones([2], DType::F64)?, tensor![1, 1]?] {
        let x = x.to(chosen)?;
        assert_eq!((x.dtype(), x.device()), chosen);
        assert_eq!(x.to(DType::F32)?.to_vec::<f32>()?, [1.0, 1.0]);
    }
    Ok(())
}

#[test]
pub(crate) fn s13_printing_shows_values_device_and_dtype_as_pytorch_does() -> Result<()> {
    if !devices(3, s13_printing_shows_values_device_and_dtype_as_pytorch_does) {
        return Ok(());
    }
    let x = Tensor::new([[1.0, -2.5], [3.0, 1000.0]], Device::Cpu)?;
    let numbers = "tensor([[   1.0000,   -2.5000],\n        [   3.0000, 1000.0000]]";
    assert_eq!(x.to_string(), format!("{numbers})"));
    assert_eq!(x.to(Device::cuda_at(2))?.to_string(), format!("{numbers}, device='cuda:2')"));
    let y = Tensor::new([true, false], Device::cuda_at(0))?;
    assert_eq!(y.to_string(), "tensor([ True, False], device='cuda:0')");
    let z = Tensor::new([1.0], DType::F64)?;
    assert_eq!(z.to_string(), "tensor([1.], dtype=torch.float64)");
    Ok(())
}
