//! Fields that are neither tensors nor modules nor plain values.

use std::sync::Mutex;
use std::time::Duration;

use nn::Module;
use tensor::Tensor;

#[derive(Module)]
struct Timed {
    patience: Duration,
    weight: Tensor,
    seen: Vec<Mutex<u64>>,
    #[module(buffer)]
    means: Vec<Tensor>,
    #[module(skip)]
    left_out: Duration,
}

fn main() {}
