//! The same program on the CPU and on a GPU: the device is chosen once, at the beginning.
//!
//! ```sh
//! cargo run --release --example device_agnostic
//! cargo run --release --example device_agnostic -- --disable-cuda
//! GPU_DRIVER=software:1 cargo run --release --example device_agnostic
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use clap::Parser;
use sluice::data::TensorDataset;
use sluice::prelude::*;

/// Fits a line.
#[derive(Parser)]
struct LineArgs {
    /// Stay on the CPU, whatever there is.
    #[arg(long)]
    disable_cuda: bool,
}

fn main() -> Result<()> {
    let args = LineArgs::parse();
    let use_cuda = !args.disable_cuda && cuda::is_available();
    let device = if use_cuda { Device::cuda() } else { Device::Cpu };
    println!("on {device}");

    sluice::manual_seed(0);
    let x = Tensor::rand([256, 1], ())?;
    let noise = (0.05 * &x.randn_like()?)?;
    let y = (&x * 3.0 + (noise + 1.0)?)?;
    // A GPU copies asynchronously from page-locked memory.
    let loader = DataLoader::builder(TensorDataset::new((x, y))?)
        .batch_size(32)
        .shuffle(0)
        .pin_memory(use_cuda)
        .build()?;

    let mut model = nn::Linear::new(1, 1)?;
    model.to(device)?;
    let mut optimizer = optim::SGD::new(model.parameters(), 0.5).build()?;
    for _ in 0..30 {
        for batch in &loader {
            let (x, y) = batch?;
            let (x, y) = (x.to_with(device, Blocking::No)?, y.to_with(device, Blocking::No)?);
            let loss = model.forward(&x)?.mse_loss(&y)?;
            optimizer.zero_grad();
            loss.backward()?;
            optimizer.step()?;
        }
    }
    let [slope, offset] = [model.weight(), model.bias().expect("it has one")];
    let (slope, offset) = (slope.item::<f32>()?, offset.item::<f32>()?);
    println!("y = {slope:.2} x + {offset:.2}");
    assert!((slope - 3.0).abs() < 0.1 && (offset - 1.0).abs() < 0.1);
    Ok(())
}
