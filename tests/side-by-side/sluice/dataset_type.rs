//! A data set of a type of its own, in batches that workers make.
#![allow(clippy::print_stdout, reason = "it shows its result")]

use sluice::prelude::*;

struct Squares;

impl Dataset for Squares {
    type Sample = (Tensor, i64);
    type Error = sluice::Error;

    fn len(&self) -> usize {
        1000
    }

    fn get(&self, index: usize) -> Result<(Tensor, i64)> {
        Ok((tensor![index as f64, (index * index) as f64]?, index as i64 % 2))
    }
}

fn main() -> Result<()> {
    let loader = DataLoader::builder(Squares).batch_size(32).shuffle(0).workers(2).build()?;
    for batch in &loader {
        let (x, label) = batch?;
        println!("{:?} {}", x.shape(), label.sum(())?.item::<i64>()?);
    }
    Ok(())
}
