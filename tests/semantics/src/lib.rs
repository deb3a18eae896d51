//! The contract, clause by clause, as tests.
//!
//! The tests are in `tests/it`, a module per chapter of the contract, each named by its clause
//! (`s03_operation_runs_on_the_operands_device`). `pending.txt` lists the clauses that have no test
//! yet; `cargo xtask tidy` fails on a clause that is in neither place. `tests/it/schedules.rs` runs
//! them again without checks and under schedules that are against the program.
#![forbid(unsafe_code)]

use cuda_sim::control::{CheckKinds, Config, Schedule, configure, schedule};
use gpu_runtime::DriverChoice;

/// How many software GPUs the contract is tested on.
pub const DEVICES: usize = 4;

/// Chooses the driver that the tests of this process run on: four software GPUs that check each
/// access of a kernel, unless `GPU_DRIVER` asks for another driver or `CUDA_SIM_CHECK` for other
/// checks. All else is as the environment says.
///
/// # Panics
///
/// When the driver cannot be had: a test on another driver would prove nothing.
pub fn four_devices() {
    if std::env::var_os("GPU_DRIVER").is_none() {
        let asked = Config::from_env().expect("settings that mean something");
        let check = match std::env::var_os("CUDA_SIM_CHECK") {
            Some(_) => asked.check,
            None => CheckKinds::ALL,
        };
        configure(Config { devices: DEVICES as u32, check, ..asked }).expect("as before");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
            .expect("the software driver with four devices");
    }
    let found = gpu_runtime::Device::count().expect("a driver");
    assert!(found >= 3, "the contract needs at least three devices, the driver has {found}");
}

/// Whether a schedule decides what runs when, so that work must not wait for the host.
pub fn is_scheduled() -> bool {
    schedule().is_ok_and(|schedule| schedule != Schedule::Fast)
}
