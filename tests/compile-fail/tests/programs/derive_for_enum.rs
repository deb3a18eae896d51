//! Enums whose variants are no modules.

use nn::{Linear, Module};
use tensor::Tensor;

#[derive(Module)]
enum Scale {
    Full(Linear),
    /// A parameter needs a name: `Diagonal { diagonal: Tensor }`.
    Diagonal(Tensor),
}

#[derive(Module)]
enum Layer {
    #[module(rename = "linear")]
    Linear(Linear),
}

#[derive(Module)]
enum Never {}

fn main() {}
