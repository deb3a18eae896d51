//! `Replicas`: the same model as one device trains, what each replica does by itself, and failures.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use nn::optim::{Adam, Optimizer, SGD};
use nn::{
    Dropout, Forward, Linear, Module, ReLU, Result, Sequential, StateDict, StateError, Stateful,
};
use parallel::{BufferSync, Replicas, ReplicasError};
use tensor::{DType, Device, Tensor, no_grad, with_manual_seed};

use crate::four_devices;

pub(crate) fn devices(count: usize) -> Vec<Device> {
    four_devices();
    (0..count).map(Device::cuda_at).collect()
}

pub(crate) fn perceptron() -> Result<Sequential> {
    with_manual_seed(1, || {
        Ok(Sequential::new().push(Linear::new(6, 8)?).push(ReLU).push(Linear::new(8, 3)?))
    })
}

pub(crate) type Batch = (Tensor, Tensor);

pub(crate) fn batch(samples: usize, seed: u64) -> Result<Batch> {
    with_manual_seed(seed, || {
        Ok((Tensor::randn([samples, 6], ())?, Tensor::randint(0, 3, [samples], DType::I64)?))
    })
}

pub(crate) fn loss(model: &impl Forward<Tensor, Output = Tensor>, (x, y): Batch) -> Result<Tensor> {
    model.forward(&x)?.cross_entropy(&y)
}

pub(crate) fn values(model: &dyn Module) -> Vec<f32> {
    let values = |(_, p): (String, Tensor)| p.detach().to_vec::<f32>().expect("floats");
    model.named_parameters().into_iter().flat_map(values).collect()
}

pub(crate) fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{found} {expected}");
    }
}

/// The parameters after 20 steps on one device, without replicas.
pub(crate) fn trained_alone<O: Optimizer>(
    make: impl Fn(Vec<Tensor>) -> Result<O>,
    samples: usize,
) -> Result<Vec<f32>> {
    let mut model = perceptron()?;
    model.to(Device::cuda_at(0))?;
    let mut optimizer = make(model.parameters())?;
    for step in 0..20 {
        let (x, y) = batch(samples, step)?;
        let loss = loss(&model, (x.to(Device::cuda_at(0))?, y.to(Device::cuda_at(0))?))?;
        optimizer.zero_grad();
        loss.backward()?;
        optimizer.step()?;
    }
    Ok(values(&model))
}

fn trained<O: Optimizer + Send + 'static>(
    make: impl Fn(Vec<Tensor>) -> Result<O> + 'static,
    samples: usize,
    count: usize,
) -> Result<Vec<f32>> {
    let mut replicas = Replicas::builder(perceptron()?, devices(count))
        .optimizer(make)
        .bucket_bytes(100)
        .verify_every(5)
        .build()?;
    for step in 0..20 {
        replicas.step(batch(samples, step)?, loss)?;
    }
    replicas.verify()?;
    Ok(values(replicas.model()))
}

#[test]
fn replicas_train_what_one_device_trains() -> Result<()> {
    let sgd = |p| SGD::new(p, 0.1).momentum(0.9).build();
    let adam = |p| Adam::new(p, 0.01).build();
    devices(4);
    for samples in [8, 10, 3] {
        let alone = trained_alone(sgd, samples)?;
        for count in [1, 2, 3, 4] {
            assert_close(&trained(sgd, samples, count)?, &alone);
        }
    }
    let alone = trained_alone(adam, 10)?;
    for count in [1, 2, 3, 4] {
        assert_close(&trained(adam, 10, count)?, &alone);
    }
    Ok(())
}

#[test]
fn one_replica_trains_the_very_same_model() -> Result<()> {
    let sgd = |p| SGD::new(p, 0.1).momentum(0.9).build();
    devices(1);
    assert_eq!(trained(sgd, 8, 1)?, trained_alone(sgd, 8)?);
    Ok(())
}

