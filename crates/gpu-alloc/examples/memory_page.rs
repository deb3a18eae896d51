//! A small model of a training run with batches of growing length, until the device is full; then
//! writes its memory as a page to look at.
//!
//! ```sh
//! cargo run --release -p gpu-alloc --example memory_page -- memory.html
//! ```

#![allow(clippy::print_stdout, reason = "it says where the page is")]

use std::error::Error;
use std::time::Duration;

use gpu_alloc::{
    DeviceMemory, allocate, memory_snapshot, memory_tag, record_memory_history,
    set_per_process_memory_fraction,
};
use gpu_runtime::{Device, DriverChoice, Stream};

const MIB: usize = 1 << 20;
const LAYERS: usize = 12;

/// The memory that stays: weights, and the optimizer's two moments of each.
fn weights(device: Device, stream: &Stream) -> gpu_alloc::Result<Vec<DeviceMemory>> {
    let layer = |index: usize| allocate(device, (12 + index % 3) * MIB, stream);
    let _tag = memory_tag("weights");
    (0..LAYERS).map(layer).collect()
}

fn optimizer(device: Device, stream: &Stream) -> gpu_alloc::Result<Vec<DeviceMemory>> {
    let _tag = memory_tag("optimizer");
    (0..LAYERS).map(|index| allocate(device, 2 * (12 + index % 3) * MIB, stream)).collect()
}

/// One layer's results: what the backward pass needs, and temporaries that end with it.
fn forward(device: Device, stream: &Stream, length: usize) -> gpu_alloc::Result<[DeviceMemory; 3]> {
    let _tag = memory_tag("activations");
    let attention = allocate(device, length * length * 8, stream)?;
    let scores = allocate(device, length * length * 8, stream)?;
    let hidden = allocate(device, length * 5000, stream)?;
    drop(attention);
    Ok([scores, hidden, allocate(device, length * 4, stream)?])
}

fn gradient(device: Device, stream: &Stream, layer: usize) -> gpu_alloc::Result<DeviceMemory> {
    let _tag = memory_tag("gradients");
    allocate(device, (12 + layer % 3) * MIB, stream)
}

fn step(device: Device, main: &Stream, side: &Stream, length: usize) -> gpu_alloc::Result<()> {
    let batch = allocate(device, length * 6000, side)?;
    let mut kept = Vec::new();
    for _ in 0..LAYERS {
        kept.push(forward(device, main, length)?);
    }
    // The main stream works with the batch that the side stream has loaded.
    main.add_callback(|| std::thread::sleep(Duration::from_millis(1)))?;
    batch.record_stream(main);
    drop(batch);
    let mut gradients = Vec::new();
    for layer in (0..LAYERS).rev() {
        gradients.push(gradient(device, main, layer)?);
        kept.pop();
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "memory.html".to_owned());
    gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
    let device = Device::get(0)?;
    let (main, side) = (device.default_stream()?, Stream::new(device)?);
    let fraction = (800 * MIB) as f64 / device.memory_info()?.total as f64;
    set_per_process_memory_fraction(fraction, device)?;
    record_memory_history(Some(100_000));
    let _weights = weights(device, &main)?;
    let _optimizer = optimizer(device, &main)?;
    for number in 0_usize.. {
        let length = 500 + number * 17 + number * 7919 % 23 * 25;
        if let Err(error) = step(device, &main, &side, length) {
            println!("step {number}: {error}");
            break;
        }
    }
    memory_snapshot().write_html(&path)?;
    println!("the page is {path}");
    Ok(())
}
