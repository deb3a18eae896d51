//! Where the tests run.

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_runtime::DriverChoice;
use tensor::{Device, cuda};

/// The CPU and two of four software GPUs, with every access of a kernel checked; or of the driver
/// that `GPU_DRIVER` names. The two are the same where there is but one.
pub(crate) fn all() -> [Device; 3] {
    if std::env::var_os("GPU_DRIVER").is_none() {
        configure(Config { devices: 4, check: CheckKinds::ALL, ..Config::default() })
            .expect("as before");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
            .expect("the software driver with four devices");
    }
    assert!(cuda::is_available(), "the driver that GPU_DRIVER names has no device");
    let second = (cuda::device_count() - 1).min(2);
    [Device::Cpu, Device::cuda_at(0), Device::cuda_at(second)]
}
