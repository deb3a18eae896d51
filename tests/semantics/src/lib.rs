//! The contract, clause by clause, as tests.
//!
//! The tests are in `tests/it`, a module per chapter of the contract, each named by its clause
//! (`s03_operation_runs_on_the_operands_device`). `pending.txt` lists the clauses that have no test
//! yet; `cargo xtask tidy` fails on a clause that is in neither place.
#![forbid(unsafe_code)]

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_runtime::DriverChoice;

/// How many software GPUs the contract is tested on.
pub const DEVICES: usize = 4;

/// Chooses the driver that the tests of this process run on: four software GPUs that check each
/// access of a kernel, unless `GPU_DRIVER` asks for another driver.
///
/// # Panics
///
/// When the driver cannot be had: a test on another driver would prove nothing.
pub fn four_devices() {
    if std::env::var_os("GPU_DRIVER").is_none() {
        let checked =
            Config { devices: DEVICES as u32, check: CheckKinds::ALL, ..Config::default() };
        configure(checked).expect("as before");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
            .expect("the software driver with four devices");
    }
    let found = gpu_runtime::Device::count().expect("a driver");
    assert!(found >= 3, "the contract needs at least three devices, the driver has {found}");
}
