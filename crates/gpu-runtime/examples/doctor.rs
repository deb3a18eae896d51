//! Says what there is by one driver, the one that `GPU_DRIVER` asks for: its version, its devices
//! and their memory. `cargo xtask doctor` runs it for each driver.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a report is what it is for")]

use std::error::Error;
use std::process::ExitCode;

use cuda_sim::control::Config;
use gpu_runtime::{Device, DriverKind};

fn main() -> ExitCode {
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> Result<(), Box<dyn Error>> {
    let devices = Device::all()?;
    let (major, minor) = gpu_runtime::driver_version()?;
    println!("CUDA {major}.{minor}, devices: {}", devices.len());
    for device in devices {
        let properties = device.properties()?;
        let (capability, minor) = properties.compute_capability;
        let memory = device.memory_info()?;
        println!(
            "{device}: {}, compute capability {capability}.{minor}, {} of {} GiB free",
            properties.name,
            gibibytes(memory.free),
            gibibytes(memory.total)
        );
    }
    if gpu_runtime::driver_kind()? == DriverKind::Software {
        let Config { workers, check, .. } = Config::from_env()?;
        println!("worker threads: {workers} (CUDA_SIM_WORKERS); checks: {check} (CUDA_SIM_CHECK)");
    }
    Ok(())
}

fn gibibytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}
