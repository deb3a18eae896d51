//! The devices that tests run on: the CPU, and the first two CUDA devices.
//!
//! They are those of the software driver, four in all, with every access of a kernel checked; or of the driver that `GPU_DRIVER` names, so
//! `GPU_DRIVER=nvidia cargo test -p tensor` runs the same tests on real GPUs.

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_runtime::{DriverChoice, choose_driver};
use tensor::{Device, Result, cuda};

/// Runs the body on the CPU and on each of [`cuda_devices`].
pub(crate) fn for_each_device(body: impl Fn(Device) -> Result<()>) -> Result<()> {
    std::iter::once(Device::Cpu).chain(cuda_devices()).try_for_each(body)
}

/// Runs the body on the CPU and on one CUDA device: for tests of what is computed, to which all CUDA
/// devices are alike. It is not the current one, if there are two.
pub(crate) fn for_each_kind(body: impl Fn(Device) -> Result<()>) -> Result<()> {
    std::iter::once(Device::Cpu).chain(cuda_devices().last().copied()).try_for_each(body)
}

/// The first two CUDA devices, or the only one.
pub(crate) fn cuda_devices() -> Vec<Device> {
    if std::env::var_os("GPU_DRIVER").is_none() {
        configure(Config { devices: 4, check: CheckKinds::ALL, ..Config::default() })
            .expect("as before");
        choose_driver(DriverChoice::Software { devices: None })
            .expect("no test of this binary chooses another driver");
    }
    assert!(cuda::is_available(), "the driver that GPU_DRIVER names has no device");
    (0..cuda::device_count().min(2)).map(Device::cuda_at).collect()
}

/// The first two CUDA devices. Where there is but one, `test` reports that it is skipped.
pub(crate) fn two_cuda_devices(test: &str) -> Option<[Device; 2]> {
    let devices = cuda_devices();
    if devices.len() < 2 {
        test_support::skipped(test, "it needs two CUDA devices");
    }
    devices.try_into().ok()
}
