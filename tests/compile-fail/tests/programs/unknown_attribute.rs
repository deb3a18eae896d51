//! Attributes that do not exist, or contradict each other.

use nn::Module;
use tensor::Tensor;

#[derive(Module)]
struct Misspelt {
    #[module(bufer)]
    mean: Tensor,
}

#[derive(Module)]
struct Both {
    #[module(buffer, skip)]
    mean: Tensor,
}

#[derive(Module)]
struct Dotted {
    #[module(rename = "a.b")]
    mean: Tensor,
}

#[derive(Module)]
struct Twice {
    #[module(training)]
    first: bool,
    #[module(training)]
    second: bool,
}

#[derive(Module)]
struct NoBuffer {
    #[module(persistent = false)]
    mean: Tensor,
}

fn main() {}