#[test]
fn two_runs_train_the_same_bits() -> Result<()> {
    let adam = |p| Adam::new(p, 0.01).build();
    let bits =
        || Ok::<Vec<_>, tensor::Error>(trained(adam, 10, 4)?.iter().map(|v| v.to_bits()).collect());
    assert_eq!(bits()?, bits()?);
    Ok(())
}

#[test]
fn replicas_run_at_the_same_time_on_their_own_devices() -> Result<()> {
    let mut replicas = Replicas::new(perceptron()?, devices(4))?;
    // Whoever runs alone waits here for ever.
    let all_are_here = Barrier::new(4);
    let on = replicas.map(Tensor::ones([4, 6], ())?, |model, part| {
        all_are_here.wait();
        let current = Tensor::zeros([1], Device::cuda())?.device();
        Ok((part.device(), model.parameters()[0].device(), current))
    })?;
    let expected = devices(4).into_iter().map(|device| (device, device, device));
    assert_eq!(on, expected.collect::<Vec<_>>());
    Ok(())
}

#[test]
fn the_loss_of_the_whole_batch_is_the_mean_by_samples() -> Result<()> {
    let mut replicas = Replicas::new(perceptron()?, devices(4))?;
    let (x, y) = batch(10, 0)?;
    let found = replicas.step((x.clone(), y.clone()), loss)?;
    assert_eq!(found.parts().count(), 4);
    let expected = loss(&perceptron()?, (x, y))?.item::<f32>()?;
    assert_close(&[found.mean()?.item()?], &[expected]);
    Ok(())
}

#[test]
fn a_loss_that_is_no_single_number_is_refused() -> Result<()> {
    for count in [1, 2] {
        let mut replicas = Replicas::new(perceptron()?, devices(count))?;
        let losses = replicas.step(batch(4, 0)?, |model, (x, _)| model.forward(&x));
        let error = losses.expect_err("there is a number for each output").to_string();
        assert!(error.contains("reduce it to one number"), "{error}");
    }
    Ok(())
}

#[test]
fn without_an_optimizer_the_gradients_of_the_whole_batch_are_left() -> Result<()> {
    let mut replicas = Replicas::new(perceptron()?, devices(2))?;
    let (x, y) = batch(7, 0)?;
    replicas.step((x.clone(), y.clone()), loss)?;
    let model = perceptron()?;
    loss(&model, (x, y))?.backward()?;
    let gradients = |model: &Sequential| {
        let gradient = |p: Tensor| p.grad().expect("one").to_vec::<f32>().expect("floats");
        model.parameters().into_iter().flat_map(gradient).collect::<Vec<_>>()
    };
    assert_close(&gradients(replicas.model()), &gradients(&model));
    Ok(())
}

#[test]
fn accumulated_gradients_are_summed_by_the_next_step() -> Result<()> {
    let make = |p| SGD::new(p, 0.1).build();
    let (x, y) = batch(8, 0)?;
    let mut whole = Replicas::builder(perceptron()?, devices(2)).optimizer(make).build()?;
    whole.step((x.clone(), y.clone()), loss)?;

    let mut parts = Replicas::builder(perceptron()?, devices(2)).optimizer(make).build()?;
    let half = |begin| Ok::<_, tensor::Error>((x.narrow(0, begin, 4)?, y.narrow(0, begin, 4)?));
    let half_loss = |model: &Sequential, part: Batch| loss(model, part)?.div(2.0);
    parts.accumulate(half(0)?, half_loss)?;
    parts.step(half(4)?, half_loss)?;
    assert_close(&values(parts.model()), &values(whole.model()));
    Ok(())
}

#[test]
fn each_replica_drops_out_by_its_own_numbers_that_follow_from_the_seed() -> Result<()> {
    let masks = || {
        with_manual_seed(7, || {
            let mut replicas = Replicas::new(Dropout::new(0.5)?, devices(4))?;
            let ones = Tensor::ones([4, 64], ())?;
            let masks = replicas.map(ones, |dropout, x| dropout.forward(&x)?.to_vec::<f32>())?;
            Ok::<_, tensor::Error>(masks)
        })
    };
    let drawn = masks()?;
    assert_eq!(drawn, masks()?);
    for (rank, mask) in drawn.iter().enumerate() {
        assert!(!drawn[..rank].contains(mask), "rank {rank} has the mask of another one");
    }
    Ok(())
}

