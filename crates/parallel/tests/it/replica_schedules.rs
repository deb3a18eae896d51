//! Steps on 2, 4 and 8 devices in every mode, under schedules that are against the program: S27.

use std::env;

use cuda_sim::control::{self, Config, Schedule};
use gpu_runtime::DriverChoice;
use nn::optim::{Optimizer, SGD};
use nn::{Forward, Linear, Module, Result};
use parallel::{BufferSync, DataParallel, Replicas, ReplicasBuilder};
use tensor::{DType, Device, Tensor, no_grad, with_manual_seed};
use test_support::isolate;

/// More than devices, and not a multiple of their number.
const SAMPLES: usize = 12;
const RATE: f64 = 0.1;

/// The way in which several devices train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Replicas(BufferSync),
    /// Parameters may be left out, which the ranks tell each other.
    FindUnused,
    /// Each batch in two halves, the first of which is not reduced.
    Accumulated,
    /// One device gets three times the samples of another, and the last one none.
    BySpeed,
    DataParallel,
}

const MODES: [Mode; 7] = [
    Mode::Replicas(BufferSync::First),
    Mode::Replicas(BufferSync::Average),
    Mode::Replicas(BufferSync::Own),
    Mode::FindUnused,
    Mode::Accumulated,
    Mode::BySpeed,
    Mode::DataParallel,
];

/// A perceptron that counts what it has seen in a buffer.
#[derive(Clone, Module)]
struct CountingPerceptron {
    first: Linear,
    second: Linear,
    #[module(buffer)]
    seen: Tensor,
}

impl CountingPerceptron {
    fn new() -> Result<CountingPerceptron> {
        with_manual_seed(1, || {
            let (first, second) = (Linear::new(6, 8)?, Linear::new(8, 3)?);
            Ok(CountingPerceptron { first, second, seen: Tensor::zeros([6], ())? })
        })
    }
}

impl Forward for CountingPerceptron {
    type Output = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        no_grad(|| self.seen.add_(&x.sum(0)?))?;
        self.second.forward(&self.first.forward(x)?.relu()?)
    }
}

type Batch = (Tensor, Tensor);

fn batch(seed: u64) -> Result<Batch> {
    with_manual_seed(seed, || {
        Ok((Tensor::randn([SAMPLES, 6], ())?, Tensor::randint(0, 3, [SAMPLES], DType::I64)?))
    })
}

fn on(device: Device, (x, y): Batch) -> Result<Batch> {
    Ok((x.to(device)?, y.to(device)?))
}

fn loss(model: &impl Forward<Tensor, Output = Tensor>, (x, y): Batch) -> Result<Tensor> {
    model.forward(&x)?.cross_entropy(&y)
}

fn sgd(parameters: Vec<Tensor>) -> Result<SGD> {
    SGD::new(parameters, RATE).momentum(0.9).build()
}

fn values(model: &dyn Module) -> Result<Vec<f32>> {
    let values = model.parameters().into_iter().map(|p| p.detach().to_vec::<f32>());
    Ok(values.collect::<Result<Vec<_>>>()?.concat())
}

/// Trains a model that is on the first device, and splits batches itself, if at all.
fn train_module(model: &impl Forward<Tensor, Output = Tensor>) -> Result<Vec<f32>> {
    let mut optimizer = sgd(model.parameters())?;
    for step in 0..steps() {
        optimizer.zero_grad();
        loss(model, on(Device::cuda_at(0), batch(step)?)?)?.backward()?;
        optimizer.step()?;
    }
    values(model)
}

/// The parameters after all steps on so many devices.
fn trained(mode: Mode, count: usize) -> Result<Vec<f32>> {
    let devices = (0..count).map(Device::cuda_at);
    let mut model = CountingPerceptron::new()?;
    if mode == Mode::DataParallel {
        model.to(Device::cuda_at(0))?;
        return train_module(&DataParallel::new(model, devices)?);
    }
    let builder = Replicas::builder(model, devices).optimizer(sgd).bucket_bytes(100);
    let mut replicas = with_mode(builder, mode).verify_every(5).build()?;
    if mode == Mode::BySpeed {
        let speeds: Vec<f64> = (0..count).map(|rank| [3.0, 1.0][rank % 2]).collect();
        replicas.split_by_speed(&[&speeds[..count - 1], &[0.0]].concat())?;
    }
    for step in 0..steps() {
        let (x, y) = batch(step)?;
        if mode == Mode::Accumulated {
            let half = SAMPLES / 2;
            let part = |begin| {
                Ok::<_, tensor::Error>((x.narrow(0, begin, half)?, y.narrow(0, begin, half)?))
            };
            let half_loss = |model: &CountingPerceptron, part| loss(model, part)?.div(2.0);
            replicas.accumulate(part(0)?, half_loss)?;
            replicas.step(part(half)?, half_loss)?;
        } else {
            replicas.step((x, y), loss)?;
        }
    }
    replicas.verify()?;
    values(replicas.model())
}

fn with_mode(
    builder: ReplicasBuilder<CountingPerceptron>,
    mode: Mode,
) -> ReplicasBuilder<CountingPerceptron> {
    match mode {
        Mode::Replicas(sync) => builder.buffers(sync),
        Mode::FindUnused => builder.find_unused_parameters(true),
        Mode::Accumulated | Mode::BySpeed | Mode::DataParallel => builder,
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The number of schedules that each mode is tried under on 2, 4 and 8 devices: `REPLICA_SEEDS`.
fn asked_seeds() -> Option<u64> {
    let asked = env::var("REPLICA_SEEDS").ok()?;
    Some(asked.parse().expect("REPLICA_SEEDS is a number"))
}

/// The steps that a model is trained for: 20, or fewer unless seeds were asked for.
fn steps() -> u64 {
    if asked_seeds().is_some() { 20 } else { 6 }
}

/// The modes with the numbers of devices that each is tried on. Unless seeds were asked for, each number
/// has every third mode, which takes a third of the time.
fn modes_and_counts() -> impl Iterator<Item = (Mode, usize)> {
    let all = asked_seeds().is_some();
    MODES.into_iter().enumerate().flat_map(move |(number, mode)| {
        let counts = [2, 4, 8].into_iter().enumerate();
        let counts = counts.filter(move |(position, _)| all || number % 3 == *position);
        counts.map(move |(_, count)| (mode, count))
    })
}

#[test]
fn s27_every_mode_trains_what_one_device_trains_and_the_same_bits_under_every_schedule() {
    isolate(|| {
        control::configure(Config { devices: 8, ..Config::default() }).expect("it is the first");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None }).expect("software");
        let mut alone = CountingPerceptron::new().expect("memory");
        alone.to(Device::cuda_at(0)).expect("memory");
        let expected = train_module(&alone).expect("it trains");
        for (mode, count) in modes_and_counts() {
            let first = trained(mode, count).expect("it trains");
            for (found, expected) in first.iter().zip(&expected) {
                let difference = (found - expected).abs() / expected.abs().max(1.0);
                assert!(difference <= 1e-5, "{mode:?} on {count}: {found} and {expected}");
            }
            for seed in 0..asked_seeds().unwrap_or(1) {
                control::set_schedule(&Schedule::Adversarial(seed)).expect("a schedule");
                let again = trained(mode, count).expect("it trains");
                assert_eq!(bits(&again), bits(&first), "{mode:?} on {count}, seed {seed}");
            }
            control::set_schedule(&Schedule::Fast).expect("a schedule");
        }
    })
    .steers_software_driver()
    .run();
}
