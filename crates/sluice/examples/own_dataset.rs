//! A data set of one's own: numbered samples, which workers make while the model learns.
//!
//! ```sh
//! cargo run --release --example own_dataset
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::f32::consts::PI;

use sluice::prelude::*;

/// Points on two spirals, which a line cannot tell apart.
struct Spirals {
    /// The number of points on each.
    points: usize,
}

impl Dataset for Spirals {
    type Sample = (Tensor, i64);
    type Error = sluice::Error;

    fn len(&self) -> usize {
        2 * self.points
    }

    /// The point at `index`, moved a little: differently in each epoch, since the loader seeds the
    /// generators anew for each sample, and the same for any number of workers.
    fn get(&self, index: usize) -> Result<(Tensor, i64)> {
        let (spiral, number) = (index % 2, index / 2);
        let radius = (number as f32 + 0.5) / self.points as f32;
        let angle = 3.0 * PI * radius + PI * spiral as f32;
        let point = tensor![radius * angle.cos(), radius * angle.sin()]?;
        let noise = (0.01 * Tensor::randn([2], ())?)?;
        Ok(((point + noise)?, spiral as i64))
    }
}

fn main() -> Result<()> {
    sluice::manual_seed(0);
    let loader = DataLoader::builder(Spirals { points: 200 })
        .batch_size(50)
        .shuffle(0)
        .workers(2)
        .build()?;
    let model = sequential![
        nn::Linear::new(2, 64)?,
        nn::ReLU,
        nn::Linear::new(64, 64)?,
        nn::ReLU,
        nn::Linear::new(64, 2)?
    ];
    let mut optimizer = optim::Adam::new(model.parameters(), 5e-3).build()?;

    let mut share = 0.0;
    for epoch in 0..60 {
        let mut right = 0;
        for batch in &loader {
            let (points, spirals) = batch?;
            let scores = model.forward(&points)?;
            right += scores.argmax(-1)?.eq(&spirals)?.sum(())?.item::<i64>()?;
            let loss = scores.cross_entropy(&spirals)?;
            optimizer.zero_grad();
            loss.backward()?;
            optimizer.step()?;
        }
        share = right as f64 / 400.0;
        if epoch % 10 == 9 {
            println!(
                "epoch {:2}: {:.1} % of the points on the right spiral",
                epoch + 1,
                100.0 * share
            );
        }
    }
    assert!(share > 0.9, "{share}");
    Ok(())
}
