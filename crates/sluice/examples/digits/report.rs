//! The output for the user: the choice of devices, a progress bar, the result.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use sluice::{Device, cuda};

use super::args::Args;
use super::devices::ChosenDevices;
use super::error::Error;
use super::train::{Progress, TrainingResult};

/// Shows the progress and the result of the training.
pub(crate) struct ProgressReport {
    bar: ProgressBar,
    epochs: u32,
    json: bool,
}

impl ProgressReport {
    /// Prints the devices that the training runs on, and why.
    pub(crate) fn begin(args: &Args, chosen: &ChosenDevices) -> ProgressReport {
        println!("device: {}", chosen.reason);
        // The bar draws on standard error, and only where that is a terminal.
        let bar = if args.json { ProgressBar::hidden() } else { ProgressBar::no_length() };
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {eta} left, {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressReport { bar: bar.with_style(style), epochs: args.epochs, json: args.json }
    }

    /// Moves the progress bar.
    pub(crate) fn step(&mut self, progress: Progress) {
        self.bar.set_length(progress.steps as u64);
        self.bar.set_position(progress.step as u64);
        if let Some(loss) = progress.loss {
            self.bar.set_message(format!("epoch {}, loss {loss:.4}", progress.epoch + 1));
        }
    }

    /// Prints the result.
    pub(crate) fn end(self, chosen: &ChosenDevices, result: &TrainingResult) -> Result<(), Error> {
        self.bar.finish_and_clear();
        let TrainingResult { losses, train_loss, test_accuracy, seconds } = result;
        let (epochs, first) = (self.epochs, losses.first().copied().unwrap_or(f32::NAN));
        let noun = if epochs == 1 { "epoch" } else { "epochs" };
        println!(
            "test accuracy {test_accuracy:.4}; training loss from {first:.3} to {train_loss:.4} \
             in {epochs} {noun}, {seconds:.1} s"
        );
        if self.json {
            println!(
                "{}",
                json!({
                    "driver": chosen.driver,
                    "devices": chosen.devices.iter().map(Device::to_string).collect::<Vec<_>>(),
                    "epochs": epochs,
                    "train_loss": train_loss,
                    "test_accuracy": test_accuracy,
                    "seconds": seconds,
                    "peak_memory": peak_memory(&chosen.devices)?,
                })
            );
        }
        Ok(())
    }
}

/// The most bytes that tensors held at a time, on each device.
fn peak_memory(devices: &[Device]) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
    let peak =
        |device: &Device| Ok((device.to_string(), cuda::max_memory_allocated(*device)?.into()));
    devices.iter().map(peak).collect()
}
