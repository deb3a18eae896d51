//! Copies between devices, dtypes and kinds of memory, and what they wait for.

use std::sync::{Arc, Mutex, mpsc};

use gpu_runtime::{HostWait, Observer, StreamId, observe};
use tensor::{Blocking, DType, Device, Error, Result, Tensor, cuda, keepdim, tensor};

use crate::devices::{cuda_devices, for_each_device, two_cuda_devices};
use crate::held::{hold, warm_up};

fn everywhere() -> Vec<Device> {
    std::iter::once(Device::Cpu).chain(cuda_devices()).collect()
}

#[test]
fn elements_arrive_from_every_device_on_every_other_whatever_their_layout() -> Result<()> {
    for source in everywhere() {
        let dense = Tensor::arange(24, source)?.reshape([4, 6])?;
        let layouts = [
            dense.clone(),
            dense.t()?,
            dense.slice(1, 1, 6, 2)?,
            dense.select(0, 2)?.expand([3, 6])?,
            dense.narrow(0, 0, 0)?,
        ];
        for x in &layouts {
            let expected = x.to_vec::<i64>()?;
            for target in everywhere() {
                for blocking in [Blocking::Yes, Blocking::No] {
                    let there = x.to_with(target, blocking)?;
                    assert_eq!((there.device(), there.shape()), (target, x.shape()));
                    assert_eq!(there.to_vec::<i64>()?, expected, "{source} to {target}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_copy_converts_and_broadcasts_into_any_layout() -> Result<()> {
    for source in everywhere() {
        for target in everywhere() {
            let row = Tensor::new([1.0f64, 2.5, -3.0], source)?;
            let columns = Tensor::zeros([3, 2], (DType::I64, target))?;
            columns.t()?.copy_(&row)?;
            let expected = [1, 1, 2, 2, -3, -3];
            assert_eq!(columns.to_vec::<i64>()?, expected, "{source} to {target}");
        }
    }
    Ok(())
}

#[test]
fn both_a_device_and_a_dtype_can_be_asked_for() -> Result<()> {
    for target in everywhere() {
        let x = tensor![1.5, 0.0]?.to((DType::Bool, target))?;
        assert_eq!((x.dtype(), x.device()), (DType::Bool, target));
        assert_eq!(x.to_vec::<bool>()?, [true, false]);
    }
    Ok(())
}

#[test]
fn what_is_there_already_is_not_copied() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([1.0f32], device)?;
        assert!(x.to(device)?.shares_memory_with(&x));
        assert!(x.to(DType::F32)?.shares_memory_with(&x));
        assert!(!x.clone_data()?.shares_memory_with(&x));
        assert!(x.contiguous()?.shares_memory_with(&x));
        Ok(())
    })
}

#[test]
fn overlapping_parts_of_one_tensor_are_copied_as_if_apart() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::arange(5, device)?;
        x.narrow(0, 1, 4)?.copy_(&x.narrow(0, 0, 4)?)?;
        assert_eq!(x.to_vec::<i64>()?, [0, 0, 1, 2, 3]);
        let y = Tensor::arange(4, device)?;
        y.narrow(0, 0, 3)?.add_(&y.narrow(0, 1, 3)?)?;
        assert_eq!(y.to_vec::<i64>()?, [1, 3, 5, 3]);
        Ok(())
    })
}

#[test]
fn a_copy_that_does_not_fit_names_both_shapes() -> Result<()> {
    for target in everywhere() {
        let x = Tensor::zeros([2, 3], target)?;
        let text = x.copy_(&tensor![1.0, 2.0]?).expect_err("2 is not 3").to_string();
        assert!(text.contains("[2, 3]") && text.contains("[2]"), "{text}");
        assert!(x.select(0, 0)?.copy_(&x).is_err(), "the target is not broadcast");
    }
    Ok(())
}

