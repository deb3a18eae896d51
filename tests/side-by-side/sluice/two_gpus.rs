//! A perceptron on two GPUs.
#![allow(clippy::print_stdout, reason = "it shows its result")]

use sluice::prelude::*;

fn main() -> Result<()> {
    cuda::software(2)?;
    let gpus = [Device::cuda_at(0), Device::cuda_at(1)];
    let mut model = sequential![nn::Linear::new(784, 512)?, nn::ReLU, nn::Linear::new(512, 10)?];
    model.to(gpus[0])?;
    let model = DataParallel::new(model, gpus)?;
    let x = Tensor::randn([256, 784], gpus[0])?;
    let y = Tensor::randint(0, 10, [256], (DType::I64, gpus[0]))?;
    let mut optimizer = optim::SGD::new(model.parameters(), 0.1).build()?;
    for _ in 0..10 {
        let loss = model.forward(&x)?.cross_entropy(&y)?;
        optimizer.zero_grad();
        loss.backward()?;
        optimizer.step()?;
    }
    println!("{}", model.forward(&x)?.cross_entropy(&y)?.item::<f32>()?);
    Ok(())
}
