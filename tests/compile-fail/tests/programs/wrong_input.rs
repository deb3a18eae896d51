//! Inputs of other types than the module's.

use nn::{Forward, Linear, Module, Result, sequential};
use tensor::Tensor;

#[derive(Module)]
struct Attention {
    query: Linear,
}

impl Forward for Attention {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.query.forward(input)
    }
}

impl Forward<(Tensor, Tensor)> for Attention {
    type Output = Tensor;

    fn forward(&self, (query, keys): &(Tensor, Tensor)) -> Result<Tensor> {
        self.query.forward(query)? * keys
    }
}

fn main() -> Result<()> {
    let model = sequential![Linear::new(3, 2)?];
    let x = Tensor::ones([1, 3], ())?;
    model.forward(&(x.clone(), x.clone()))?;
    model.forward(x)?;
    let attention = Attention { query: Linear::new(3, 2)? };
    attention.forward(&[1.0, 2.0])?;
    Ok(())
}
