//! Manual order: what the program forgets is its race on the device, and never the host's.

use cuda_sim::control::{Schedule, set_schedule};
use gpu_runtime::{DriverChoice, WaitMode, with_wait_mode};
use tensor::cuda::{self, Order, Stream};
use tensor::{Blocking, Device, Error, Result, Tensor};
use test_support::isolate;

use crate::devices::cuda_devices;
use crate::held::hold;

#[test]
fn the_host_reads_what_copies_of_several_streams_have_written_once_all_are_done() -> Result<()> {
    let device = cuda_devices()[0];
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let (ones, twos) = (Tensor::ones([1024], device)?, Tensor::full([1024], 2.0f32, device)?);
    let host = Tensor::zeros([1024], ())?.pin_memory()?;
    cuda::synchronize(device)?;
    let release = hold(&first)?;
    cuda::with_order(Order::Manual, || -> Result<()> {
        for (stream, source) in [(&first, &ones), (&second, &twos)] {
            let _in = stream.enter()?;
            host.copy_with(source, Blocking::No)?;
        }
        Ok(())
    })?;
    second.synchronize()?;
    // Whoever would have to wait is told so instead.
    let early = with_wait_mode(WaitMode::Fail, || host.read::<f32>().map(|guard| guard[0]));
    let is_refused = matches!(early, Err(Error::Runtime(gpu_runtime::Error::WaitRefused { .. })));
    assert!(is_refused, "the copy on the first stream still has to write: {early:?}");
    drop(release);
    assert_eq!(host.read::<f32>()?[..], [1.0; 1024], "the held copy comes last");
    Ok(())
}

/// What comes of a copy to another device that both current streams work with, under many schedules.
fn sums_of_copies() -> Result<Vec<f32>> {
    let [here, there] = [0, 1].map(Device::cuda_at);
    (0..50)
        .map(|seed| {
            set_schedule(&Schedule::Adversarial(seed)).expect("the driver is in use");
            cuda::with_order(Order::Manual, || {
                let x = Tensor::ones([1 << 12], here)?;
                let y = x.to(there)?;
                // What the sender is given next must not reach the copy.
                x.fill_(5.0)?;
                let twice = (&y + &y)?;
                // And what the receiver was given before must be done with what is overwritten.
                y.copy_(&x)?;
                (&twice.sum(())? + &y.sum(())?)?.item::<f32>()
            })
        })
        .collect()
}

#[test]
fn a_copy_between_devices_is_work_of_both_current_streams() {
    isolate(|| {
        gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(2) }).expect("the first");
        let sums = sums_of_copies().expect("the devices work");
        assert_eq!(sums, [7.0 * 4096.0; 50]);
    })
    // Without checks, which would report a race before its result is seen.
    .env("GPU_DRIVER", "software:2")
    .run();
}
