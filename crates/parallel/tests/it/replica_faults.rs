//! Faults at every call of the driver in a step of `Replicas`.

use std::collections::BTreeMap;

use cuda_sim::control::{self, counters};
use nn::optim::SGD;
use nn::{Forward, Linear, Module, ReLU, Sequential};
use parallel::{Replicas, ReplicasError};
use tensor::{DType, Device, Result, Tensor, cuda, with_manual_seed};
use test_support::{calls_to_fail, isolate};

use crate::four_devices;

fn replicas() -> Result<Replicas<Sequential>> {
    let model = with_manual_seed(1, || {
        let layers = Sequential::new().push(Linear::new(6, 8)?).push(ReLU);
        Ok::<_, tensor::Error>(layers.push(Linear::new(8, 3)?))
    })?;
    let builder = Replicas::builder(model, (0..3).map(Device::cuda_at)).bucket_bytes(64);
    Ok(builder.optimizer(|p| SGD::new(p, 0.1).momentum(0.9).build()).build()?)
}

fn step(replicas: &mut Replicas<Sequential>) -> std::result::Result<(), ReplicasError> {
    let batch = with_manual_seed(2, || {
        Ok::<_, tensor::Error>((
            Tensor::randn([7, 6], ())?,
            Tensor::randint(0, 3, [7], DType::I64)?,
        ))
    })?;
    let loss = |model: &Sequential, (x, y): (Tensor, Tensor)| model.forward(&x)?.cross_entropy(&y);
    replicas.step(batch, loss)?;
    (0..3).try_for_each(|device| cuda::synchronize(Device::cuda_at(device)))?;
    Ok(())
}

/// The number of calls of each function in a step.
fn calls_of_a_step() -> Result<BTreeMap<&'static str, u64>> {
    let mut replicas = replicas()?;
    step(&mut replicas)?;
    let before = counters().calls;
    step(&mut replicas)?;
    let made = |(name, count): (&'static str, u64)| {
        (name, count - before.get(name).copied().unwrap_or_default())
    };
    Ok(counters().calls.into_iter().map(made).filter(|(_, count)| *count > 0).collect())
}

fn values(model: &dyn Module) -> Vec<f32> {
    let values = |p: Tensor| p.detach().to_vec::<f32>().expect("floats");
    model.parameters().into_iter().flat_map(values).collect()
}

/// Replicas whose next step is their second one, in which ranks agree on the order of gradients.
fn after_a_step() -> Replicas<Sequential> {
    let mut replicas = replicas().expect("no fault yet");
    step(&mut replicas).expect("no fault yet");
    replicas
}

/// Has a call of the driver fail in a step, after which the next one works. Whether the step failed.
fn fail_in_a_step(replicas: &mut Replicas<Sequential>, call: &str, nth: u64) -> bool {
    let fault = format!("call:{call}@{nth}=OUT_OF_MEMORY");
    control::inject(&fault.parse().expect("a fault")).expect("a call");
    let failed = step(replicas);
    control::clear_faults();
    if let Err(error) = &failed {
        let text = error.to_string();
        assert!(text.contains("cuda:"), "{call} {nth} names no device: {text}");
    }
    step(replicas).unwrap_or_else(|error| panic!("after {call} {nth}: {error}"));
    replicas.verify().unwrap_or_else(|error| panic!("after {call} {nth}: {error}"));
    assert!(values(replicas.model()).iter().all(|value| value.is_finite()));
    failed.is_err()
}

#[test]
fn a_call_that_fails_ends_the_step_and_the_next_one_works() {
    isolate(|| {
        four_devices();
        let calls = calls_of_a_step().expect("no fault yet");
        assert!(calls.contains_key("cuLaunchKernel"), "{calls:?}");
        let (mut replicas, mut failed) = (after_a_step(), 0);
        for (call, count) in calls {
            for nth in calls_to_fail(count) {
                // After a step that failed, the next one is like the first.
                match fail_in_a_step(&mut replicas, call, nth) {
                    true => failed += 1,
                    // A free, a query or a trial may fail without harm.
                    false => replicas = after_a_step(),
                }
            }
        }
        assert!(failed > 30, "{failed}");
    })
    .run();
}

#[test]
fn a_device_that_is_lost_is_named_and_the_others_go_on() {
    isolate(|| {
        four_devices();
        let mut replicas = replicas().expect("no fault yet");
        step(&mut replicas).expect("no fault yet");
        control::inject(&"dead:1=ECC_UNCORRECTABLE".parse().expect("a fault")).expect("a device");
        let error = step(&mut replicas).expect_err("a device is lost").to_string();
        assert!(error.contains("cuda:1"), "{error}");
        step(&mut replicas).expect_err("it stays lost");
        drop(replicas);

        let layer = Linear::new(2, 2).expect("memory");
        let mut others = Replicas::new(layer, [0, 2].map(Device::cuda_at)).expect("they are alive");
        let batch = Tensor::ones([4, 2], ()).expect("memory");
        others.step(batch, |layer, x| layer.forward(&x)?.mean(())).expect("they are alive");
        others.verify().expect("they agree");
    })
    .run();
}