#[test]
fn batches_may_be_nested() -> Result<()> {
    let mut replicas = Replicas::new(perceptron()?, devices(2))?;
    let (x, y) = batch(6, 0)?;
    let names: Vec<String> = (0..6).map(|sample| sample.to_string()).collect();
    let batch = (BTreeMap::from([("x", x), ("y", y)]), (Some(names), 0.5));
    let seen = replicas.map(batch, |model, (maps, (names, factor))| {
        let loss = loss(model, (maps["x"].clone(), maps["y"].clone()))?;
        Ok((loss.device(), names.expect("they were there"), factor))
    })?;
    let names = |first: u32| (first..first + 3).map(|sample| sample.to_string()).collect();
    assert_eq!(seen[0], (Device::cuda_at(0), names(0), 0.5));
    assert_eq!(seen[1], (Device::cuda_at(1), names(3), 0.5));
    Ok(())
}

#[test]
fn the_step_after_a_failed_one_works_as_if_that_had_not_been() -> Result<()> {
    let make = |p| Adam::new(p, 0.01).build();
    let mut replicas = Replicas::builder(perceptron()?, devices(4)).optimizer(make).build()?;
    let mut expected = Replicas::builder(perceptron()?, devices(4)).optimizer(make).build()?;
    for step in 0..6 {
        let fails = |model: &Sequential, part: Batch| match part.0.get_device() {
            2 if step % 2 == 0 => Err(tensor::Error::other("out of ideas")),
            1 if step % 3 == 0 => panic!("on purpose"),
            _ => loss(model, part),
        };
        let error = replicas.step(batch(8, 0)?, fails);
        match error {
            Ok(_) => assert!(step == 1 || step == 5, "step {step}"),
            Err(ReplicasError::Failed { rank: 2, device, source }) => {
                assert!(device == Device::cuda_at(2) && source.to_string().contains("ideas"));
            }
            Err(ReplicasError::Panicked { rank: 1, message, .. }) => {
                assert_eq!(message, "on purpose")
            }
            Err(other) => panic!("{other}"),
        }
        if step == 1 || step == 5 {
            expected.step(batch(8, 0)?, loss)?;
        }
        replicas.verify()?;
        assert_eq!(values(replicas.model()), values(expected.model()));
    }
    Ok(())
}

/// An optimizer that fails where it is told to, after it has changed a parameter.
struct Failing {
    inner: SGD,
    fails: &'static AtomicBool,
}

impl Optimizer for Failing {
    fn step(&mut self) -> Result<()> {
        let first = self.inner.parameters()[0].clone();
        if first.get_device() == 0 && self.fails.swap(false, Ordering::Relaxed) {
            no_grad(|| first.fill_(0.0))?;
            return Err(tensor::Error::other("no step today"));
        }
        self.inner.step()
    }

    fn parameters(&self) -> Vec<Tensor> {
        self.inner.parameters()
    }

    fn learning_rate(&self) -> f64 {
        self.inner.learning_rate()
    }

    fn set_learning_rate(&mut self, rate: f64) {
        self.inner.set_learning_rate(rate);
    }

    fn learning_rates(&self) -> Vec<f64> {
        self.inner.learning_rates()
    }

    fn set_learning_rates(&mut self, rates: &[f64]) -> Result<()> {
        self.inner.set_learning_rates(rates)
    }

    fn state_dict(&self) -> Result<StateDict> {
        self.inner.state_dict()
    }

    fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError> {
        self.inner.load_state_dict(state)
    }
}

