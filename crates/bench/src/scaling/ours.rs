//! Steps of `Replicas`, and of one device without them.

use std::sync::Arc;
use std::time::Duration;

use collectives::DeviceGroup;
use cuda_sim::control::{self, TimeModel};
use gpu_runtime::{Timeline, Trace};
use nn::Module;
use nn::optim::{Adam, Optimizer, SGD};
use parallel::Replicas;
use tensor::{Device, Tensor, cuda};

use super::layer::{IdleKernels, IdleModel};
use super::library_kernels;
use super::machine;
use super::profile::Profile;
use super::steps::StepBegins;
use crate::error::Result;

/// The steps in which the kernels are found out; gradients become ready in an order that the first
/// shows.
const DECLARING: usize = 2;
/// The steps that are measured, and those before them, after which the host is ahead.
const MEASURED: usize = 3;
const SKIPPED: usize = 1;

/// The size of a bucket, as by default.
const BUCKET: usize = 25 << 20;

/// The time of a step of `Replicas`.
///
/// # Errors
/// A device failed.
pub(super) fn replicas(profile: Profile, devices: usize, scale: usize) -> Result<Duration> {
    let mut replicas = build(profile, devices, scale)?;
    measure(devices, |begun| {
        replicas.step((), |model: &IdleModel, ()| model.loss(begun))?;
        Ok(())
    })
}

/// The time of a step, which calls what it is given with a device's index where it begins there.
fn measure(
    devices: usize,
    mut step: impl FnMut(&(dyn Fn(usize) + Sync)) -> Result<()>,
) -> Result<Duration> {
    library_kernels::declare(devices, || (0..DECLARING).try_for_each(|_| step(&|_| ())))?;
    let begins = StepBegins::watch(devices)?;
    for _ in 0..=SKIPPED + MEASURED {
        step(&|device| begins.note(device))?;
    }
    wait_for(devices)?;
    begins.mean(SKIPPED)
}

/// The timeline of a step of `Replicas` that begins on idle devices.
///
/// # Errors
/// A device failed.
pub(super) fn trace(profile: Profile, devices: usize, scale: usize) -> Result<Trace> {
    let mut replicas = build(profile, devices, scale)?;
    let loss = |model: &IdleModel, ()| model.loss(|_| ());
    library_kernels::declare(devices, || {
        (0..DECLARING).try_for_each(|_| Ok(replicas.step((), loss).map(drop)?))
    })?;
    wait_for(devices)?;
    let all = (0..devices).map(gpu_runtime::Device::get).collect::<Result<Vec<_>, _>>()?;
    let timeline = Timeline::start(all)?;
    replicas.step((), loss)?;
    Ok(timeline.finish()?)
}

fn build(profile: Profile, devices: usize, scale: usize) -> Result<Replicas<IdleModel>> {
    let model = prepare(profile, devices, scale)?;
    // One replica would try the links out for all others, which have called nothing by then, so that
    // the driver would wait for them in vain.
    let all: Vec<Device> = (0..devices).map(Device::cuda_at).collect();
    DeviceGroup::new(&all)?.links()?;
    // The threads of the replicas, and this one.
    control::expect_host_threads(devices + 1)?;
    let builder = Replicas::builder(model, all).bucket_bytes(BUCKET / scale).verify_every(0);
    let builder = match profile {
        Profile::Transformer | Profile::Layer => builder.optimizer(adam),
        Profile::Resnet50 => builder.optimizer(sgd),
    };
    Ok(builder.build()?)
}

fn wait_for(devices: usize) -> Result<()> {
    Ok((0..devices).try_for_each(|index| cuda::synchronize(Device::cuda_at(index)))?)
}

/// The time of a step on one device, as programs for one device have it.
///
/// # Errors
/// The device failed.
pub(super) fn plain(profile: Profile, scale: usize) -> Result<Duration> {
    let model = prepare(profile, 1, scale)?;
    let mut optimizer: Box<dyn Optimizer> = match profile {
        Profile::Transformer | Profile::Layer => Box::new(adam(model.parameters())?),
        Profile::Resnet50 => Box::new(sgd(model.parameters())?),
    };
    measure(1, |begun| {
        model.loss(begun)?.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        Ok(())
    })
}

fn prepare(profile: Profile, devices: usize, scale: usize) -> Result<IdleModel> {
    machine::choose(devices, scale, Duration::from_nanos(TimeModel::H200.call))?;
    let kernels = Arc::new(IdleKernels::load(devices)?);
    Ok(IdleModel::new(&profile.layers(), &kernels, scale)?)
}

/// The optimizer of transformers.
fn adam(parameters: Vec<Tensor>) -> tensor::Result<Adam> {
    Adam::new(parameters, 3e-4).build()
}

/// The optimizer of networks for images.
fn sgd(parameters: Vec<Tensor>) -> tensor::Result<SGD> {
    SGD::new(parameters, 0.1).momentum(0.9).build()
}
