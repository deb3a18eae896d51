//! The report on a driver: its version, its devices and their memory.

use std::fmt::Write as _;

use anyhow::Result;
use gpu_runtime::Device;

/// The report on this process's driver.
pub(super) fn report() -> Result<String> {
    let devices = Device::all()?;
    let (major, minor) = gpu_runtime::driver_version()?;
    let mut report = format!("CUDA {major}.{minor}, devices: {}\n", devices.len());
    for device in devices {
        let properties = device.properties()?;
        let (capability, minor) = properties.compute_capability;
        let memory = device.memory_info()?;
        writeln!(
            report,
            "{device}: {}, compute capability {capability}.{minor}, {} of {} GiB free",
            properties.name,
            gibibytes(memory.free),
            gibibytes(memory.total)
        )?;
    }
    #[cfg(feature = "software")]
    if gpu_runtime::driver_kind()? == gpu_runtime::DriverKind::Software {
        let cuda_sim::control::Config { workers, check, .. } =
            cuda_sim::control::Config::from_env()?;
        writeln!(
            report,
            "worker threads: {workers} (CUDA_SIM_WORKERS); checks: {check} (CUDA_SIM_CHECK)"
        )?;
    }
    Ok(report)
}

fn gibibytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}
