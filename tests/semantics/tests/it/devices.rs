//! Devices: S01 to S05, S07, S08.

use semantics::{choose_driver, devices, last_device};
use tensor::{DType, Device, Error, Result, Tensor, cuda, tensor};
use test_support::isolate;

const CUDA: Device = Device::cuda();

fn on(index: usize) -> Device {
    Device::cuda_at(index)
}

#[test]
pub(crate) fn s01_a_new_thread_begins_on_device_zero() -> Result<()> {
    if !devices(3, s01_a_new_thread_begins_on_device_zero) {
        return Ok(());
    }
    let _guard = cuda::device(2)?;
    let in_thread = || -> Result<(usize, Device)> {
        Ok((cuda::current_device()?, Tensor::zeros([2], CUDA)?.device()))
    };
    let seen = std::thread::scope(|scope| scope.spawn(in_thread).join().expect("the thread ends"))?;
    assert_eq!(seen, (0, on(0)));
    Ok(())
}

#[test]
pub(crate) fn s01_tensors_on_cuda_without_an_index_land_on_the_current_device() -> Result<()> {
    if !devices(4, s01_tensors_on_cuda_without_an_index_land_on_the_current_device) {
        return Ok(());
    }
    assert_eq!(Tensor::zeros([2], CUDA)?.device(), on(0));
    cuda::with_device(3, || {
        assert_eq!(Tensor::zeros([2], CUDA)?.device(), on(3));
        assert_eq!(tensor![1.0, 2.0]?.cuda()?.device(), on(3));
        Ok(())
    })?
}

#[test]
pub(crate) fn s02_guards_nest_and_restore() -> Result<()> {
    if !devices(3, s02_guards_nest_and_restore) {
        return Ok(());
    }
    {
        let _one = cuda::device(1)?;
        assert_eq!(cuda::current_device()?, 1);
        {
            let _two = cuda::device(2)?;
            assert_eq!(cuda::current_device()?, 2);
        }
        assert_eq!(cuda::current_device()?, 1);
    }
    assert_eq!(cuda::current_device()?, 0);
    Ok(())
}

#[test]
pub(crate) fn s02_a_guard_restores_on_early_return_and_on_panic() -> Result<()> {
    if !devices(3, s02_a_guard_restores_on_early_return_and_on_panic) {
        return Ok(());
    }
    fn fails() -> Result<()> {
        let _guard = cuda::device(1)?;
        Tensor::zeros([2], CUDA)?.view([3])?;
        Ok(())
    }
    assert!(fails().is_err());
    assert_eq!(cuda::current_device()?, 0);

    let panicked = std::panic::catch_unwind(|| {
        let _guard = cuda::device(2).expect("device 2 exists");
        panic!("on purpose");
    });
    assert!(panicked.is_err());
    assert_eq!(cuda::current_device()?, 0);
    Ok(())
}

#[test]
fn s02_a_device_out_of_range_is_an_error_that_says_how_many_there_are() {
    choose_driver();
    let count = cuda::device_count();
    let error = cuda::device(count).expect_err("devices are counted from 0").to_string();
    assert!(error.contains(&count.to_string()), "{error}");
    assert!(Tensor::zeros([2], on(17)).is_err());
    assert!(tensor![1.0].and_then(|x| x.to(on(17))).is_err());
}

#[test]
pub(crate) fn s03_operation_runs_on_the_operands_device() -> Result<()> {
    if !devices(2, s03_operation_runs_on_the_operands_device) {
        return Ok(());
    }
    let x = Tensor::new([1.0, 2.0], on(0))?;
    let y = Tensor::new([3.0, 4.0], on(0))?;
    let _one = cuda::device(1)?;
    let z = (&x + &y)?;
    assert_eq!(z.device(), on(0));
    assert_eq!(z.to_vec::<f32>()?, [4.0, 6.0]);
    assert_eq!(z.exp()?.sum(())?.device(), on(0));
    assert_eq!(cuda::current_device()?, 1);
    Ok(())
}

#[test]
pub(crate) fn s04_an_index_overrides_the_selection() -> Result<()> {
    if !devices(4, s04_an_index_overrides_the_selection) {
        return Ok(());
    }
    let _one = cuda::device(1)?;
    let x = tensor![1.0, 2.0]?;
    assert_eq!(x.cuda()?.device(), on(1));
    assert_eq!(x.cuda_at(2)?.device(), on(2));
    assert_eq!(x.to(on(3))?.device(), on(3));
    assert_eq!(Tensor::randn([2], on(2))?.device(), on(2));
    // `.cuda()` goes to the current device, so it moves a tensor that lies elsewhere.
    assert_eq!(x.cuda_at(0)?.cuda()?.device(), on(1));
    Ok(())
}

