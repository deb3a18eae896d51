//! The command line.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use gpu_runtime::{DriverChoice, choose_driver};
use tensor::Device;

/// Sits an exam in PyTorch's semantics.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: GoldenCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum GoldenCommand {
    /// Runs the cases of a folder, and compares their results.
    Run(RunArguments),
    /// Times the shapes of a folder.
    Time(TimeArguments),
    /// Runs the cases of folders on the CPU and on the software driver, and prints a line of JSON for
    /// each operation of the table: what passed. `cargo xtask operations` makes a page of these.
    Operations(OperationsArguments),
}

#[derive(Args, Debug, Clone)]
pub(crate) struct RunArguments {
    /// The folder of cases.
    pub(crate) dir: PathBuf,
    /// The device that the cases run on: `cpu`, or `software:N` for the first of N software devices.
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// Prints a line for each case in place of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Only each Nth case.
    #[arg(long, default_value_t = 1)]
    pub(crate) every: usize,
    /// Compares second derivatives in `f64` with differences of gradients, too. What comes of it is in
    /// the lines of `--json` (`second`) and has no say in the verdict.
    #[arg(long)]
    pub(crate) second: bool,
    /// The number of child processes that run at a time.
    #[arg(long, default_value_t = processors())]
    pub(crate) jobs: usize,
    /// The number of threads of the library in each child.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// The position of the first case, in a child.
    #[arg(long, hide = true)]
    pub(crate) from: Option<usize>,
    /// The number of cases, in a child.
    #[arg(long, default_value_t = 0, hide = true)]
    pub(crate) count: usize,
}

#[derive(Args, Debug)]
pub(crate) struct TimeArguments {
    /// The folder of timed shapes.
    pub(crate) dir: PathBuf,
    /// The device, as for `run`.
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// Only these shapes, by their numbers.
    #[arg(long, value_delimiter = ',')]
    pub(crate) ids: Vec<usize>,
    /// The number of threads of the library.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
}

#[derive(Args, Debug)]
pub(crate) struct OperationsArguments {
    /// The folders of cases.
    #[arg(required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// The number of child processes that run at a time.
    #[arg(long, default_value_t = processors())]
    pub(crate) jobs: usize,
}

/// The device of this name, with the driver that it needs.
///
/// # Errors
/// There is no such device.
pub(crate) fn device(name: &str) -> Result<Device> {
    match name.split_once(':') {
        None if name == "cpu" => Ok(Device::Cpu),
        None if name == "cuda" => Ok(Device::cuda_at(0)),
        Some(("software", count)) => {
            let devices = Some(count.parse().with_context(|| format!("device {name}"))?);
            choose_driver(DriverChoice::Software { devices })?;
            Ok(Device::cuda_at(0))
        }
        _ => bail!("device {name}: cpu, cuda or software:N"),
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
