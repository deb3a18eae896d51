//! A perceptron, trained on random data.
#![allow(clippy::print_stdout, reason = "it shows its result")]

use sluice::{data::TensorDataset, prelude::*};

fn main() -> Result<()> {
    let (x, y) = (Tensor::randn([256, 784], ())?, Tensor::randint(0, 10, [256], DType::I64)?);
    let data = TensorDataset::new((x, y))?;
    let loader = DataLoader::builder(data).batch_size(64).shuffle(0).build()?;
    let model = sequential![nn::Linear::new(784, 512)?, nn::ReLU, nn::Linear::new(512, 10)?];
    let mut optimizer = optim::Adam::new(model.parameters(), 1e-3).build()?;
    for _ in 0..3 {
        for batch in &loader {
            let (x, y) = batch?;
            let loss = model.forward(&x)?.cross_entropy(&y)?;
            optimizer.zero_grad();
            loss.backward()?;
            optimizer.step()?;
        }
    }
    println!("{model}");
    Ok(())
}
