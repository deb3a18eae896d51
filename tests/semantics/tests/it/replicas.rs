//! Models with parameters of their own on each of several GPUs: S27, in the other mode.

use std::sync::OnceLock;

use nn::optim::{Optimizer, SGD};
use nn::{Dropout, Forward, Linear, Module, ReLU, Sequential};
use parallel::Replicas;
use semantics::devices;
use tensor::{DType, Device, Result, Tensor, cuda};

/// Small, so that schedules are many; the tests of `parallel` train longer.
const STEPS: u64 = 3;

fn model() -> Result<Sequential> {
    let _seed = tensor::enter_manual_seed(3);
    Ok(Sequential::new().push(Linear::new(6, 8)?).push(ReLU).push(Linear::new(8, 3)?))
}

fn sgd(parameters: Vec<Tensor>) -> Result<SGD> {
    SGD::new(parameters, 0.1).momentum(0.9).build()
}

type Batch = (Tensor, Tensor);

fn batch(step: u64) -> Result<Batch> {
    let _seed = tensor::enter_manual_seed(step);
    Ok((Tensor::randn([10, 6], ())?, Tensor::randint(0, 3, [10], DType::I64)?))
}

fn loss(model: &impl Forward<Tensor, Output = Tensor>, (x, y): Batch) -> Result<Tensor> {
    model.forward(&x)?.cross_entropy(&y)
}

fn parameters(model: &dyn Module) -> Result<Vec<f32>> {
    let values = model.parameters().into_iter().map(|p| p.detach().to_vec::<f32>());
    Ok(values.collect::<Result<Vec<_>>>()?.concat())
}

#[test]
pub(crate) fn s27_replicas_train_what_one_device_trains() -> Result<()> {
    if !devices(2, s27_replicas_train_what_one_device_trains) {
        return Ok(());
    }
    let first = Device::cuda_at(0);
    let mut alone = model()?;
    alone.to(first)?;
    let mut optimizer = sgd(alone.parameters())?;
    for step in 0..STEPS {
        let (x, y) = batch(step)?;
        optimizer.zero_grad();
        loss(&alone, (x.to(first)?, y.to(first)?))?.backward()?;
        optimizer.step()?;
    }
    for count in [2, cuda::device_count().min(4)] {
        let devices = (0..count).map(Device::cuda_at);
        let mut replicas =
            Replicas::builder(model()?, devices).optimizer(sgd).bucket_bytes(64).build()?;
        for step in 0..STEPS {
            replicas.step(batch(step)?, loss)?;
        }
        replicas.verify()?;
        for (found, expected) in parameters(replicas.model())?.iter().zip(parameters(&alone)?) {
            assert!((found - expected).abs() < 1e-5, "{found} and {expected}");
        }
    }
    Ok(())
}

#[test]
pub(crate) fn s27_replicas_train_the_same_bits_whatever_runs_first() -> Result<()> {
    static FIRST: OnceLock<Vec<u32>> = OnceLock::new();
    if !devices(2, s27_replicas_train_the_same_bits_whatever_runs_first) {
        return Ok(());
    }
    let _seed = tensor::enter_manual_seed(5);
    let model = Sequential::new().push(Linear::new(6, 8)?).push(Dropout::new(0.5)?);
    let model = model.push(Linear::new(8, 3)?);
    let devices = (0..cuda::device_count().min(4)).map(Device::cuda_at);
    let mut replicas = Replicas::builder(model, devices).optimizer(sgd).bucket_bytes(64).build()?;
    for step in 0..STEPS {
        replicas.step(batch(step)?, loss)?;
    }
    let bits: Vec<u32> = parameters(replicas.model())?.into_iter().map(f32::to_bits).collect();
    assert_eq!(&bits, FIRST.get_or_init(|| bits.clone()));
    Ok(())
}
