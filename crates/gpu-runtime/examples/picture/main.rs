//! Draws two timelines: a pipeline that loads batches while it computes, from page-locked memory
//! and from pageable memory.
//!
//! ```sh
//! cargo run -p gpu-runtime --example picture > docs/pictures/prefetching.svg
//! ```
//!
//! The device is a software one with the times of an H200, so the picture is the same on every
//! machine.
#![allow(clippy::print_stdout, reason = "the picture is the output")]

mod svg;

use cuda_sim::control::{Config, KernelWork, Time, TimeModel, configure, declare_kernel};
use gpu_runtime::{
    Device, DeviceBuffer, DriverChoice, Function, LaunchConfig, PinnedBuffer, Result, Stream,
    Timeline, Trace, choose_driver, range,
};

const BATCHES: usize = 6;
const ELEMENTS: usize = 1 << 20;
const BYTES: usize = ELEMENTS * size_of::<f32>();

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let time = Time::Virtual(TimeModel::H200);
    configure(Config { devices: 1, time, ..Config::default() })?;
    choose_driver(DriverChoice::Software { devices: None })?;
    // So long as a batch takes to come from page-locked memory.
    declare_kernel("saxpy", |_, _, _| {
        let bytes = BYTES as u64 * TimeModel::H200.memory / TimeModel::H200.pinned;
        KernelWork { bytes, instructions: 0 }
    });
    let device = Device::get(0)?;
    let saxpy = device.load(include_str!("../../../../kernels/ptx/saxpy.ptx"))?;
    let saxpy = saxpy.function("saxpy")?;

    let mut batches =
        (0..BATCHES).map(|_| PinnedBuffer::<f32>::zeroed(ELEMENTS)).collect::<Result<Vec<_>>>()?;
    // What is copied is kept until then.
    let mut on_their_way = Vec::new();
    let pinned = pipeline(device, &saxpy, |copies| {
        let batch = batches.pop().expect("there is one for each step");
        let (batch, pending) = copies.copy_htod_pinned(batch)?;
        on_their_way.push(pending);
        Ok(batch)
    })?;
    let pageable = vec![0.0f32; ELEMENTS];
    let serial = pipeline(device, &saxpy, |copies| copies.copy_htod(&pageable))?;
    let panels = [
        ("from page-locked memory, in order by default", &pinned),
        ("from pageable memory: the same program", &serial),
    ];
    print!("{}", svg::draw(device, &panels));
    Ok(())
}

/// Loads each batch on one stream and computes with it on another. That the kernel waits for its
/// batch, and for nothing else, is the runtime's affair.
fn pipeline(
    device: Device,
    saxpy: &Function,
    mut load: impl FnMut(&Stream) -> Result<DeviceBuffer<f32>>,
) -> Result<Trace> {
    let (copies, kernels) = (Stream::new(device)?, Stream::new(device)?);
    let mut sum = DeviceBuffer::<f32>::zeroed(&kernels, ELEMENTS)?;
    kernels.synchronize()?;
    let timeline = Timeline::start([device])?;
    for step in 1..=BATCHES {
        let _step = range(&format!("step {step}"));
        let batch = load(&copies)?;
        let config = LaunchConfig::for_elements(ELEMENTS);
        // SAFETY: the kernel takes (n, a, x, y), reads x[..n], and reads and writes y[..n].
        unsafe {
            saxpy.launch(&kernels, config, (ELEMENTS as u64, 1.0f32, &batch, &mut sum))?;
        }
    }
    timeline.finish()
}
