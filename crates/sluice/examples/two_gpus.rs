//! Two GPUs: operations run where their operands are, copies are in order with both devices, and a
//! model is trained on both at once. Without two NVIDIA GPUs it takes software ones.
//!
//! ```sh
//! cargo run --release --example two_gpus
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use sluice::prelude::*;

fn main() -> Result<()> {
    if cuda::device_count() == 0 {
        cuda::software(2)?;
    }
    let [first, second] = [Device::cuda_at(0), Device::cuda_at(1)];

    // A tensor knows its device, whichever one is current.
    let x = Tensor::randn([512, 64], first)?;
    let there = {
        let _current = cuda::device(1)?;
        let weights = Tensor::randn([64, 64], Device::cuda())?; // on the current device, cuda:1
        assert_eq!(x.relu()?.device(), first);
        x.to(second)?.matmul(&weights)?
    };
    assert_eq!(there.device(), second);
    println!("{}", (&x + &there).expect_err("two devices"));

    // A layer on each: the activations are copied, and their gradients back.
    let (mut lower, mut upper) = (nn::Linear::new(64, 32)?, nn::Linear::new(32, 1)?);
    lower.to(first)?;
    upper.to(second)?;
    let output = upper.forward(&lower.forward(&x)?.relu()?.to(second)?)?;
    output.square()?.mean(())?.backward()?;
    let gradient = lower.weight().grad().expect("it was computed");
    assert_eq!(gradient.device(), first);

    // The same model on both: each takes half of the batch, and gradients are summed on the first.
    let mut model = sequential![nn::Linear::new(64, 32)?, nn::ReLU, nn::Linear::new(32, 1)?];
    model.to(first)?;
    let model = DataParallel::new(model, [first, second])?;
    let mut optimizer = optim::Adam::new(model.parameters(), 1e-2).build()?;
    let target = x.sum(keepdim(-1))?.tanh()?;
    let mut losses = Vec::new();
    for _ in 0..100 {
        let loss = model.forward(&x)?.mse_loss(&target)?;
        optimizer.zero_grad();
        loss.backward()?;
        optimizer.step()?;
        losses.push(loss.detach()); // reading it would wait for the devices
    }
    let losses = Tensor::stack(losses, 0)?.to_vec::<f32>()?;
    println!("loss {:.3} at first, {:.3} at last", losses[0], losses[99]);
    assert!(losses[99] < losses[0] / 2.0);
    Ok(())
}
