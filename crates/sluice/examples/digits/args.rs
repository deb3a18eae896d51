//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;
use sluice::cuda::DriverChoice;

use super::devices::ChosenDevices;
use super::train::Options;

/// Trains a classifier of handwritten digits and reports its accuracy on digits it has not seen.
#[derive(Debug, Parser)]
#[command(name = "digits")]
pub(crate) struct Args {
    /// The device to compute on: auto, cpu, cuda, or software:N. `auto` is the driver that
    /// GPU_DRIVER names, or else NVIDIA's where there is one, and otherwise four software GPUs
    #[arg(long, default_value = "auto", value_name = "auto|cpu|cuda|software:N")]
    pub(crate) device: DeviceArg,
    /// The same as `--device cpu`
    #[arg(long)]
    pub(crate) disable_cuda: bool,
    /// The number of times that each training image is seen
    #[arg(long, default_value_t = 30, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) epochs: u32,
    /// The number of images of one step
    #[arg(long, default_value_t = 64, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch_size: u32,
    /// Decides the initial weights and the order of the images
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Print one JSON object as the last line
    #[arg(long)]
    pub(crate) json: bool,
    /// The data: rows of 64 pixels and a digit, comma-separated, gzip-compressed
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/digits.csv.gz"))]
    pub(crate) data: PathBuf,
}

/// The value of `--device`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceArg {
    Auto,
    Cpu,
    Cuda,
    Software(DriverChoice),
}

impl FromStr for DeviceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(DeviceArg::Auto),
            "cpu" => Ok(DeviceArg::Cpu),
            "cuda" => Ok(DeviceArg::Cuda),
            _ if text.starts_with("software") => {
                text.parse().map(DeviceArg::Software).map_err(|error| format!("{error}"))
            }
            _ => Err("expected auto, cpu, cuda or software:N".to_owned()),
        }
    }
}

impl Args {
    /// The options of the training.
    pub(crate) fn options(&self, chosen: &ChosenDevices) -> Options {
        Options {
            devices: chosen.devices.clone(),
            epochs: self.epochs as usize,
            batch_size: self.batch_size as usize,
            seed: self.seed,
        }
    }
}
