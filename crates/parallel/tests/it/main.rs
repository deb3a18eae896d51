//! The loader, `DataParallel`, and the digits job, on the CPU and on software GPUs.

mod data_parallel;
mod digits;
mod loader;
mod loader_failures;

use gpu_runtime::DriverChoice;

/// Chooses four software GPUs.
fn four_devices() {
    gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(4) })
        .expect("the software driver with four devices");
}
