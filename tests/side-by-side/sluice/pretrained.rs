//! Weights from a file, and a prediction.
#![allow(clippy::print_stdout, reason = "it shows its result")]

use sluice::{prelude::*, safetensors};

fn main() -> Result<()> {
    let mut model = sequential![nn::Linear::new(784, 512)?, nn::ReLU, nn::Linear::new(512, 10)?];
    model.load_state_dict(&safetensors::load("model.safetensors", Device::Cpu)?)?;
    let x = safetensors::open("input.safetensors")?.tensor("x", Device::Cpu)?;
    println!("{}", model.forward(&x)?.argmax(-1)?);
    Ok(())
}
