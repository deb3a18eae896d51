//! The training, and the test at its end.

use std::time::Instant;

use sluice::data::Subset;
use sluice::optim::SGD;
use sluice::parallel::StepLosses;
use sluice::prelude::*;

use super::data::Digits;
use super::model;

const LEARNING_RATE: f64 = 0.1;
const MOMENTUM: f64 = 0.9;
const WEIGHT_DECAY: f64 = 1e-4;
const WORKERS: usize = 2;

/// The options of a training.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// No device means the CPU.
    pub(crate) devices: Vec<Device>,
    pub(crate) epochs: usize,
    pub(crate) batch_size: usize,
    pub(crate) seed: u64,
}

/// The progress of the training.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) step: usize,
    pub(crate) steps: usize,
    pub(crate) epoch: usize,
    /// The mean loss of the epoch before.
    pub(crate) loss: Option<f32>,
}

/// The result of a training.
#[derive(Clone, Debug)]
pub(crate) struct TrainingResult {
    /// The loss of each step.
    pub(crate) losses: Vec<f32>,
    /// The mean loss of the last epoch.
    pub(crate) train_loss: f32,
    /// The share of the test images that are classified right.
    pub(crate) test_accuracy: f64,
    pub(crate) seconds: f64,
}

/// Trains on one part of the data and tests on the other.
pub(crate) fn train(
    train: Subset<Digits>,
    test: Subset<Digits>,
    options: &Options,
    mut progress: impl FnMut(Progress),
) -> Result<TrainingResult> {
    let begin = Instant::now();
    let _seed = sluice::enter_manual_seed(options.seed);
    let devices = match &options.devices[..] {
        [] => &[Device::Cpu][..],
        devices => devices,
    };
    let mut replicas = Replicas::builder(model::classifier()?, devices.iter().copied())
        .optimizer(|parameters| {
            let sgd = SGD::new(parameters, LEARNING_RATE).momentum(MOMENTUM);
            sgd.weight_decay(WEIGHT_DECAY).build()
        })
        .build()?;
    let loader = DataLoader::builder(train)
        .batch_size(options.batch_size)
        .shuffle(options.seed)
        .workers(WORKERS)
        .pin_memory(devices[0].is_cuda())
        .build()?;

    let steps = options.epochs * loader.len();
    let mut losses = Vec::with_capacity(steps);
    let mut train_loss = None;
    for epoch in 0..options.epochs {
        // Reading a loss would wait for the device in each step; an epoch's are read at its end.
        let mut enqueued = Vec::with_capacity(loader.len());
        for batch in &loader {
            enqueued.push(replicas.step(batch?, |model, (images, labels)| {
                model.forward(&images)?.cross_entropy(&labels)
            })?);
            let step = losses.len() + enqueued.len();
            progress(Progress { step, steps, epoch, loss: train_loss });
        }
        let enqueued = enqueued.iter().map(StepLosses::mean).collect::<Result<Vec<_>>>()?;
        let epoch_losses = Tensor::stack(&enqueued, 0)?.to_vec::<f32>()?;
        train_loss = Some(epoch_losses.iter().sum::<f32>() / epoch_losses.len() as f32);
        losses.extend(epoch_losses);
    }
    let test_accuracy = accuracy(&mut replicas, test, options.batch_size)?;
    let train_loss = train_loss.unwrap_or(f32::NAN);
    Ok(TrainingResult { losses, train_loss, test_accuracy, seconds: begin.elapsed().as_secs_f64() })
}

fn accuracy(
    replicas: &mut Replicas<nn::Sequential>,
    test: Subset<Digits>,
    batch_size: usize,
) -> Result<f64> {
    let images = test.len();
    let loader = DataLoader::builder(test).batch_size(batch_size).build()?;
    let mut right = 0;
    no_grad(|| {
        for batch in &loader {
            let counts = replicas.map(batch?, |model, (images, labels): (Tensor, Tensor)| {
                let guesses = model.forward(&images)?.argmax(1)?;
                guesses.eq(&labels)?.sum(())?.item::<i64>()
            })?;
            right += counts.iter().sum::<i64>();
        }
        Ok::<_, sluice::Error>(())
    })?;
    Ok(right as f64 / images as f64)
}
