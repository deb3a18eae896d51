//! A convolutional network that tells the shapes in noisy images apart. The example draws the images
//! itself, and tests the network on some that it has not seen.
//!
//! ```sh
//! cargo run --release --example cnn
//! cargo run --release --example cnn -- --device cpu --epochs 2 --images 256
//! GPU_DRIVER=software:1 cargo run --release --example cnn -- --device cuda
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use clap::Parser;
use sluice::data::TensorDataset;
use sluice::nn::{
    BatchNorm2d, Conv2d, Dropout, Flatten, Linear, MaxPool2d, ReLU, Sequential, sequential,
};
use sluice::prelude::*;
use sluice::{ConvOptions, DType};

/// The rows and the columns of an image.
const SIDE: usize = 16;
const CLASSES: [&str; 4] = ["circle", "square", "plus", "cross"];

/// Learns to tell shapes apart.
#[derive(Parser)]
struct CnnArgs {
    /// The device to compute on: cpu, cuda or cuda:N; a GPU, where there is one, if it is not given.
    #[arg(long)]
    device: Option<Device>,
    /// The number of times that each image is seen.
    #[arg(long, default_value_t = 4)]
    epochs: usize,
    /// The number of images to learn from.
    #[arg(long, default_value_t = 1024)]
    images: usize,
}

/// Images of shapes, each of another size and at another place, and the numbers of their classes.
fn shapes(count: usize) -> Result<(Tensor, Tensor)> {
    let between = |low: f64, high: f64| {
        let share = Tensor::rand([count, 1, 1], ())?;
        ((high - low) * share)? + low
    };
    let (x, y, radius) = (between(6.0, 9.0)?, between(6.0, 9.0)?, between(3.0, 6.0)?);
    let places = Tensor::arange(SIDE, DType::F32)?;
    let dx = (places.view((1, 1, SIDE))? - &x)?.abs()?;
    let dy = (places.view((1, SIDE, 1))? - &y)?.abs()?;
    let (far, near) = (dx.maximum(&dy)?, dx.minimum(&dy)?);
    let is_line = |distance: Tensor| distance.abs()?.lt(0.8);
    let is_inside = far.le(&radius)?;
    let all = [
        is_line((dx.hypot(&dy)? - &radius)?)?,
        is_line((&far - &radius)?)?,
        is_line(near.clone())?.logical_and(&is_inside)?,
        is_line((&far - &near)?)?.logical_and(&is_inside)?,
    ];
    let classes = Tensor::randint(0, CLASSES.len() as i64, [count], DType::I64)?;
    // Of the four drawings of each image the one of its class.
    let drawings = Tensor::stack(&all, 1)?.to(DType::F32)?;
    let images = drawings.i((&Tensor::arange(count, DType::I64)?, &classes))?.unsqueeze(1)?;
    let noise = (0.3 * Tensor::randn([count, 1, SIDE, SIDE], ())?)?;
    Ok(((images + noise)?, classes))
}

fn network() -> Result<Sequential> {
    Ok(sequential![
        Conv2d::new(1, 16, 3, ConvOptions::new().padding(1))?.without_bias(),
        BatchNorm2d::new(16)?,
        ReLU,
        MaxPool2d::new(2),
        Conv2d::new(16, 32, 3, ConvOptions::new().padding(1))?.without_bias(),
        BatchNorm2d::new(32)?,
        ReLU,
        MaxPool2d::new(2),
        Flatten,
        Dropout::new(0.25)?,
        Linear::new(32 * SIDE / 4 * SIDE / 4, 64)?,
        ReLU,
        Linear::new(64, CLASSES.len())?,
    ])
}

/// The share of the images that the network gives the right class.
fn accuracy(model: &mut Sequential, images: &Tensor, classes: &Tensor) -> Result<f64> {
    // Batch normalisation takes the averages of the training then, and dropout keeps everything.
    model.eval();
    let guesses = no_grad(|| model.forward(images)?.argmax(1))?;
    model.train();
    guesses.eq(classes)?.to(DType::F64)?.mean(())?.item()
}

fn main() -> Result<()> {
    let args = CnnArgs::parse();
    let available = || if cuda::is_available() { Device::cuda() } else { Device::Cpu };
    let device = args.device.unwrap_or_else(available);
    sluice::manual_seed(0);

    let (images, classes) = shapes(args.images)?;
    let loader = DataLoader::builder(TensorDataset::new((images, classes))?)
        .batch_size(64)
        .shuffle(0)
        .prefetch_to(device)
        .build()?;
    let (unseen, answers) = shapes(256)?;
    let (unseen, answers) = (unseen.to(device)?, answers.to(device)?);

    let mut model = network()?;
    model.to(device)?;
    println!(
        "{model}\n{} parameters on {device}",
        model.parameters().iter().map(Tensor::numel).sum::<usize>()
    );
    let mut optimizer = optim::AdamW::new(model.parameters(), 2e-3).build()?;
    for epoch in 1..=args.epochs {
        let mut losses = Vec::new();
        for batch in &loader {
            let (images, classes) = batch?;
            let loss = model.forward(&images)?.cross_entropy(&classes)?;
            optimizer.zero_grad();
            loss.backward()?;
            optimizer.step()?;
            // Reading it would wait for the device in each step.
            losses.push(loss.detach());
        }
        let loss = Tensor::stack(&losses, 0)?.mean(())?.item::<f32>()?;
        let accuracy = accuracy(&mut model, &unseen, &answers)?;
        println!("epoch {epoch}: loss {loss:.3}, {:.1} % of unseen images right", 100.0 * accuracy);
    }

    model.eval();
    let guesses = no_grad(|| model.forward(&unseen.i(..4)?)?.argmax(1))?.to_vec::<i64>()?;
    for (guess, answer) in guesses.into_iter().zip(answers.i(..4)?.to_vec::<i64>()?) {
        println!("a {} looks like a {}", CLASSES[answer as usize], CLASSES[guess as usize]);
    }
    Ok(())
}
