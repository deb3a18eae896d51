//! A training that may be killed at any time: it writes a checkpoint now and then, and goes on from
//! there when it is started again, as if nothing had happened.
//!
//! ```sh
//! cargo run --release --example resume -- run.safetensors     # as often as it is killed
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::path::PathBuf;

use clap::Parser;
use sluice::checkpoint::{self, Generators};
use sluice::data::TensorDataset;
use sluice::optim::{CosineAnnealingLr, LrScheduler};
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

fn main() -> Result<()> {
    let args = ResumeArgs::parse();
    if !cuda::is_available() {
        cuda::software(2)?;
    }
    let device = Device::cuda();
    sluice::manual_seed(1);

    let mut model = network()?;
    model.to(device)?;
    let mut optimizer = optim::Adam::new(model.parameters(), 0.01).build()?;
    let schedule = CosineAnnealingLr { t_max: args.epochs, eta_min: 1e-4 };
    let mut scheduler = LrScheduler::new(&mut optimizer, schedule);
    let mut loader = DataLoader::builder(data()?)
        .batch_size(16)
        .shuffle(7)
        .workers(2)
        .pin_memory(true)
        .prefetch_to(device)
        .build()?;
    let mut step = 0u64;

    if args.path.exists() {
        checkpoint::load(
            &args.path,
            &mut [
                ("model", &mut model),
                ("optimizer", &mut optimizer),
                ("scheduler", &mut scheduler),
                ("loader", &mut loader),
                ("generators", &mut Generators),
                ("step", &mut step),
            ],
        )?;
        println!("goes on after step {step}");
    }
    while scheduler.epoch() < args.epochs {
        for batch in &loader {
            let (x, y) = batch?;
            let loss = model.forward(&x)?.mse_loss(&y)?;
            optimizer.zero_grad();
            loss.backward()?;
            optimizer.step()?;
            step += 1;
            if loader.state().batches == 0 {
                scheduler.step(&mut optimizer); // that was the epoch's last batch
            }
            if step.is_multiple_of(args.every) {
                checkpoint::save(
                    &args.path,
                    &[
                        ("model", &model),
                        ("optimizer", &optimizer),
                        ("scheduler", &scheduler),
                        ("loader", &loader),
                        ("generators", &Generators),
                        ("step", &step),
                    ],
                )?;
                println!("step {step}: loss {:.4}", loss.item::<f32>()?);
            }
        }
    }
    let weights = model.parameters()[0].to_vec::<f32>()?;
    let bits = weights.iter().fold(0u64, |bits, w| bits.rotate_left(5) ^ u64::from(w.to_bits()));
    println!("after {step} steps the weights are {bits:016x}");
    Ok(())
}

fn network() -> Result<nn::Sequential> {
    Ok(nn::Sequential::new()
        .push(nn::Linear::new(8, 32)?)
        .push(nn::GELU)
        .push(nn::Dropout::new(0.2)?)
        .push(nn::Linear::new(32, 1)?))
}

/// Vectors, and the squares of their lengths.
fn data() -> Result<TensorDataset<(Tensor, Tensor)>> {
    let x = Tensor::randn([160, 8], ())?;
    let squares = x.square()?.sum(keepdim(-1))?;
    TensorDataset::new((x, squares))
}
