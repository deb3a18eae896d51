//! The devices that tests run on: the CPU, and two of four software GPUs.

use gpu_runtime::{DriverChoice, choose_driver};
use tensor::{Device, Result};

/// Runs the body on the CPU and on each of [`cuda_devices`].
pub(crate) fn for_each_device(body: impl Fn(Device) -> Result<()>) -> Result<()> {
    let cuda = cuda_devices();
    std::iter::once(Device::Cpu).chain(cuda).try_for_each(body)
}

/// Two CUDA devices of the software driver.
pub(crate) fn cuda_devices() -> [Device; 2] {
    choose_driver(DriverChoice::Software { devices: Some(4) })
        .expect("no test of this binary chooses another driver");
    [Device::cuda_at(0), Device::cuda_at(1)]
}
