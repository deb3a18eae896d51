//! Which devices to compute on, and why.

use gpu_runtime::{Availability, DriverChoice, DriverKind};
use tensor::Device;

use super::args::{Args, DeviceArg};
use super::error::Error;

/// The devices that were chosen; none means the CPU.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) driver: &'static str,
    pub(crate) devices: Vec<Device>,
    /// For the user: what was chosen and why.
    pub(crate) reason: String,
}

/// Chooses by the command line.
pub(crate) fn choose(args: &Args) -> Result<Place, Error> {
    if args.disable_cuda {
        return Ok(cpu("--disable-cuda was given"));
    }
    match args.device {
        DeviceArg::Cpu => Ok(cpu("--device cpu was given")),
        DeviceArg::Cuda => present("--device cuda was given").map_err(Error::NoCuda),
        DeviceArg::Software(choice) => software(choice, "it was asked for"),
        DeviceArg::Auto => match present("it is there") {
            Ok(place) => Ok(place),
            Err(reason) => match why_no_gpu(&reason) {
                Some(why) if !is_driver_asked_for() => {
                    software(DriverChoice::Software { devices: Some(4) }, why)
                }
                _ => Err(Error::NoCuda(reason)),
            },
        },
    }
}

fn cpu(why: &str) -> Place {
    Place { driver: "none", devices: Vec::new(), reason: format!("the CPU, since {why}") }
}

/// What `GPU_DRIVER` names, or NVIDIA's driver.
fn present(why: &str) -> Result<Place, gpu_runtime::Error> {
    match gpu_runtime::availability() {
        Availability::Available { kind, devices } => Ok(cuda(kind, devices, why)),
        Availability::Unavailable { reason } => Err(reason),
    }
}

/// Whether `GPU_DRIVER` names a driver: then no other one will do.
fn is_driver_asked_for() -> bool {
    std::env::var_os("GPU_DRIVER").is_some_and(|driver| !driver.is_empty())
}

/// Why there is no GPU, where that is what the error says; any other error is the user's to mend.
fn why_no_gpu(reason: &gpu_runtime::Error) -> Option<&'static str> {
    match reason {
        gpu_runtime::Error::DriverNotFound { .. } => Some("no NVIDIA driver was found"),
        gpu_runtime::Error::NoDevice { .. } => Some("NVIDIA's driver has no GPU"),
        _ => None,
    }
}

fn software(choice: DriverChoice, why: &str) -> Result<Place, Error> {
    gpu_runtime::choose_driver(choice)?;
    Ok(cuda(DriverKind::Software, gpu_runtime::Device::count()?, why))
}

fn cuda(kind: DriverKind, count: usize, why: &str) -> Place {
    let (driver, name) = match kind {
        DriverKind::Nvidia => ("nvidia", "NVIDIA's driver"),
        DriverKind::Software => ("software", "the software driver"),
    };
    let devices = (0..count).map(Device::cuda_at).collect();
    let gpus = if count == 1 { "GPU" } else { "GPUs" };
    Place { driver, devices, reason: format!("{name} with {count} {gpus}, since {why}") }
}
