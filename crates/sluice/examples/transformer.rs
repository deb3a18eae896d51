//! A small transformer, which learns a text character by character and writes some of it.
//!
//! ```sh
//! cargo run --release --example transformer
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use sluice::nn::{Embedding, GELU, LayerNorm, Linear, Sequential};
use sluice::prelude::*;

/// From the first chapter of "Alice's Adventures in Wonderland" (L. Carroll, 1865; public domain).
const TEXT: &str = "Alice was beginning to get very tired of sitting by her sister on the bank, and \
    of having nothing to do: once or twice she had peeped into the book her sister was reading, but \
    it had no pictures or conversations in it, and what is the use of a book, thought Alice, without \
    pictures or conversations?";
const CONTEXT: usize = 32;
const WIDTH: usize = 64;

/// Attention to earlier characters, and a layer of its own for each.
#[derive(Module)]
struct TransformerBlock {
    norm1: LayerNorm,
    qkv: Linear,
    out: Linear,
    norm2: LayerNorm,
    mlp: Sequential,
    heads: usize,
}

impl TransformerBlock {
    fn new(heads: usize) -> Result<TransformerBlock> {
        Ok(TransformerBlock {
            norm1: LayerNorm::new([WIDTH])?,
            qkv: Linear::new(WIDTH, 3 * WIDTH)?,
            out: Linear::new(WIDTH, WIDTH)?,
            norm2: LayerNorm::new([WIDTH])?,
            mlp: sequential![Linear::new(WIDTH, 4 * WIDTH)?, GELU, Linear::new(4 * WIDTH, WIDTH)?],
            heads,
        })
    }
}

impl Forward for TransformerBlock {
    type Output = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let [b, t, d] = x.sizes()?;
        let qkv = self.qkv.forward(&self.norm1.forward(x)?)?;
        let qkv = qkv.view((b, t, 3, self.heads, d / self.heads))?.permute((2, 0, 3, 1, 4))?;
        let (q, k, v) = (qkv.i(0)?, qkv.i(1)?, qkv.i(2)?);
        let scores = (q.matmul(&k.transpose(-2, -1)?)? / ((d / self.heads) as f64).sqrt())?;
        let later = Tensor::ones([t, t], (DType::Bool, x.device()))?.triu(1)?;
        let weights = scores.masked_fill(&later, f64::NEG_INFINITY)?.softmax(-1)?;
        let mixed = weights.matmul(&v)?.transpose(1, 2)?.reshape((b, t, d))?;
        let x = (x + self.out.forward(&mixed))?;
        &x + self.mlp.forward(&self.norm2.forward(&x)?)
    }
}

#[derive(Module)]
struct Transformer {
    characters: Embedding,
    places: Embedding,
    blocks: Vec<TransformerBlock>,
    norm: LayerNorm,
    head: Linear,
}

impl Transformer {
    fn new(vocabulary: usize) -> Result<Transformer> {
        Ok(Transformer {
            characters: Embedding::new(vocabulary, WIDTH)?,
            places: Embedding::new(CONTEXT, WIDTH)?,
            blocks: (0..2).map(|_| TransformerBlock::new(4)).collect::<Result<_>>()?,
            norm: LayerNorm::new([WIDTH])?,
            head: Linear::new(WIDTH, vocabulary)?,
        })
    }
}

impl Forward for Transformer {
    type Output = Tensor;

    /// The scores of the next character after each of `[batch, time]`.
    fn forward(&self, text: &Tensor) -> Result<Tensor> {
        let places = Tensor::arange(text.size(1)?, (DType::I64, text.device()))?;
        let mut x = (self.characters.forward(text)? + self.places.forward(&places)?)?;
        for block in &self.blocks {
            x = block.forward(&x)?;
        }
        self.head.forward(&self.norm.forward(&x)?)
    }
}

fn main() -> Result<()> {
    sluice::manual_seed(0);
    let device = if cuda::is_available() { Device::cuda() } else { Device::Cpu };
    let mut vocabulary: Vec<char> = TEXT.chars().collect();
    vocabulary.sort_unstable();
    vocabulary.dedup();
    let number = |c| vocabulary.iter().position(|&other| other == c).map_or(0, |at| at as i64);
    let numbers: Vec<i64> = TEXT.chars().map(number).collect();
    let text = Tensor::new(&numbers, device)?;
    let last = text.numel() - CONTEXT - 1;

    let mut model = Transformer::new(vocabulary.len())?;
    model.to(device)?;
    let mut optimizer = optim::Adam::new(model.parameters(), 3e-3).build()?;
    for step in 1..=150 {
        let starts = Tensor::randint(0, last as i64, [16, 1], (DType::I64, device))?;
        let windows = text.i(&(starts + Tensor::arange(CONTEXT + 1, (DType::I64, device))?)?)?;
        let (input, next) = (windows.i((.., ..CONTEXT))?, windows.i((.., 1..))?);
        let scores = model.forward(&input)?.reshape((-1, vocabulary.len()))?;
        let loss = scores.cross_entropy(&next.flatten()?)?;
        optimizer.zero_grad();
        loss.backward()?;
        optimizer.step()?;
        if step % 50 == 0 {
            println!("step {step}: loss {:.2}", loss.item::<f32>()?);
        }
    }

    let mut written = text.i(..CONTEXT)?;
    for _ in 0..60 {
        let context = written.i(-(CONTEXT as i64)..)?.unsqueeze(0)?;
        let next = no_grad(|| model.forward(&context)?.i((0, -1))?.argmax(keepdim(-1)))?;
        written = Tensor::cat([&written, &next], 0)?;
    }
    let written: Vec<i64> = written.to_vec()?;
    let written: String = written.iter().map(|&number| vocabulary[number as usize]).collect();
    println!("{written}");
    Ok(())
}
