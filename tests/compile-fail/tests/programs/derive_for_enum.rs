//! An enum of layers.

use nn::{Dropout, Linear, Module};

#[derive(Module)]
enum Layer {
    Linear(Linear),
    Dropout(Dropout),
}

fn main() {}
