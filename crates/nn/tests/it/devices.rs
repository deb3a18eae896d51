//! Where the tests run.

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_runtime::DriverChoice;
use tensor::Device;

/// The CPU and two of four software GPUs, with every access of a kernel checked.
pub(crate) fn all() -> [Device; 3] {
    configure(Config { devices: 4, check: CheckKinds::ALL, ..Config::default() })
        .expect("as before");
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
        .expect("the software driver with four devices");
    [Device::Cpu, Device::cuda_at(0), Device::cuda_at(2)]
}
