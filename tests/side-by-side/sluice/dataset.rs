//! A data set of a function, in batches that workers make.
#![allow(clippy::print_stdout, reason = "it shows its result")]

use sluice::{data, prelude::*};

fn main() -> Result<()> {
    let squares = data::from_fn(1000, |index| {
        Ok((tensor![index as f64, (index * index) as f64]?, index as i64 % 2))
    });
    let loader = DataLoader::builder(squares).batch_size(32).shuffle(0).workers(2).build()?;
    for batch in &loader {
        let (x, label) = batch?;
        println!("{:?} {}", x.shape(), label.sum(())?.item::<i64>()?);
    }
    Ok(())
}
