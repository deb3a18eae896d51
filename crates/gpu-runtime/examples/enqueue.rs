//! Enqueues so many launches, of a kernel that is given its memory by `address` or as `buffers`,
//! `alone` or with a race checker that looks on (`checked`): `cargo xtask instructions` counts what
//! that costs.
//!
//! ```sh
//! cargo run --release -p gpu-runtime --example enqueue -- 1000 buffers alone
//! ```

use std::env::args;

use gpu_runtime::{Device, DeviceBuffer, DriverChoice, LaunchConfig, RaceChecker, choose_driver};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = args().skip(1).collect();
    let [count, memory, company] = arguments.as_slice() else {
        return Err("usage: enqueue COUNT address|buffers alone|checked".into());
    };
    choose_driver(DriverChoice::Software { devices: Some(1) })?;
    let checker = (company == "checked").then(RaceChecker::start);
    let device = Device::get(0)?;
    let saxpy = device.load(include_str!("../../../kernels/ptx/saxpy.ptx"))?.function("saxpy")?;
    let stream = device.current_stream()?;
    let config = LaunchConfig::for_elements(1);
    let x = DeviceBuffer::<f32>::zeroed(&stream, 1)?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 1)?;
    for _ in 0..count.parse()? {
        match memory.as_str() {
            // SAFETY: the kernel takes (n, a, x, y), reads x[..n], and reads and writes y[..n];
            // everything is on one stream.
            "address" => unsafe {
                saxpy.launch(&stream, config, (1u64, 2.0f32, x.ptr(), y.ptr()))?;
            },
            // SAFETY: the kernel is the same one, and the buffers are as long.
            _ => unsafe { saxpy.launch(&stream, config, (1u64, 2.0f32, &x, &mut y))? },
        }
    }
    stream.synchronize()?;
    drop(checker);
    Ok(())
}
