//! A training that may be killed at any time: it writes a checkpoint now and then, and goes on from
//! there when it is started again, as if nothing had happened.
//!
//! ```sh
//! cargo run --release --example resume -- run.safetensors     # as often as it is killed
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::path::{Path, PathBuf};

use clap::Parser;
use sluice::checkpoint::{self, Generators};
use sluice::data::TensorDataset;
use sluice::optim::lr_scheduler::{CosineAnnealingLR, LRScheduler};
use sluice::prelude::*;

/// Trains a model, from its checkpoint if there is one.
#[derive(Parser)]
struct ResumeArgs {
    /// The checkpoint.
    path: PathBuf,
    /// The number of epochs.
    #[arg(long, default_value_t = 6)]
    epochs: u64,
    /// The steps between two checkpoints.
    #[arg(long, default_value_t = 3)]
    every: u64,
}

/// Everything that a checkpoint has.
struct ResumableTraining {
    model: nn::Sequential,
    optimizer: optim::Adam,
    scheduler: LRScheduler<CosineAnnealingLR>,
    loader: DataLoader<TensorDataset<(Tensor, Tensor)>>,
    step: u64,
}

impl ResumableTraining {
    fn new(device: Device, epochs: u64) -> Result<ResumableTraining> {
        let mut model = sequential![
            nn::Linear::new(8, 32)?,
            nn::GELU,
            nn::Dropout::new(0.2)?,
            nn::Linear::new(32, 1)?
        ];
        model.to(device)?;
        let mut optimizer = optim::Adam::new(model.parameters(), 0.01).build()?;
        let schedule = CosineAnnealingLR { t_max: epochs, eta_min: 1e-4 };
        let scheduler = LRScheduler::new(&mut optimizer, schedule)?;
        let x = Tensor::randn([160, 8], ())?;
        let y = x.square()?.sum(keepdim(-1))?;
        let loader = DataLoader::builder(TensorDataset::new((x, y))?)
            .batch_size(16)
            .shuffle(7)
            .workers(2)
            .pin_memory(true)
            .prefetch_to(device)
            .build()?;
        Ok(ResumableTraining { model, optimizer, scheduler, loader, step: 0 })
    }

    fn save(&self, path: &Path) -> Result<()> {
        checkpoint::save(
            path,
            &[
                ("model", &self.model),
                ("optimizer", &self.optimizer),
                ("scheduler", &self.scheduler),
                ("loader", &self.loader),
                ("generators", &Generators),
                ("step", &self.step),
            ],
        )
    }

    fn load(&mut self, path: &Path) -> Result<()> {
        checkpoint::load(
            path,
            &mut [
                ("model", &mut self.model),
                ("optimizer", &mut self.optimizer),
                ("scheduler", &mut self.scheduler),
                ("loader", &mut self.loader),
                ("generators", &mut Generators),
                ("step", &mut self.step),
            ],
        )
    }

    /// Learns from a batch, and gives its loss.
    fn step(&mut self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let loss = self.model.forward(x)?.mse_loss(y)?;
        self.optimizer.zero_grad();
        loss.backward()?;
        self.optimizer.step()?;
        self.step += 1;
        if self.loader.state().batches == 0 {
            self.scheduler.step(&mut self.optimizer)?; // that was the epoch's last batch
        }
        Ok(loss)
    }
}

fn main() -> Result<()> {
    let args = ResumeArgs::parse();
    if !cuda::is_available() {
        cuda::software(2)?;
    }
    sluice::manual_seed(1);
    let mut training = ResumableTraining::new(Device::cuda(), args.epochs)?;
    if args.path.exists() {
        training.load(&args.path)?;
        println!("goes on after step {}", training.step);
    }
    while training.scheduler.epoch() < args.epochs {
        for batch in training.loader.iter() {
            let (x, y) = batch?;
            let loss = training.step(&x, &y)?;
            if training.step.is_multiple_of(args.every) {
                training.save(&args.path)?;
                println!("step {}: loss {:.4}", training.step, loss.item::<f32>()?);
            }
        }
    }
    let weights = training.model.parameters()[0].to_vec::<f32>()?;
    let bits = weights.iter().fold(0u64, |bits, w| bits.rotate_left(5) ^ u64::from(w.to_bits()));
    println!("after {} steps the weights are {bits:016x}", training.step);
    Ok(())
}
