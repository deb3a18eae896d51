//! Collective operations: their plans, and on software GPUs.

mod faults;
mod interpreter;
mod lists;
mod plans;
mod pytorch;
mod steered;
mod threads;

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_runtime::DriverChoice;
use tensor::Device;

/// Chooses eight software GPUs, with every access of a kernel checked. The first so many of them.
fn devices(count: usize) -> Vec<Device> {
    configure(Config { devices: 8, check: CheckKinds::ALL, ..Config::default() })
        .expect("as before");
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
        .expect("the software driver with eight devices");
    (0..count).map(Device::cuda_at).collect()
}
