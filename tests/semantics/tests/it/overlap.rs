//! Overlap of copies with computation, as figures: S26.

use cuda_sim::control::{Config, Time, TimeModel, configure};
use gpu_runtime::{DriverChoice, Overlap, Timeline};
use semantics::DEVICES;
use tensor::cuda::Stream;
use tensor::{Blocking, Device, Result, Tensor};
use test_support::isolate;

const ELEMENTS: usize = 1 << 20;
const BATCHES: usize = 60;
/// What is computed with each batch, at the cost that the driver counts for these kernels: a fifth of
/// the copy's. With many more, the host's calls would take longer than the copies.
const ADDITIONS: usize = 8;

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
        (0..ADDITIONS).try_for_each(|_| (&moved + &moved).map(drop))?;
    }
    Ok(timeline.finish()?.overlap(physical))
}

#[test]
fn s26_a_non_blocking_copy_from_pinned_memory_overlaps_with_computation() {
    isolate(|| {
        let time = Time::Virtual(TimeModel::H200);
        configure(Config { devices: DEVICES as u32, time, ..Config::default() })
            .expect("nothing is in use");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
            .expect("nothing else is in use");
        let batch = Tensor::ones([ELEMENTS], ()).expect("memory");
        let pinned = batch.pin_memory().expect("page-locked memory");
        for device in [0, DEVICES - 1] {
            // The first round loads the kernel and takes memory from the driver.
            load_and_add(device, &vec![pinned.clone(); 2]).expect("it works");
            let overlap = load_and_add(device, &vec![pinned.clone(); BATCHES]).expect("it works");
            assert!(overlap.efficiency() >= Some(0.95), "{overlap}");
            assert!(overlap.hidden() >= Some(0.95), "{overlap}");
            let least = overlap.copying / 6..overlap.copying;
            assert!(least.contains(&overlap.computing), "there is something to hide: {overlap}");
            let overlap = load_and_add(device, &vec![batch.clone(); BATCHES]).expect("it works");
            assert_eq!(overlap.hidden(), Some(0.0), "it is serial: {overlap}");
        }
    })
    .steers_software_driver()
    .run();
}
