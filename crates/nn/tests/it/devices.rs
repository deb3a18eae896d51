//! Where the tests run.

use gpu_runtime::DriverChoice;
use tensor::Device;

/// The CPU and two of four software GPUs.
pub(crate) fn all() -> [Device; 3] {
    gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(4) })
        .expect("the software driver with four devices");
    [Device::Cpu, Device::cuda_at(0), Device::cuda_at(2)]
}