#[test]
fn a_copy_from_pinned_memory_returns_before_it_is_done() -> Result<()> {
    let device = cuda_devices()[0];
    let side = cuda::Stream::new(device)?;
    let pinned = tensor![1.0, 2.0, 3.0]?.pin_memory()?;
    assert!(pinned.is_pinned() && pinned.device() == Device::Cpu);
    let release = hold(&side)?;
    let there = {
        let _in = side.enter()?;
        pinned.to_with(device, Blocking::No)?
    };
    assert!(!side.query()?, "the copy is held back, and the call returned");
    drop(release);
    assert_eq!(there.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    Ok(())
}

#[test]
fn writing_the_source_of_a_copy_under_way_waits_for_it() -> Result<()> {
    let device = cuda_devices()[0];
    let side = cuda::Stream::new(device)?;
    let pinned = tensor![1.0, 2.0]?.pin_memory()?;
    let release = hold(&side)?;
    let there = {
        let _in = side.enter()?;
        pinned.to_with(device, Blocking::No)?
    };
    let writer = std::thread::spawn({
        let pinned = pinned.clone();
        move || pinned.fill_(9.0)
    });
    drop(release);
    writer.join().expect("it ends")?;
    assert_eq!(there.to_vec::<f32>()?, [1.0, 2.0]);
    assert_eq!(pinned.to_vec::<f32>()?, [9.0, 9.0]);
    Ok(())
}

#[test]
fn both_ends_of_a_copy_under_way_may_be_dropped() -> Result<()> {
    let device = cuda_devices()[0];
    let side = cuda::Stream::new(device)?;
    let release = hold(&side)?;
    {
        let _in = side.enter()?;
        let pinned = tensor![1.0, 2.0]?.pin_memory()?;
        let there = pinned.to_with(device, Blocking::No)?;
        drop(pinned);
        // Memory of the same size, which must not be what the copy still reads.
        tensor![5.0, 5.0]?.pin_memory()?;
        let back = there.to_host_async()?;
        drop(there);
        assert!(!back.is_ready()?);
        drop(release);
        assert_eq!(back.wait()?.to_vec::<f32>()?, [1.0, 2.0]);
    }
    Ok(())
}

#[test]
fn reading_the_target_of_a_copy_under_way_waits_for_it() -> Result<()> {
    let device = cuda_devices()[0];
    let side = cuda::Stream::new(device)?;
    let x = Tensor::new([4.0f32, 5.0], device)?;
    let release = hold(&side)?;
    let back = {
        let _in = side.enter()?;
        x.to_with(Device::Cpu, Blocking::No)?
    };
    assert!(back.is_pinned(), "only page-locked memory can be written later");
    let reader = std::thread::spawn({
        let back = back.clone();
        move || Ok::<_, Error>(back.read::<f32>()?.to_vec())
    });
    let sum = std::thread::spawn(move || back.sum(())?.item::<f32>());
    drop(release);
    assert_eq!(reader.join().expect("it ends")?, [4.0, 5.0]);
    assert_eq!(sum.join().expect("it ends")?, 9.0);
    Ok(())
}

#[test]
fn a_copy_from_ordinary_memory_is_done_when_it_returns() -> Result<()> {
    let device = cuda_devices()[0];
    let x = tensor![1.0, 2.0]?;
    let there = x.to_with(device, Blocking::No)?;
    x.fill_(0.0)?;
    assert_eq!(there.to_vec::<f32>()?, [1.0, 2.0]);
    let back = tensor![0.0, 0.0]?;
    back.copy_with(&there, Blocking::No)?;
    assert_eq!(back.to_vec::<f32>()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn a_copy_between_devices_comes_after_the_work_on_both() -> Result<()> {
    let Some([first, second]) = two_cuda_devices("a_copy_between_devices") else { return Ok(()) };
    let (side, other) = (cuda::Stream::new(first)?, cuda::Stream::new(second)?);
    let (x, y) = (Tensor::zeros([4], first)?, Tensor::zeros([4], second)?);
    let (release_side, release_other) = (hold(&side)?, hold(&other)?);
    {
        let _in = side.enter()?;
        x.fill_(1.0)?;
        let _in = other.enter()?;
        y.fill_(2.0)?;
    }
    // On the default streams: after the first fill it reads, and after the second it overwrites.
    y.copy_(&x)?;
    y.add_(1.0)?;
    drop(release_other);
    drop(release_side);
    assert_eq!(y.to_vec::<f32>()?, [2.0; 4]);
    Ok(())
}

#[test]
fn pinning_is_for_the_cpu() -> Result<()> {
    let pinned = Tensor::zeros([2, 3], DType::F32)?.t()?.pin_memory()?;
    assert!(pinned.is_pinned() && pinned.is_contiguous());
    assert!(pinned.pin_memory()?.shares_memory_with(&pinned));
    let there = Tensor::zeros([2], cuda_devices()[0])?;
    assert!(matches!(there.pin_memory(), Err(Error::NotOnHost { op: "pin_memory", .. })));
    Ok(())
}

/// Tells when the host waits for a stream.
struct Waits {
    stream: StreamId,
    begun: Mutex<mpsc::Sender<()>>,
}

impl Observer for Waits {
    fn waiting(&self, wait: &HostWait<'_>) {
        if wait.awaits.iter().any(|awaited| awaited.stream == self.stream) {
            let _nobody_waits = self.begun.lock().expect("no panic").send(());
        }
    }
}

#[test]
fn who_waits_for_a_copy_to_the_host_keeps_no_other_thread_from_using_the_tensor() -> Result<()> {
    let device = cuda_devices()[0];
    let (stream, side) = (cuda::Stream::new(device)?, cuda::Stream::new(device)?);
    let (begun, waits) = mpsc::channel();
    let observer = Arc::new(Waits { stream: stream.id(), begun: Mutex::new(begun) });
    let _entered = stream.enter()?;
    let x = Tensor::ones([1000], device)?;
    warm_up(device, || x.add(1.0)?.to_vec::<f32>())?;
    let _observation = observe(observer);
    let release = hold(&stream)?;
    std::thread::scope(|scope| {
        let (x, side) = (&x, &side);
        let other = scope.spawn(move || {
            waits.recv().expect("the copy is waited for");
            let _entered = side.enter()?;
            let enqueued = x.add(1.0);
            drop(release);
            enqueued?.to_vec::<f32>()
        });
        let copied = x.to_vec::<f32>()?;
        assert_eq!(copied, vec![1.0; 1000]);
        assert_eq!(other.join().expect("no panic")?, vec![2.0; 1000]);
        Ok(())
    })
}

#[test]
fn results_that_are_no_views_have_memory_of_their_own() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::ones([1, 1], (DType::F64, device))?;
        let index = Tensor::zeros([1, 1], (DType::I64, device))?;
        let results = [
            x.cumsum(0)?,
            x.cumprod(1)?,
            x.logcumsumexp(0)?,
            x.cummax(0)?.0,
            x.cummin(1)?.0,
            x.sum(())?,
            x.sum(keepdim(0))?,
            x.mean(0)?,
            x.prod(keepdim(0))?,
            x.amax(keepdim(0))?,
            x.max_dim(keepdim(0))?.0,
            x.norm(2.0, keepdim(0))?,
            x.logsumexp(keepdim(0))?,
            x.nansum(keepdim(0))?,
            x.softmax(0)?,
            x.log_softmax(1)?,
            x.matmul(&x)?,
            x.flip(())?,
            x.roll(1, 0)?,
            x.repeat([1, 1])?,
            x.tile([1])?,
            x.tril(0)?,
            Tensor::cat([&x], 0)?,
            Tensor::stack([&x], 0)?,
            x.gather(0, &index)?,
            x.take(&index)?,
            x.index_select(0, &index.flatten()?)?,
            x.masked_fill(&x.lt(0.0)?, 0.0)?,
            x.clone_data()?,
            x.relu()?,
        ];
        for (number, result) in results.iter().enumerate() {
            assert!(!result.shares_memory_with(&x), "result {number} on {device}");
        }
        Ok(())
    })
}
