//! A small transformer, trained on random characters, and writing some.

use candle_core::{D, DType, Device, IndexOp, Module, Result, Tensor};
use candle_nn::{
    Activation, AdamW, Embedding, LayerNorm, Linear, Optimizer, ParamsAdamW, Sequential,
    VarBuilder, VarMap, embedding, layer_norm, linear, loss, ops, seq,
};

const CONTEXT: usize = 32;
const WIDTH: usize = 64;

struct Block {
    norm1: LayerNorm,
    qkv: Linear,
    out: Linear,
    norm2: LayerNorm,
    mlp: Sequential,
    heads: usize,
}

impl Block {
    fn new(heads: usize, vb: VarBuilder) -> Result<Block> {
        let up = linear(WIDTH, 4 * WIDTH, vb.pp("mlp.0"))?;
        let down = linear(4 * WIDTH, WIDTH, vb.pp("mlp.2"))?;
        Ok(Block {
            norm1: layer_norm(WIDTH, 1e-5, vb.pp("norm1"))?,
            qkv: linear(WIDTH, 3 * WIDTH, vb.pp("qkv"))?,
            out: linear(WIDTH, WIDTH, vb.pp("out"))?,
            norm2: layer_norm(WIDTH, 1e-5, vb.pp("norm2"))?,
            mlp: seq().add(up).add(Activation::Gelu).add(down),
            heads,
        })
    }
}

impl Module for Block {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (b, t, d) = x.dims3()?;
        let qkv = self.qkv.forward(&normalized(&self.norm1, x)?)?;
        let qkv = qkv.reshape((b, t, 3, self.heads, d / self.heads))?.permute((2, 0, 3, 1, 4))?;
        let (q, k, v) = (qkv.i(0)?.contiguous()?, qkv.i(1)?, qkv.i(2)?.contiguous()?);
        let scores = (q.matmul(&k.t()?.contiguous()?)? / ((d / self.heads) as f64).sqrt())?;
        let seen = Tensor::tril2(t, DType::U8, x.device())?.broadcast_as(scores.shape())?;
        let never = Tensor::full(f32::NEG_INFINITY, scores.shape(), x.device())?;
        let weights = ops::softmax(&seen.where_cond(&scores, &never)?, D::Minus1)?;
        let mixed = weights.matmul(&v)?.transpose(1, 2)?.reshape((b, t, d))?;
        let x = (x + self.out.forward(&mixed)?)?;
        &x + self.mlp.forward(&normalized(&self.norm2, &x)?)?
    }
}

/// candle's own `LayerNorm::forward` has no gradient.
fn normalized(norm: &LayerNorm, x: &Tensor) -> Result<Tensor> {
    ops::layer_norm_slow(x, norm.weight(), norm.bias().unwrap(), 1e-5)
}

struct Transformer {
    characters: Embedding,
    places: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
}

impl Module for Transformer {
    fn forward(&self, text: &Tensor) -> Result<Tensor> {
        let places = Tensor::arange(0, text.dim(1)? as u32, text.device())?;
        let places = self.places.forward(&places)?;
        let mut x = self.characters.forward(text)?.broadcast_add(&places)?;
        for block in &self.blocks {
            x = block.forward(&x)?;
        }
        self.head.forward(&normalized(&self.norm, &x)?)
    }
}

fn main() -> Result<()> {
    let device = Device::Cpu;
    let text = Tensor::rand(0f32, 30.0, 1000, &device)?.to_dtype(DType::U32)?;
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, &device);
    let model = Transformer {
        characters: embedding(30, WIDTH, vb.pp("characters"))?,
        places: embedding(CONTEXT, WIDTH, vb.pp("places"))?,
        blocks: vec![Block::new(4, vb.pp("blocks.0"))?, Block::new(4, vb.pp("blocks.1"))?],
        norm: layer_norm(WIDTH, 1e-5, vb.pp("norm"))?,
        head: linear(WIDTH, 30, vb.pp("head"))?,
    };
    let params = ParamsAdamW { lr: 3e-3, weight_decay: 0.0, ..Default::default() };
    let mut optimizer = AdamW::new(map.all_vars(), params)?;
    let window = Tensor::arange(0, CONTEXT as u32 + 1, &device)?;
    for _ in 0..10 {
        let last = (1000 - CONTEXT - 1) as f32;
        let starts = Tensor::rand(0f32, last, (16, 1), &device)?.to_dtype(DType::U32)?;
        let windows = starts.broadcast_add(&window)?.flatten_all()?;
        let windows = text.index_select(&windows, 0)?.reshape((16, CONTEXT + 1))?;
        let scores = model.forward(&windows.i((.., ..CONTEXT))?)?.reshape(((), 30))?;
        let loss = loss::cross_entropy(&scores, &windows.i((.., 1..))?.flatten_all()?)?;
        optimizer.backward_step(&loss)?;
    }
    let mut written = text.i(..CONTEXT)?;
    for _ in 0..20 {
        let context = written.i(written.dim(0)? - CONTEXT..)?.unsqueeze(0)?;
        let next = model.forward(&context)?.i((0, CONTEXT - 1))?.argmax_keepdim(0)?;
        written = Tensor::cat(&[&written, &next], 0)?;
    }
    println!("{written}");
    Ok(())
}
