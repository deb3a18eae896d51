//! A small transformer, trained on random characters, and writing some.
#![allow(clippy::print_stdout, reason = "it shows its result")]

use sluice::nn::{Embedding, GELU, LayerNorm, Linear, Sequential};
use sluice::prelude::*;

const CONTEXT: usize = 32;
const WIDTH: usize = 64;

#[derive(Module)]
struct Block {
    norm1: LayerNorm,
    qkv: Linear,
    out: Linear,
    norm2: LayerNorm,
    mlp: Sequential,
    heads: usize,
}

impl Block {
    fn new(heads: usize) -> Result<Block> {
        Ok(Block {
            norm1: LayerNorm::new([WIDTH])?,
            qkv: Linear::new(WIDTH, 3 * WIDTH)?,
            out: Linear::new(WIDTH, WIDTH)?,
            norm2: LayerNorm::new([WIDTH])?,
            mlp: sequential![Linear::new(WIDTH, 4 * WIDTH)?, GELU, Linear::new(4 * WIDTH, WIDTH)?],
            heads,
        })
    }
}

impl Forward for Block {
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
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
}

impl Forward for Transformer {
    type Output = Tensor;

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
    let text = Tensor::randint(0, 30, [1000], DType::I64)?;
    let model = Transformer {
        characters: Embedding::new(30, WIDTH)?,
        places: Embedding::new(CONTEXT, WIDTH)?,
        blocks: vec![Block::new(4)?, Block::new(4)?],
        norm: LayerNorm::new([WIDTH])?,
        head: Linear::new(WIDTH, 30)?,
    };
    let mut optimizer = optim::Adam::new(model.parameters(), 3e-3).build()?;
    for _ in 0..10 {
        let starts = Tensor::randint(0, (1000 - CONTEXT - 1) as i64, [16, 1], DType::I64)?;
        let windows = text.i(&(starts + Tensor::arange(CONTEXT + 1, DType::I64)?)?)?;
        let scores = model.forward(&windows.i((.., ..CONTEXT))?)?.reshape((-1, 30))?;
        let loss = scores.cross_entropy(&windows.i((.., 1..))?.flatten()?)?;
        optimizer.zero_grad();
        loss.backward()?;
        optimizer.step()?;
    }
    let mut written = text.i(..CONTEXT)?;
    for _ in 0..20 {
        let context = written.i((NewAxis, -(CONTEXT as i64)..))?;
        let next = no_grad(|| model.forward(&context)?.i((0, -1))?.argmax(keepdim(-1)))?;
        written = Tensor::cat([&written, &next], 0)?;
    }
    println!("{written}");
    Ok(())
}
