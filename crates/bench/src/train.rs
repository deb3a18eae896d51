//! Training steps: forward, loss, gradients, optimizer.

use nn::optim::{Adam, Optimizer, SGD};
use nn::{
    Conv2d, Embedding, Flatten, Forward, LSTM, LayerNorm, Linear, MaxPool2d, Module, ReLU,
    Sequential, sequential,
};
use tensor::{DType, Tensor};

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric::Steps;
use crate::place::BenchTarget;

const BATCH: usize = 128;
const PIXELS: usize = 784;
const HIDDEN: usize = 512;
const CLASSES: usize = 10;
const IMAGES: usize = 64;
/// The elements of a position of the transformer, and the heads of its attention.
const WIDTH: usize = 256;
const HEADS: usize = 4;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let pixels = place.randn([BATCH, PIXELS])?;
    let classes = Tensor::randint(0, CLASSES as i64, [BATCH], (DType::I64, place.device()))?;

    let model = perceptron(place)?;
    let mut sgd = SGD::new(model.parameters(), 0.01).momentum(0.9).build()?;
    bench.case(place, "train/mlp_sgdm", Steps, || step(&model, &mut sgd, &pixels, &classes))?;

    let model = perceptron(place)?;
    let mut adam = Adam::new(model.parameters(), 1e-3).build()?;
    bench.case(place, "train/mlp_adam", Steps, || step(&model, &mut adam, &pixels, &classes))?;

    let images = place.randn([IMAGES, 1, 28, 28])?;
    let classes = Tensor::randint(0, CLASSES as i64, [IMAGES], (DType::I64, place.device()))?;
    let model = convolutional(place)?;
    let mut sgd = SGD::new(model.parameters(), 0.01).momentum(0.9).build()?;
    bench.case(place, "train/cnn_sgdm", Steps, || step(&model, &mut sgd, &images, &classes))?;

    let block = AttentionBlock::new(place)?;
    let sequences = place.randn([16, 128, WIDTH])?;
    bench.case(place, "train/xformer_fwdbwd", Steps, || {
        block.zero_grad();
        block.forward(&sequences)?.square()?.mean(())?.backward()
    })?;

    let words = Tensor::randint(0, 1000, [32, 64], (DType::I64, place.device()))?;
    let embedding = Embedding::new_with(1000, 128, place.device())?;
    let lstm = LSTM::builder(128, 128).batch_first().tensors(place.device()).build()?;
    bench.case(place, "train/lstm_fwdbwd", Steps, || {
        embedding.zero_grad();
        lstm.zero_grad();
        let (output, _) = lstm.forward(&embedding.forward(&words)?)?;
        output.square()?.mean(())?.backward()
    })
}

/// A layer of a transformer, whose attention sees all positions.
#[derive(Module)]
struct AttentionBlock {
    l1: LayerNorm,
    l2: LayerNorm,
    qkv: Linear,
    o: Linear,
    u: Linear,
    d: Linear,
}

impl AttentionBlock {
    fn new(place: &BenchTarget) -> tensor::Result<AttentionBlock> {
        let linear = |from, to| Linear::new_with(from, to, place.device());
        let norm = || LayerNorm::new_with([WIDTH], place.device());
        Ok(AttentionBlock {
            l1: norm()?,
            l2: norm()?,
            qkv: linear(WIDTH, 3 * WIDTH)?,
            o: linear(WIDTH, WIDTH)?,
            u: linear(WIDTH, 4 * WIDTH)?,
            d: linear(4 * WIDTH, WIDTH)?,
        })
    }
}

impl Forward for AttentionBlock {
    type Output = Tensor;

    fn forward(&self, x: &Tensor) -> tensor::Result<Tensor> {
        let &[batch, positions, _] = x.shape() else { panic!("sequences have three dimensions") };
        let by_heads =
            |x: &Tensor| x.reshape([batch, positions, HEADS, WIDTH / HEADS])?.transpose(1, 2);
        let parts = self.qkv.forward(&self.l1.forward(x)?)?.chunk(3, -1)?;
        let [q, k, v] = [by_heads(&parts[0])?, by_heads(&parts[1])?, by_heads(&parts[2])?];
        let seen = q.scaled_dot_product_attention(&k, &v, ())?.transpose(1, 2)?;
        let x = x.add(&self.o.forward(&seen.reshape([batch, positions, WIDTH])?)?)?;
        x.add(&self.d.forward(&self.u.forward(&self.l2.forward(&x)?)?.gelu_tanh()?)?)
    }
}

fn convolutional(place: &BenchTarget) -> tensor::Result<Sequential> {
    let conv = |from, to| Conv2d::new_with(from, to, 3, (), place.device());
    let linear = |from, to| Linear::new_with(from, to, place.device());
    Ok(sequential![
        conv(1, 32)?,
        ReLU,
        conv(32, 64)?,
        ReLU,
        MaxPool2d::new(2),
        Flatten,
        linear(64 * 12 * 12, 128)?,
        ReLU,
        linear(128, CLASSES)?
    ])
}

fn perceptron(place: &BenchTarget) -> tensor::Result<Sequential> {
    let linear = |from, to| Linear::new_with(from, to, place.device());
    Ok(sequential![
        linear(PIXELS, HIDDEN)?,
        ReLU,
        linear(HIDDEN, HIDDEN)?,
        ReLU,
        linear(HIDDEN, CLASSES)?
    ])
}

fn step(
    model: &Sequential,
    optimizer: &mut impl Optimizer,
    input: &Tensor,
    target: &Tensor,
) -> tensor::Result<()> {
    optimizer.zero_grad();
    model.forward(input)?.cross_entropy(target)?.backward()?;
    optimizer.step()
}
