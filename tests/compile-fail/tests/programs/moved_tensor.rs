//! A tensor that is used again after it was given away.

use tensor::Tensor;

fn keep(_: Tensor) {}

fn main() -> tensor::Result<()> {
    let x = Tensor::ones([3], ())?;
    keep(x);
    println!("{}", x.sum(())?);
    Ok(())
}
