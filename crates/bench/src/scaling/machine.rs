//! The machine in whose virtual time steps are measured: H200s behind one switch.

use std::time::Duration;

use cuda_sim::control::{self, Config, KernelWork, Time, TimeModel};
use gpu_runtime::DriverChoice;

use crate::error::Result;

/// Chooses so many devices, which are slower by `scale` in all that depends on a tensor's size, since
/// tensors are smaller by it. `call` is what each call of the driver costs the host.
///
/// # Errors
/// The driver is in use already.
pub(super) fn choose(devices: usize, scale: usize, call: Duration) -> Result<()> {
    let model = scaled(scale as u64, call);
    let instructions = model.instructions;
    let config = Config {
        devices: devices as u32,
        memory_per_device: 4 << 30,
        time: Time::Virtual(model),
        ..Config::default()
    };
    control::configure(config)?;
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None })?;
    let declared = move |_: [u32; 3], _: [u32; 3], parameters: &[u8]| {
        let nanoseconds = parameters.first_chunk().copied().map_or(0, u64::from_le_bytes);
        let work = u128::from(nanoseconds) * u128::from(instructions) / 1_000_000_000;
        KernelWork { bytes: 0, instructions: work as u64 }
    };
    for kernel in ["forward", "backward"] {
        control::declare_kernel(kernel, declared);
    }
    Ok(())
}

/// The model of an H200 with all bandwidths divided.
fn scaled(scale: u64, call: Duration) -> TimeModel {
    let TimeModel { pinned, pageable, host_copy, port, memory, instructions, .. } = TimeModel::H200;
    TimeModel {
        call: call.as_nanos() as u64,
        pinned: pinned / scale,
        pageable: pageable / scale,
        host_copy: host_copy / scale,
        port: port / scale,
        memory: memory / scale,
        instructions: instructions / scale,
        ..TimeModel::H200
    }
}
