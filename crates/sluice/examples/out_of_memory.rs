//! Out of memory is a value, which says who holds what; a program that gets it frees something, and
//! goes on.
//!
//! ```sh
//! cargo run --release --example out_of_memory
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use sluice::prelude::*;

fn main() -> Result<()> {
    if !cuda::is_available() {
        cuda::software(1)?;
    }
    let device = Device::cuda();
    // Little memory, on a device of any size.
    let total = cuda::mem_get_info(device)?.total as f64;
    cuda::set_per_process_memory_fraction(20.0 * 1024.0 * 1024.0 / total, device)?;

    let mut model = sequential![nn::Linear::new(32, 1024)?, nn::ReLU, nn::Linear::new(1024, 1)?];
    model.to(device)?;
    let mut optimizer = optim::SGD::new(model.parameters(), 0.01).build()?;
    let x = Tensor::randn([2048, 32], device)?;
    let target = x.mean(keepdim(-1))?;

    let (mut part, mut steps) = (2048, 0);
    while steps < 5 {
        match gradients(&model, &x, &target, part) {
            Ok(loss) => {
                optimizer.step()?;
                steps += 1;
                println!("step {steps}: loss {loss:.4}, {part} rows at a time");
            }
            Err(error) if error.is_out_of_memory() && part > 1 => {
                println!("{error}\n");
                part /= 2; // what the failed attempt had is free again
            }
            Err(error) => return Err(error),
        }
        optimizer.zero_grad();
    }
    assert!(part < 2048, "the whole batch must have been too large");
    Ok(())
}

/// Adds up the gradients of the whole batch, so many rows at a time, and gives the mean loss.
fn gradients(model: &nn::Sequential, x: &Tensor, target: &Tensor, part: usize) -> Result<f32> {
    let rows = x.shape()[0];
    let mut total = 0.0;
    for start in (0..rows).step_by(part) {
        let (x, target) = (x.narrow(0, start, part)?, target.narrow(0, start, part)?);
        let share = part as f64 / rows as f64;
        let loss = (model.forward(&x)?.mse_loss(&target)? * share)?;
        loss.backward()?;
        total += loss.item::<f32>()?;
    }
    Ok(total)
}
