//! The device that the cases run on, and the number of threads.

use std::str::FromStr;

use cuda_sim::control::{Config, configure};
use gpu_runtime::{Availability, DriverChoice, availability, choose_driver};
use tensor::{Device, Shape, Tensor};

use crate::error::{Error, Result};

/// The value of `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Cpu,
    Cuda,
    /// The software driver, with so many devices if that is said.
    Software(Option<u32>),
}

/// `--device` with a value that means nothing.
#[derive(Debug, thiserror::Error)]
#[error("expected cpu, cuda or software:N")]
pub(crate) struct UnknownDevice;

impl FromStr for Where {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Where, UnknownDevice> {
        match (text, text.parse()) {
            ("cpu", _) => Ok(Where::Cpu),
            ("cuda", _) => Ok(Where::Cuda),
            (_, Ok(DriverChoice::Software { devices })) => Ok(Where::Software(devices)),
            _ => Err(UnknownDevice),
        }
    }
}

/// The device that the cases run on, and the number of threads.
pub(crate) struct BenchTarget {
    device: Device,
    threads: usize,
}

impl BenchTarget {
    /// Settles what holds for the whole process: threads, driver, random numbers.
    ///
    /// # Errors
    /// What was asked for cannot be had.
    pub(crate) fn prepare(wanted: Where, threads: usize) -> Result<BenchTarget> {
        tensor::set_num_threads(threads).map_err(|source| Error::Threads { threads, source })?;
        tensor::manual_seed(0);
        let device = match wanted {
            Where::Cpu => Device::Cpu,
            Where::Cuda => match availability() {
                Availability::Available { .. } => Device::cuda_at(0),
                Availability::Unavailable { reason } => return Err(Error::NoCuda(reason)),
            },
            Where::Software(devices) => {
                start_software(devices, threads)?;
                Device::cuda_at(0)
            }
        };
        Ok(BenchTarget { device, threads })
    }

    /// The device of the tensors.
    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Threads of the CPU's kernels, and workers of the software driver.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// A tensor of normally distributed numbers.
    pub(crate) fn randn(&self, shape: impl Into<Shape>) -> tensor::Result<Tensor> {
        Tensor::randn(shape, self.device)
    }

    /// Waits until the device has done its work; on the CPU it has.
    pub(crate) fn finish(&self) -> tensor::Result<()> {
        if self.device == Device::Cpu { Ok(()) } else { tensor::cuda::synchronize(self.device) }
    }

    /// The GPU for the cases below the tensors: a software one where the tensors are on the CPU.
    pub(crate) fn gpu(&self) -> Result<gpu_runtime::Device> {
        if self.device == Device::Cpu {
            start_software(Some(1), self.threads)?;
        }
        Ok(gpu_runtime::Device::get(0)?)
    }
}

fn start_software(devices: Option<u32>, workers: usize) -> Result<()> {
    let config = Config::from_env()?;
    let devices = devices.unwrap_or(config.devices);
    configure(Config { devices, workers, ..config })?;
    // A choice that names the number of devices would take the workers from the environment.
    Ok(choose_driver(DriverChoice::Software { devices: None })?)
}
