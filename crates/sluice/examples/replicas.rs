//! Replicas: several GPUs train one model, each with parameters of its own. Without NVIDIA GPUs it takes
//! software ones.
//!
//! ```sh
//! cargo run --release --example replicas
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use sluice::prelude::*;

fn main() -> Result<()> {
    if cuda::device_count() == 0 {
        cuda::software(4)?;
    }
    let devices = (0..cuda::device_count()).map(Device::cuda_at);
    let model = nn::Sequential::new()
        .push(nn::Linear::new(8, 64)?)
        .push(nn::GELU)
        .push(nn::Dropout::new(0.1)?) // each replica drops out others
        .push(nn::Linear::new(64, 1)?);
    let mut replicas = Replicas::builder(model, devices)
        .optimizer(|parameters| optim::Adam::new(parameters, 1e-2).build())
        .build()?;

    let x = Tensor::randn([96, 8], ())?;
    let y = x.sum(keepdim(-1))?.tanh()?;
    let loss = |model: &nn::Sequential, (x, y): (Tensor, Tensor)| model.forward(&x)?.mse_loss(&y);
    for step in 0..100 {
        // Two batches for each step: the gradients of the first stay where they are.
        let half =
            |begin| Ok::<_, sluice::Error>((x.narrow(0, begin, 48)?, y.narrow(0, begin, 48)?));
        replicas.accumulate(half(0)?, |model, part| loss(model, part)?.div(2.0))?;
        let losses = replicas.step(half(48)?, |model, part| loss(model, part)?.div(2.0))?;
        if step % 33 == 0 {
            println!("step {step}: {:.3}", 2.0 * losses.mean()?.item::<f32>()?);
        }
    }
    replicas.verify()?; // all have the same bits

    // Evaluation: every replica computes its part.
    replicas.eval();
    let sums = no_grad(|| {
        replicas.map((x, y), |model, (x, y)| {
            (model.forward(&x)? - &y)?.square()?.sum(())?.item::<f32>()
        })
    })?;
    let error = sums.iter().sum::<f32>() / 96.0;
    println!("mean squared error {error:.3} on {} devices", sums.len());
    assert!(error < 0.1);
    Ok(())
}
