//! A transformer of 111 million parameters: GPT-2's smallest one with a vocabulary of 32,768.

use super::profile::{LayerCost, time};

const BLOCKS: usize = 12;
const WIDTH: usize = 768;
const HIDDEN: usize = 4 * WIDTH;
const VOCABULARY: usize = 32_768;
const CONTEXT: usize = 1024;
const SEQUENCES: usize = 8;
const TOKENS: usize = SEQUENCES * CONTEXT;

pub(super) fn layers() -> Vec<LayerCost> {
    let mut layers = vec![embedding()];
    for _ in 0..BLOCKS {
        layers.extend([norm(), linear(WIDTH, 3 * WIDTH), attention(), linear(WIDTH, WIDTH)]);
        layers.extend([norm(), linear(WIDTH, HIDDEN), gelu(), linear(HIDDEN, WIDTH)]);
    }
    layers.extend([norm(), head()]);
    layers
}

/// One layer whose weight's gradient fills a bucket of 25 MiB.
pub(super) fn bucket() -> Vec<LayerCost> {
    const WIDE: usize = 2560;
    vec![linear(WIDE, WIDE)]
}

/// Tokens and positions. The head uses the same table, so its gradient is complete here, last of all:
/// it is read, added to, and written.
fn embedding() -> LayerCost {
    let (table, positions) = (VOCABULARY * WIDTH, CONTEXT * WIDTH);
    let moved = (TOKENS * WIDTH) as f64;
    LayerCost {
        parameters: vec![table, positions],
        channels: None,
        forward: time(0.0, 3.0 * moved),
        backward: time(0.0, 3.0 * table as f64 + 2.0 * moved),
    }
}

fn norm() -> LayerCost {
    elementwise(TOKENS * WIDTH, vec![WIDTH, WIDTH])
}

fn gelu() -> LayerCost {
    elementwise(TOKENS * HIDDEN, Vec::new())
}

/// Reads so many numbers and writes as many; backward it reads their gradients, too.
fn elementwise(numbers: usize, parameters: Vec<usize>) -> LayerCost {
    LayerCost {
        parameters,
        channels: None,
        forward: time(0.0, 2.0 * numbers as f64),
        backward: time(0.0, 3.0 * numbers as f64),
    }
}

fn linear(from: usize, to: usize) -> LayerCost {
    let moved = (TOKENS * (from + to) + from * to) as f64;
    product(from, to, moved, 2.0 * moved, vec![from * to, to])
}

/// Logits and their cross-entropy.
fn head() -> LayerCost {
    let moved = (3 * TOKENS * VOCABULARY) as f64;
    product(WIDTH, VOCABULARY, moved, moved, Vec::new())
}

/// A product of all tokens with a matrix, which moves so many numbers; backward there are two.
fn product(
    from: usize,
    to: usize,
    moved: f64,
    moved_back: f64,
    parameters: Vec<usize>,
) -> LayerCost {
    let operations = 2.0 * (TOKENS * from * to) as f64;
    LayerCost {
        parameters,
        channels: None,
        forward: time(operations, moved),
        backward: time(2.0 * operations, moved_back),
    }
}

/// Causal attention that keeps no matrix of weights, as FlashAttention: backward computes them anew.
fn attention() -> LayerCost {
    let operations = 2.0 * (TOKENS * CONTEXT * WIDTH) as f64;
    let moved = (4 * TOKENS * WIDTH) as f64;
    LayerCost {
        parameters: Vec::new(),
        channels: None,
        forward: time(operations, moved),
        backward: time(2.5 * operations, 2.0 * moved),
    }
}
