//! Models and arrays in files: saved, loaded on another device and in another dtype, and loaded in
//! part by a model that has other names.
//!
//! ```sh
//! cargo run --release --example save_and_load
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use sluice::nn::LoadOptions;
use sluice::prelude::*;
use sluice::{numpy, safetensors};

/// A classifier whose body other models have, too.
#[derive(Module)]
struct Classifier {
    body: nn::Sequential,
    head: nn::Linear,
}

impl Classifier {
    fn new(classes: usize) -> Result<Classifier> {
        let body = sequential![nn::Linear::new(8, 16)?, nn::ReLU];
        Ok(Classifier { body, head: nn::Linear::new(16, classes)? })
    }
}

impl Forward for Classifier {
    type Output = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.head.forward(&self.body.forward(x)?)
    }
}

fn main() -> Result<()> {
    if !cuda::is_available() {
        cuda::software(1)?;
    }
    let folder = std::env::temp_dir().join(format!("sluice-save-and-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (path, x) = (folder.join("model.safetensors"), Tensor::randn([4, 8], ())?);

    // The file takes the place of an older one when it is complete.
    let model = Classifier::new(10)?;
    safetensors::save(&path, &model.state_dict())?;

    // The same model on a GPU, and in half precision.
    let mut again = Classifier::new(10)?;
    again.load_state_dict(&safetensors::load(&path, Device::Cpu)?)?;
    again.to(Device::cuda())?;
    let there = again.forward(&x.cuda()?)?;
    assert!(there.cpu()?.allclose(&model.forward(&x)?, 1e-5, 1e-5)?);
    again.to(DType::F16)?;
    safetensors::save(folder.join("half.safetensors"), &again.state_dict())?;

    // Another head, and a body of another name: what does not fit is left out, and reported.
    let mut state = safetensors::load(&path, Device::Cpu)?;
    state.retain(|name, _| !name.starts_with("head."));
    let state = state.into_iter().map(|(name, tensor)| (name.replace("body", "trunk"), tensor));
    let mut other = Classifier::new(3)?;
    let options = LoadOptions::new().lenient().rename(|name| Some(name.replace("trunk", "body")));
    let report = other.load_state_dict_with(&state.collect(), &options)?;
    println!("not in the file: {:?}", report.missing);
    assert_eq!(other.body.parameters()[0].to_vec::<f32>()?, model.parameters()[0].to_vec::<f32>()?);

    // One tensor of a large file, without reading the rest; and an array for NumPy.
    let bias = safetensors::open(&path)?.tensor("head.bias", Device::cuda())?;
    numpy::save(folder.join("bias.npy"), &bias)?;
    println!("{}", numpy::load(folder.join("bias.npy"), Device::Cpu)?);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