#[test]
pub(crate) fn s05_operands_on_two_devices_are_an_error_that_names_them() -> Result<()> {
    if !devices(2, s05_operands_on_two_devices_are_an_error_that_names_them) {
        return Ok(());
    }
    let a = Tensor::ones([2], on(1))?;
    let x = Tensor::ones([2], on(0))?;
    let error = (&a + &x).expect_err("two devices");
    assert!(matches!(error, Error::DeviceMismatch { .. }), "{error:?}");
    let text = error.to_string();
    for part in ["add", "self", "cuda:1", "other", "cuda:0"] {
        assert!(text.contains(part), "{text:?} does not name {part:?}");
    }
    let cpu = Tensor::ones([2], Device::Cpu)?;
    let text = a.matmul(&cpu).expect_err("CUDA and the CPU").to_string();
    assert!(text.contains("matmul") && text.contains("cpu"), "{text}");
    Ok(())
}

#[test]
pub(crate) fn s05_copies_cross_devices() -> Result<()> {
    if !devices(3, s05_copies_cross_devices) {
        return Ok(());
    }
    let source = Tensor::new([1.0, 2.0, 3.0], on(1))?;
    for target in [Device::Cpu, on(0), on(1), on(2)] {
        let copy = Tensor::zeros([3], target)?;
        copy.copy_(&source)?;
        assert_eq!(copy.to_vec::<f32>()?, [1.0, 2.0, 3.0], "to {target}");
        assert_eq!(source.to(target)?.device(), target);
    }
    Ok(())
}

#[test]
pub(crate) fn s05_a_zero_dimensional_cpu_tensor_acts_as_a_scalar() -> Result<()> {
    choose_driver();
    let x = Tensor::new([1.0, 2.0], last_device())?;
    let two = Tensor::scalar(2.0, DType::F32)?;
    assert_eq!((&x * &two)?.to_vec::<f32>()?, [2.0, 4.0]);
    assert_eq!((&two - &x)?.device(), last_device());
    let zero_dim_cuda = Tensor::scalar(2.0, (DType::F32, last_device()))?;
    let cpu = Tensor::ones([2], Device::Cpu)?;
    assert!((&cpu + &zero_dim_cuda).is_err(), "a 0-dim CUDA tensor does not join a CPU operation");
    Ok(())
}

#[test]
fn s06_with_peer_access_an_operation_reads_a_peers_tensor() {
    isolate(|| {
        let here = Tensor::new([1.0, 2.0], on(0)).expect("made");
        let there = Tensor::new([10.0, 20.0], on(1)).expect("made");
        assert!((&here + &there).is_err(), "off by default");
        cuda::enable_peer_access(on(0), on(1)).expect("software devices are all peers");
        let sum = (&here + &there).expect("the first operand's device reads its peer");
        assert_eq!(sum.device(), on(0));
        assert_eq!(sum.to_vec::<f32>().expect("values"), [11.0, 22.0]);
        assert!((&there + &here).is_err(), "access is given in one direction");
        cuda::disable_peer_access(on(0), on(1)).expect("it was on");
        assert!((&here + &there).is_err());
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s07_visible_devices_selects_and_reorders() {
    isolate(|| {
        assert_eq!(cuda::device_count(), 2);
        let third = cuda::get_device_properties(0).expect("the first visible device");
        let first = cuda::get_device_properties(1).expect("the second visible device");
        assert!(third.name.ends_with('2') && first.name.ends_with('0'), "{third:?} {first:?}");
    })
    .env("CUDA_VISIBLE_DEVICES", "2,0")
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s07_the_list_ends_at_the_first_invalid_entry() {
    isolate(|| assert_eq!(cuda::device_count(), 1))
        .env("CUDA_VISIBLE_DEVICES", "1,9,0")
        .env("GPU_DRIVER", "software:4")
        .run();
}

#[test]
fn s07_an_empty_list_leaves_no_device() {
    isolate(|| {
        assert_eq!(cuda::device_count(), 0);
        assert!(!cuda::is_available());
    })
    .env("CUDA_VISIBLE_DEVICES", "")
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s08_questions_about_devices_cost_no_context() {
    isolate(|| {
        assert!(cuda::is_available());
        assert_eq!(cuda::device_count(), 4);
        assert_eq!(cuda::current_device().expect("a device"), 0);
        let properties = cuda::get_device_properties(3).expect("the fourth device");
        assert!(properties.total_memory > 0);
        assert!(cuda::get_device_properties(4).is_err());
        for index in 0..4 {
            let device = gpu_runtime::Device::get(index).expect("one of four");
            assert!(!device.has_context().expect("a question"), "device {index} has a context");
        }
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s08_without_a_driver_nothing_is_available_and_the_reason_is_told() {
    isolate(|| {
        if cuda::is_available() {
            return test_support::skipped("s08_without_a_driver", "there is a GPU here");
        }
        assert_eq!(cuda::device_count(), 0);
        let error = Tensor::zeros([2], CUDA).expect_err("there is no GPU").to_string();
        assert!(error.contains("libcuda"), "{error}");
        assert!(error.contains("GPU_DRIVER=software"), "no way out in {error:?}");
    })
    .env_remove("GPU_DRIVER")
    .run();
}

#[test]
pub(crate) fn s08_get_device_is_minus_one_on_the_cpu() -> Result<()> {
    choose_driver();
    assert_eq!(Tensor::zeros([2], Device::Cpu)?.get_device(), -1);
    let last = cuda::device_count() as i64 - 1;
    assert_eq!(Tensor::zeros([2], last_device())?.get_device(), last);
    Ok(())
}