#[test]
fn a_replica_whose_optimizer_failed_takes_over_the_step_of_the_others() -> Result<()> {
    static FAILS: AtomicBool = AtomicBool::new(true);
    let make = |p| Ok(Failing { inner: SGD::new(p, 0.1).momentum(0.9).build()?, fails: &FAILS });
    let mut replicas = Replicas::builder(perceptron()?, devices(3)).optimizer(make).build()?;
    let error = replicas.step(batch(6, 0)?, loss).expect_err("the optimizer of cuda:0");
    assert!(error.to_string().contains("cuda:0") && error.to_string().contains("no step today"));
    replicas.step(batch(6, 1)?, loss)?;
    replicas.verify()?;

    let make = |p| SGD::new(p, 0.1).momentum(0.9).build();
    let mut expected = Replicas::builder(perceptron()?, devices(3)).optimizer(make).build()?;
    expected.step(batch(6, 0)?, loss)?;
    expected.step(batch(6, 1)?, loss)?;
    assert_eq!(values(replicas.model()), values(expected.model()));
    Ok(())
}

/// Uses one of its layers only where it is told to.
#[derive(Clone, Module)]
struct Choosy {
    always: Linear,
    sometimes: Linear,
    never: Linear,
}

impl Choosy {
    fn new() -> Result<Choosy> {
        let layer = || Linear::new(2, 2);
        Ok(Choosy { always: layer()?, sometimes: layer()?, never: layer()? })
    }

    fn loss(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.always.forward(x)?;
        let y = if x.get_device() == 1 { self.sometimes.forward(&y)? } else { y };
        y.square()?.mean(())
    }
}

#[test]
fn a_parameter_without_a_gradient_is_an_error_that_names_it() -> Result<()> {
    let mut replicas = Replicas::new(Choosy::new()?, devices(2))?;
    let error = replicas.step(Tensor::ones([4, 2], ())?, |model, x| model.loss(&x));
    let error = error.expect_err("`never` is not used").to_string();
    assert!(error.contains("never.weight") && error.contains("find_unused_parameters"), "{error}");
    Ok(())
}

#[test]
fn parameters_that_some_replicas_use_get_their_gradients_and_others_none() -> Result<()> {
    let builder = Replicas::builder(Choosy::new()?, devices(2)).find_unused_parameters(true);
    let mut replicas = builder.build()?;
    replicas.step(Tensor::ones([4, 2], ())?, |model, x| model.loss(&x))?;
    let model = replicas.model();
    assert!(model.always.weight().grad().is_some());
    assert!(model.sometimes.weight().grad().is_some());
    assert!(model.never.weight().grad().is_none());
    Ok(())
}

#[test]
fn a_gradient_that_was_accumulated_counts_where_the_last_pass_leaves_its_parameter_out()
-> Result<()> {
    let builder = Replicas::builder(Choosy::new()?, devices(2)).find_unused_parameters(true);
    let mut replicas = builder.build()?;
    let x = Tensor::ones([4, 2], ())?;
    replicas.accumulate(x.clone(), |model, x| model.never.forward(&x)?.sum(()))?;
    replicas.step(x, |model, x| model.loss(&x))?;
    let gradient = replicas.model().never.bias().and_then(Tensor::grad).expect("it was computed");
    assert_eq!(gradient.to_vec::<f32>()?, [2.0, 2.0]);
    Ok(())
}

#[test]
fn buckets_are_reduced_in_the_order_that_the_first_pass_showed() -> Result<()> {
    /// Its layers run in another order than they are declared in.
    #[derive(Clone, Module)]
    struct Reversed {
        last: Linear,
        first: Linear,
    }
    let model = Reversed { last: Linear::new(2, 2)?, first: Linear::new(2, 2)? };
    let mut replicas = Replicas::builder(model, devices(2)).bucket_bytes(1).build()?;
    let names = |replicas: &Replicas<Reversed>| replicas.buckets().concat();
    assert_eq!(names(&replicas), ["first.bias", "first.weight", "last.bias", "last.weight"]);
    for _ in 0..2 {
        replicas.step(Tensor::ones([2, 2], ())?, |model, x| {
            model.last.forward(&model.first.forward(&x)?)?.square()?.mean(())
        })?;
    }
    assert!(names(&replicas)[0].starts_with("last"), "{:?}", names(&replicas));
    Ok(())
}

