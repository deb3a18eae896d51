//! The digits job on a device that loses memory on the way: the program frees what it can, goes on
//! with half of the batch at a time, and ends as if nothing had happened.

use std::error::Error;

use cuda_sim::control::{self, Config};
use sluice::cuda::DriverChoice;
use sluice::nn::{Linear, ReLU, Sequential, sequential};
use sluice::optim::SGD;
use sluice::prelude::*;
use test_support::isolate;

use crate::job::data::{Digits, PIXELS};
use crate::job::file;

const GPU: Device = Device::cuda_at(0);
const BATCH: usize = 719;
const TEST: usize = 360;
const EPOCHS: usize = 14;
/// More than the example has, so that what a step needs is several of the allocator's segments.
const HIDDEN: usize = 512;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How a training ended.
#[derive(Debug)]
struct TrainingResult {
    losses: Vec<f32>,
    accuracy: f64,
    /// How many images were computed with at a time, in each step.
    parts: Vec<usize>,
}

/// Trains on the device. `between_epochs` is called while it has nothing to do, with the number of the
/// epoch to come.
fn train(mut between_epochs: impl FnMut(usize) -> Result<()>) -> Result<TrainingResult> {
    let _seed = sluice::enter_manual_seed(0);
    let (train, test) = Digits::read(&file())?.split()?;
    let mut model = sequential![Linear::new(PIXELS, HIDDEN)?, ReLU, Linear::new(HIDDEN, 10)?];
    model.to(GPU)?;
    let mut optimizer = SGD::new(model.parameters(), 0.3).momentum(0.9).build()?;
    let loader =
        DataLoader::builder(train).batch_size(BATCH).shuffle(0).pin_memory(true).build()?;
    let (mut losses, mut parts, mut part) = (Vec::new(), Vec::new(), BATCH);
    for epoch in 0..EPOCHS {
        // Others may use what this program does not.
        cuda::empty_cache()?;
        between_epochs(epoch)?;
        for batch in &loader {
            let (images, labels) = batch?;
            let loss = loop {
                match add_gradients(&model, &images, &labels, part) {
                    Ok(loss) => break loss,
                    Err(error) if error.is_out_of_memory() && part > 1 => {
                        optimizer.zero_grad();
                        cuda::empty_cache()?;
                        part = part.div_ceil(2);
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            optimizer.step()?;
            optimizer.zero_grad();
            losses.push(loss);
            parts.push(part);
        }
    }
    let mut right = 0;
    for batch in &DataLoader::builder(test).batch_size(part).build()? {
        let (images, labels) = batch?;
        let guesses = no_grad(|| model.forward(&images.to(GPU)?)?.argmax(1))?;
        right += guesses.eq(&labels.to(GPU)?)?.sum(())?.item::<i64>()?;
    }
    Ok(TrainingResult { losses, accuracy: right as f64 / TEST as f64, parts })
}

/// Adds the gradients of the mean loss of a batch, of which only `part` images are on the device at
/// a time; returns the loss.
fn add_gradients(
    model: &Sequential,
    images: &Tensor,
    labels: &Tensor,
    part: usize,
) -> tensor::Result<f32> {
    let total = labels.numel() as f64;
    let mut sum = 0.0;
    for (images, labels) in images.split(part, 0)?.iter().zip(labels.split(part, 0)?) {
        let (images, labels) = (images.to(GPU)?, labels.to(GPU)?);
        let share = labels.numel() as f64 / total;
        let loss = model.forward(&images)?.cross_entropy(&labels)?.mul(share)?;
        loss.backward()?;
        sum += loss.item::<f32>()?;
    }
    Ok(sum)
}

#[test]
fn training_survives_a_device_that_has_less_memory_all_at_once() {
    isolate(|| {
        control::configure(Config { devices: 1, ..Config::default() }).expect("nothing ran yet");
        sluice::runtime::choose_driver(DriverChoice::Software { devices: None }).expect("a driver");
        let undisturbed = train(|_| Ok(())).expect("there is memory");
        assert!(undisturbed.parts.iter().all(|part| *part == BATCH));
        assert!(undisturbed.accuracy > 0.9, "{undisturbed:?}");

        let most = cuda::max_memory_allocated(GPU).expect("the device");
        let disturbed = train(|epoch| {
            if epoch == EPOCHS / 2 {
                let memory = cuda::mem_get_info(GPU)?;
                // The allocator gets half of what it needed at most; it has less than that now.
                let others = memory.total - memory.free - cuda::memory_reserved(GPU)?;
                control::set_memory_limit(0, others + most / 2)?;
            }
            Ok(())
        });
        let disturbed = disturbed.expect("it goes on with less");

        let (before, after) = disturbed.parts.split_at(2 * (EPOCHS / 2));
        assert!(before.iter().all(|part| *part == BATCH));
        assert!(after.iter().all(|part| *part <= BATCH / 2 + 1), "{after:?}");
        assert!(cuda::memory_stats(GPU).expect("the device").num_ooms > 0);
        let one_image = 1.0 / TEST as f64;
        assert!((disturbed.accuracy - undisturbed.accuracy).abs() <= one_image, "{disturbed:?}");
        for (step, (left, right)) in undisturbed.losses.iter().zip(&disturbed.losses).enumerate() {
            assert!((left - right).abs() <= 1e-4 * left.abs(), "step {step}: {left} and {right}");
        }
    })
    .run();
}
