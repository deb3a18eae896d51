//! A struct of layers that does not say that it is a module.

use nn::{Forward, Linear, Module, Result};
use tensor::Tensor;

struct Net {
    fc: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.fc.forward(input)
    }
}

#[derive(Module)]
struct Pair {
    left: Net,
    right: Linear,
}

fn main() {}