/// Counts the sum of what it has seen, in a buffer.
#[derive(Clone, Module)]
struct Counting {
    scale: Tensor,
    #[module(buffer)]
    seen: Tensor,
}

impl Counting {
    fn new() -> Result<Counting> {
        Ok(Counting {
            scale: Tensor::ones([1], ())?.requires_grad_(true)?,
            seen: Tensor::zeros([1], ())?,
        })
    }

    fn loss(&self, x: &Tensor) -> Result<Tensor> {
        no_grad(|| self.seen.add_(&x.sum(())?))?;
        x.mul(&self.scale)?.mean(())
    }
}

#[test]
fn buffers_are_the_first_replicas_or_their_mean_or_each_its_own() -> Result<()> {
    let x = Tensor::from_vec(vec![1.0f32, 2.0], [2, 1], ())?;
    let seen = |sync| {
        let mut replicas = Replicas::builder(Counting::new()?, devices(2)).buffers(sync).build()?;
        for _ in 0..2 {
            replicas.step(x.clone(), |model, x| model.loss(&x))?;
        }
        replicas.map((), |model, ()| model.seen.item::<f32>()).map_err(tensor::Error::from)
    };
    assert_eq!(seen(BufferSync::First)?, [2.0, 3.0]);
    assert_eq!(seen(BufferSync::Average)?, [2.5, 3.5]);
    assert_eq!(seen(BufferSync::Own)?, [2.0, 4.0]);
    Ok(())
}

#[test]
fn a_replica_that_was_changed_alone_is_found() -> Result<()> {
    let mut replicas = Replicas::new(perceptron()?, devices(3))?;
    replicas.verify()?;
    replicas.map((), |model, ()| {
        let bias = &model.parameters()[1];
        if bias.get_device() == 2 { no_grad(|| bias.add_(1.0)).map(drop) } else { Ok(()) }
    })?;
    match replicas.verify() {
        Err(ReplicasError::Diverged { name, rank: 2, .. }) => assert_eq!(name, "0.bias"),
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[test]
fn a_state_is_taken_over_by_another_number_of_replicas() -> Result<()> {
    let make = |p| Adam::new(p, 0.01).build();
    let mut four = Replicas::builder(perceptron()?, devices(4)).optimizer(make).build()?;
    four.step(batch(8, 0)?, loss)?;
    let mut two = Replicas::builder(perceptron()?, devices(2)).optimizer(make).build()?;
    two.set_state(&four.state()?)?;
    two.verify()?;
    four.step(batch(8, 1)?, loss)?;
    two.step(batch(8, 1)?, loss)?;
    assert_close(&values(two.model()), &values(four.model()));
    Ok(())
}

#[test]
fn devices_are_given_once_and_exist() -> Result<()> {
    let twice = [Device::cuda_at(0), Device::cuda_at(0)];
    devices(4);
    let error = Replicas::new(perceptron()?, twice).expect_err("twice").to_string();
    assert!(error.contains("cuda:0 is given twice"), "{error}");
    let error = Replicas::new(perceptron()?, []).expect_err("none").to_string();
    assert!(error.contains("no device"), "{error}");
    Replicas::new(perceptron()?, [Device::cuda_at(9)]).expect_err("there are four");
    Ok(())
}

#[test]
fn the_cpu_alone_is_a_replica_too() -> Result<()> {
    let make = |p| SGD::new(p, 0.1).build();
    let mut replicas = Replicas::builder(perceptron()?, [Device::Cpu]).optimizer(make).build()?;
    let before = replicas.step(batch(8, 0)?, loss)?.mean()?.item::<f32>()?;
    assert!(replicas.step(batch(8, 0)?, loss)?.mean()?.item::<f32>()? < before);
    Ok(())
}
