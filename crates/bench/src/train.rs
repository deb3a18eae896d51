//! Training steps: forward, loss, gradients, optimizer.

use nn::optim::{Adam, Optimizer, SGD};
use nn::{Forward, Linear, Module, ReLU, Sequential, sequential};
use tensor::{DType, Tensor};

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric::Steps;
use crate::place::BenchTarget;

const BATCH: usize = 128;
const PIXELS: usize = 784;
const HIDDEN: usize = 512;
const CLASSES: usize = 10;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let pixels = place.randn([BATCH, PIXELS])?;
    let classes = Tensor::randint(0, CLASSES as i64, [BATCH], (DType::I64, place.device()))?;

    let model = perceptron(place)?;
    let mut sgd = SGD::new(model.parameters(), 0.01).momentum(0.9).build()?;
    bench.case(place, "train/mlp_sgdm", Steps, || step(&model, &mut sgd, &pixels, &classes))?;

    let model = perceptron(place)?;
    let mut adam = Adam::new(model.parameters(), 1e-3).build()?;
    bench.case(place, "train/mlp_adam", Steps, || step(&model, &mut adam, &pixels, &classes))?;

    bench.missing("train/cnn_sgdm", Steps)?;
    bench.missing("train/xformer_fwdbwd", Steps)?;
    bench.missing("train/lstm_fwdbwd", Steps)
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
