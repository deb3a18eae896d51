//! Weights from a file, with candle.

use candle_core::{DType, Device, Result, safetensors};
use candle_nn::{Module, VarBuilder, linear, seq};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let files = ["model.safetensors"];
    let vb = unsafe { VarBuilder::from_mmaped_safetensors(&files, DType::F32, &device)? };
    let first = linear(784, 512, vb.pp("0"))?;
    let model = seq().add(first).add_fn(|x| x.relu()).add(linear(512, 10, vb.pp("2"))?);
    let x = &safetensors::load("input.safetensors", &device)?["x"];
    println!("{}", model.forward(x)?.argmax(1)?);
    Ok(())
}
