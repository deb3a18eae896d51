//! Overlap of copies with computation, as figures: S26.

use cuda_sim::control::{self, Config, KernelWork, Time, TimeModel, configure};
use gpu_runtime::{DriverChoice, Overlap, Timeline};
use semantics::DEVICES;
use tensor::cuda::Stream;
use tensor::{Blocking, Device, Result, Tensor};
use test_support::isolate;

const ELEMENTS: usize = 1 << 20;
const BATCHES: usize = 40;

/// Moves batches to a device on a side stream, without blocking, and adds on the current one.
fn load_and_add(index: usize, batches: &[Tensor]) -> Result<Overlap> {
    let (device, physical) = (Device::cuda_at(index), gpu_runtime::Device::get(index)?);
    let side = Stream::new(device)?;
    let timeline = Timeline::start([physical])?;
    for batch in batches {
        let moved = {
            let _in = side.enter()?;
            batch.to_with(device, Blocking::No)?
        };
        let _sum = (&moved + &moved)?;
    }
    Ok(timeline.finish()?.overlap(physical))
}

#[test]
fn s26_a_non_blocking_copy_from_pinned_memory_overlaps_with_computation() {
    isolate(|| {
        let model = TimeModel::H200;
        let time = Time::Virtual(model.clone());
        configure(Config { devices: DEVICES as u32, time, ..Config::default() })
            .expect("nothing is in use");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
            .expect("nothing else is in use");
        // As long as the copy of a batch.
        let bytes = 4 * ELEMENTS as u64 * model.memory / model.pinned;
        control::declare_kernel("add_f32", move |_, _, _| KernelWork { bytes, instructions: 0 });

        let batch = Tensor::ones([ELEMENTS], ()).expect("memory");
        let pinned = batch.pin_memory().expect("page-locked memory");
        for device in 0..DEVICES {
            // The first round loads the kernel and takes memory from the driver.
            load_and_add(device, &vec![pinned.clone(); 2]).expect("it works");
            let overlap = load_and_add(device, &vec![pinned.clone(); BATCHES]).expect("it works");
            assert!(overlap.efficiency() >= Some(0.95), "{overlap}");
            assert!(overlap.hidden() >= Some(0.95), "{overlap}");
            let overlap = load_and_add(device, &vec![batch.clone(); BATCHES]).expect("it works");
            assert_eq!(overlap.hidden(), Some(0.0), "it is serial: {overlap}");
        }
    })
    .run();
}
