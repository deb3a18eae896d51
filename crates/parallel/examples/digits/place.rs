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
    match &args.device {
        DeviceArg::Cpu => Ok(cpu("--device cpu was given")),
        DeviceArg::Cuda => match gpu_runtime::availability() {
            Availability::Available { kind, devices } => {
                Ok(cuda(kind, devices, "--device cuda was given"))
            }
            Availability::Unavailable { reason } => Err(Error::NoCuda(reason)),
        },
        DeviceArg::Software(choice) => software(*choice, "it was asked for"),
        DeviceArg::Auto => match gpu_runtime::availability() {
            Availability::Available { kind, devices } => Ok(cuda(kind, devices, "it is there")),
            Availability::Unavailable { reason } => {
                let four = DriverChoice::Software { devices: Some(4) };
                software(four, &format!("there is no NVIDIA driver ({reason})"))
            }
        },
    }
}

fn cpu(why: &str) -> Place {
    Place { driver: "none", devices: Vec::new(), reason: format!("the CPU, since {why}") }
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
