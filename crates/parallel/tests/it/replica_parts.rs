//! The parts of a batch that `Replicas` trains: their sizes, and parts that a loader has split.

use nn::optim::SGD;
use nn::{Module, Result};
use parallel::{DataLoader, Replicas, TensorDataset};

use crate::replicas::{assert_close, batch, devices, loss, perceptron, trained_alone, values};

#[test]
fn parts_of_a_batch_that_differ_in_length_are_an_error() -> Result<()> {
    let mut replicas = Replicas::new(perceptron()?, devices(2))?;
    let (x, _) = batch(6, 0)?;
    let (_, y) = batch(5, 0)?;
    let error = replicas.step((x, y), loss).expect_err("6 and 5").to_string();
    assert!(error.contains("[3, 3] of 5 samples"), "{error}");
    Ok(())
}

#[test]
fn batches_are_split_by_the_speeds_of_devices_and_train_the_same_model() -> Result<()> {
    let sgd = |p| SGD::new(p, 0.1).momentum(0.9).build();
    let expected = trained_alone(sgd, 10)?;
    for speeds in [[2.0, 1.0, 1.0], [0.0, 1.0, 3.0], [1.0, 0.0, 1e9]] {
        let mut replicas = Replicas::builder(perceptron()?, devices(3)).optimizer(sgd).build()?;
        replicas.split_by_speed(&speeds)?;
        for step in 0..20 {
            replicas.step(batch(10, step)?, loss)?;
        }
        replicas.verify()?;
        assert_close(&values(replicas.model()), &expected);
    }
    Ok(())
}

#[test]
fn speeds_are_measured_without_a_step() -> Result<()> {
    let make = |p| SGD::new(p, 0.1).build();
    let mut replicas = Replicas::builder(perceptron()?, devices(3)).optimizer(make).build()?;
    let speeds = replicas.measure_speeds(batch(9, 0)?, loss)?;
    assert!(speeds.len() == 3 && speeds.iter().all(|speed| *speed > 0.0), "{speeds:?}");
    assert_eq!(values(replicas.model()), values(&perceptron()?));
    assert!(replicas.model().parameters().iter().all(|p| p.grad().is_none()));
    replicas.split_by_speed(&speeds)?;
    replicas.step(batch(9, 0)?, loss)?;
    let error = replicas.measure_speeds(batch(2, 0)?, loss).expect_err("2 of 3").to_string();
    assert!(error.contains("samples for 2 devices"), "{error}");
    Ok(())
}

#[test]
fn speeds_that_mean_nothing_are_errors() -> Result<()> {
    let mut replicas = Replicas::new(perceptron()?, devices(2))?;
    for wrong in [&[1.0][..], &[1.0, -1.0], &[f64::NAN, 1.0], &[0.0, 0.0], &[f64::INFINITY, 1.0]] {
        let error = replicas.split_by_speed(wrong).expect_err("no speeds").to_string();
        assert!(error.contains("split_by_speed") && error.contains("2 devices"), "{error}");
    }
    Ok(())
}

#[test]
fn a_loaders_parts_train_as_whole_batches_do() -> Result<()> {
    let devices = devices(2);
    let data = TensorDataset::new(batch(21, 3)?)?;
    let replicas = || {
        let builder = Replicas::builder(perceptron()?, devices.clone());
        Ok::<_, tensor::Error>(builder.optimizer(|all| SGD::new(all, 0.1).build()).build()?)
    };
    let loader = || DataLoader::builder(data.clone()).batch_size(5).shuffle(1);
    let (mut whole, mut split) = (replicas()?, replicas()?);
    for batch in &loader().build()? {
        whole.step(batch?, loss)?;
    }
    // The last batch has one sample, and so one part.
    for parts in loader().workers(1).pin_memory(true).build()?.iter().parts(devices.clone()) {
        split.step_parts(parts?, loss)?;
    }
    assert_eq!(values(split.model()), values(whole.model()));
    for (parts, why) in [(vec![batch(1, 0)?; 3], "3 parts for 2"), (Vec::new(), "no samples")] {
        let refused = split.step_parts(parts, loss).map(drop).expect_err("refused").to_string();
        assert!(refused.contains(why), "{refused}");
    }
    Ok(())
}
