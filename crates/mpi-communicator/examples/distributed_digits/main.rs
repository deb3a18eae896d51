//! Trains a classifier of handwritten digits in several processes, each of which sees its share of
//! every batch.
//!
//! ```sh
//! cargo build --release --package mpi-communicator --features mpi --example distributed_digits
//! mpirun -n 4 target/release/examples/distributed_digits model.safetensors
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to its user")]

mod data;

use std::sync::Arc;
use std::time::Duration;

use collectives::Communicator;
use mpi_communicator::MpiCommunicator;
use sluice::data::DistributedSampler;
use sluice::optim::SGD;
use sluice::parallel::DistributedDataParallel;
use sluice::prelude::*;
use sluice::{enter_manual_seed, safetensors};

const EPOCHS: usize = 3;
/// The samples of a step, of all ranks together.
const BATCH: usize = 64;

fn main() -> Result<()> {
    MpiCommunicator::with_timeout(Duration::from_secs(60))?.run(train)
}

fn train(communicator: Arc<dyn Communicator>) -> Result<()> {
    let (rank, ranks) = (communicator.rank(), communicator.size());
    let (digits, (test_images, test_labels)) = data::read()?;
    // One order of the digits for all ranks, of which each takes every `ranks`th one.
    let share = DistributedSampler::new(digits.len(), ranks, rank)?.shuffle(7).drop_last(true);
    let loader = DataLoader::builder(digits).sampler(share);
    let loader = loader.batch_size(BATCH / ranks).drop_last(true).build()?;

    let _seed = enter_manual_seed(0);
    let model = nn::Sequential::new()
        .push(nn::Linear::new(64, 128)?)
        .push(nn::ReLU)
        .push(nn::Linear::new(128, 10)?);
    let mut model = DistributedDataParallel::new(model, communicator)?;
    let mut optimizer = SGD::new(model.parameters(), 0.1).momentum(0.9).build()?;

    for _ in 0..EPOCHS {
        for batch in &loader {
            let (images, labels) = batch?;
            let loss = model.forward(&images)?.cross_entropy(&labels)?;
            optimizer.zero_grad();
            model.backward(&loss)?;
            optimizer.step()?;
        }
    }

    if rank == 0 {
        let guesses = no_grad(|| model.forward(&test_images)?.argmax(1))?;
        let right = guesses.eq(&test_labels)?.sum(())?.item::<i64>()?;
        println!("{ranks} ranks: {right} of {} digits recognised", test_labels.numel());
        if let Some(path) = std::env::args_os().nth(1) {
            safetensors::save(path, &model.state_dict())?;
        }
    }
    Ok(())
}
