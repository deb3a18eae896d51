//! The digits job: the example's own modules, on the CPU and on software GPUs.

mod command_line;
mod job;
mod out_of_memory;

use cuda_sim::control::{CheckKinds, Config, configure};
use sluice::cuda::{DriverChoice, choose_driver};

/// Chooses four software GPUs, with every access of a kernel checked.
fn four_devices() {
    configure(Config { devices: 4, check: CheckKinds::ALL, ..Config::default() })
        .expect("as before");
    choose_driver(DriverChoice::Software { devices: None })
        .expect("the software driver with four devices");
}
