//! The choice of the devices to compute on.

use sluice::cuda::{Availability, DriverChoice, DriverKind, availability, choose_driver};
use sluice::{Device, runtime};

use super::args::{Args, DeviceArg};
use super::error::Error;

/// The devices that were chosen to compute on, and the reason; no device means the CPU.
#[derive(Debug)]
pub(crate) struct ChosenDevices {
    pub(crate) driver: &'static str,
    pub(crate) devices: Vec<Device>,
    /// The choice and its reason, in words for the user.
    pub(crate) reason: String,
}

/// Chooses the devices by the command line.
pub(crate) fn choose(args: &Args) -> Result<ChosenDevices, Error> {
    if args.disable_cuda {
        return Ok(cpu("--disable-cuda was given"));
    }
    match args.device {
        DeviceArg::Cpu => Ok(cpu("--device cpu was given")),
        DeviceArg::Cuda => present("--device cuda was given").map_err(Error::NoCuda),
        DeviceArg::Software(choice) => software(choice, "it was asked for"),
        DeviceArg::Auto => match present("it is there") {
            Ok(chosen) => Ok(chosen),
            Err(reason) => match why_no_gpu(&reason) {
                Some(why) if !is_driver_asked_for() => {
                    software(DriverChoice::Software { devices: Some(4) }, why)
                }
                _ => Err(Error::NoCuda(reason)),
            },
        },
    }
}

fn cpu(why: &str) -> ChosenDevices {
    ChosenDevices { driver: "none", devices: Vec::new(), reason: format!("the CPU, since {why}") }
}

/// The devices of the driver that `GPU_DRIVER` names, or of NVIDIA's.
fn present(why: &str) -> Result<ChosenDevices, runtime::Error> {
    match availability() {
        Availability::Available { kind, devices } => Ok(cuda(kind, devices, why)),
        Availability::Unavailable { reason } => Err(reason),
    }
}

/// Whether `GPU_DRIVER` names a driver: then no other one will do.
fn is_driver_asked_for() -> bool {
    std::env::var_os("GPU_DRIVER").is_some_and(|driver| !driver.is_empty())
}

/// The reason why there is no GPU, if that is the error; other errors are for the user to mend.
fn why_no_gpu(reason: &runtime::Error) -> Option<&'static str> {
    match reason {
        runtime::Error::DriverNotFound { .. } => Some("no NVIDIA driver was found"),
        runtime::Error::NoDevice { .. } => Some("NVIDIA's driver has no GPU"),
        _ => None,
    }
}

fn software(choice: DriverChoice, why: &str) -> Result<ChosenDevices, Error> {
    choose_driver(choice)?;
    Ok(cuda(DriverKind::Software, runtime::Device::count()?, why))
}

fn cuda(kind: DriverKind, count: usize, why: &str) -> ChosenDevices {
    let (driver, name) = match kind {
        DriverKind::Nvidia => ("nvidia", "NVIDIA's driver"),
        DriverKind::Software => ("software", "the software driver"),
    };
    let devices = (0..count).map(Device::cuda_at).collect();
    let gpus = if count == 1 { "GPU" } else { "GPUs" };
    ChosenDevices { driver, devices, reason: format!("{name} with {count} {gpus}, since {why}") }
}
