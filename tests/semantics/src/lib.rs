//! The contract, clause by clause, as tests.
//!
//! The tests are in `tests/it`, a module per chapter of the contract, each named by its clause
//! (`s03_operation_runs_on_the_operands_device`). `pending.txt` lists the clauses that have no test
//! yet; `cargo xtask tidy` fails on a clause that is in neither place. `tests/it/schedules.rs` runs
//! them again without checks and under schedules that are against the program.
#![forbid(unsafe_code)]

use cuda_sim::control::{CheckKinds, Config, Schedule, configure, schedule};
use gpu_runtime::{DriverChoice, DriverKind};
use tensor::{Device, Result, cuda};
use test_support::skipped;

/// The number of software GPUs that the contract is tested on, if nothing else is asked for. On
/// fewer devices, one real GPU say, those tests run that these suffice for.
pub const DEVICES: usize = 4;

/// Chooses the driver that the tests of this process run on: four software GPUs that check each
/// access of a kernel, unless `GPU_DRIVER` asks for another driver or `CUDA_SIM_CHECK` for other
/// checks. All else is as the environment says.
///
/// # Panics
///
/// When there is no device: a test on none would prove nothing.
pub fn choose_driver() {
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
    assert!(found > 0, "the contract needs a device, the driver has none");
}

/// Chooses the driver, and says whether it has so many devices. Where it has fewer, `test` is
/// skipped by its name: pass the test itself.
///
/// ```no_run
/// # fn s05_copies_cross_devices() {
/// if !semantics::devices(3, s05_copies_cross_devices) {
///     return;
/// }
/// # }
/// ```
#[must_use = "what needs devices that are not there must not run"]
pub fn devices<T>(at_least: usize, test: T) -> bool {
    choose_driver();
    let found = gpu_runtime::Device::count().expect("there is a driver");
    if found < at_least {
        let path = std::any::type_name_of_val(&test);
        let name = path.split_once("::").map_or(path, |(_crate, name)| name);
        skipped(name, &format!("it needs {at_least} devices, the driver has {found}"));
    }
    found >= at_least
}

/// The last device: work on it shows that devices are told apart, wherever there are several.
///
/// # Panics
///
/// When there is none.
pub fn last_device() -> Device {
    let found = gpu_runtime::Device::count().expect("there is a driver");
    Device::cuda_at(found.checked_sub(1).expect("there is a device"))
}

/// Whether the driver in use is the software driver, which can be told a schedule.
///
/// # Panics
///
/// When no driver can be used.
pub fn is_software() -> bool {
    gpu_runtime::driver_kind().expect("a driver") == DriverKind::Software
}

/// Does once what a test does again while a callback holds a stream back, and waits for it. Then its
/// kernels are loaded and its memory is there.
///
/// NVIDIA's driver waits for the whole device when it loads a module or asks for memory, also for the
/// callback, which waits for the test. It has one thread for the callbacks of all streams too: while
/// one waits, no other runs.
///
/// # Errors
/// What `work` fails with, and the device's.
pub fn warm_up<T>(device: Device, work: impl FnOnce() -> Result<T>) -> Result<()> {
    drop(work()?);
    cuda::synchronize(device)
}

/// Whether a schedule decides what runs when, so that work must not wait for the host.
pub fn is_scheduled() -> bool {
    schedule().is_ok_and(|schedule| schedule != Schedule::Fast)
}
