//! Optimizers against PyTorch: losses, first gradients and final weights of five steps.

use nn::loss::cross_entropy;
use nn::optim::{
    Adam, CosineAnnealingLr, ExponentialLr, LinearLr, LrSchedule, LrScheduler, Optimizer, Sgd,
    StepLr,
};
use nn::{Linear, Module};
use serde_json::Value;
use tensor::{Device, Result, Tensor};

use crate::devices;

const EXPECTED: &str = include_str!("../../../tensor/tests/expected/training.json");
const MODULES: &str = include_str!("../expected/modules.json");

#[test]
fn five_steps_are_pytorchs_with_every_optimizer_on_every_device() -> Result<()> {
    let expected: Value = serde_json::from_str(EXPECTED).expect("the expected values are JSON");
    for case in expected["cases"].as_array().expect("a list of cases") {
        for device in devices::all() {
            five_steps(case, device)?;
        }
    }
    Ok(())
}

fn five_steps(case: &Value, device: Device) -> Result<()> {
    let name = format!("{} on {device}", case["op"]);
    let inputs = case["inputs"].as_array().expect("a list of tensors");
    let (images, labels) = (floats(&inputs[0], device)?, integers(&inputs[1], device)?);
    let weights: Vec<Tensor> = inputs[2..]
        .iter()
        .map(|value| floats(value, device)?.requires_grad_(true))
        .collect::<Result<_>>()?;
    let mut optimizer = optimizer(case, weights.clone())?;
    for (step, loss_of_pytorch) in case["losses"].as_array().expect("numbers").iter().enumerate() {
        let hidden = (&images.matmul(&weights[0].t()?)? + &weights[1])?.relu()?;
        let logits = (&hidden.matmul(&weights[2].t()?)? + &weights[3])?;
        let loss = cross_entropy(&logits, &labels)?;
        optimizer.zero_grad();
        loss.backward()?;
        if step == 0 {
            for (weight, gradient) in weights.iter().zip(case["gradients"].as_array().expect("")) {
                let own = weight.grad().expect("a gradient").to_vec::<f32>()?;
                assert_close(&name, &own, &numbers(gradient));
            }
        }
        optimizer.step()?;
        assert_close(&name, &[loss.item::<f32>()?], &[loss_of_pytorch.as_f64().expect("") as f32]);
    }
    for (weight, expected) in weights.iter().zip(case["weights"].as_array().expect("tensors")) {
        assert_close(&name, &weight.to_vec::<f32>()?, &numbers(expected));
    }
    Ok(())
}

fn optimizer(case: &Value, weights: Vec<Tensor>) -> Result<Box<dyn Optimizer>> {
    let option = |name: &str| case["args"][name].as_f64();
    let lr = option("lr").expect("every case has a learning rate");
    if case["op"].as_str().expect("a name").starts_with("adam") {
        let mut adam = Adam::new(weights, lr).weight_decay(option("weight_decay").unwrap_or(0.0));
        if let Some(betas) = case["args"]["betas"].as_array() {
            adam = adam.betas(betas[0].as_f64().expect(""), betas[1].as_f64().expect(""));
        }
        if let Some(eps) = option("eps") {
            adam = adam.eps(eps);
        }
        return Ok(Box::new(adam.build()?));
    }
    let mut sgd = Sgd::new(weights, lr)
        .momentum(option("momentum").unwrap_or(0.0))
        .dampening(option("dampening").unwrap_or(0.0))
        .weight_decay(option("weight_decay").unwrap_or(0.0));
    if case["args"]["nesterov"].as_bool() == Some(true) {
        sgd = sgd.nesterov();
    }
    Ok(Box::new(sgd.build()?))
}

fn numbers(value: &Value) -> Vec<f32> {
    let data = value["data"].as_array().expect("a list of numbers");
    data.iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

fn shape(value: &Value) -> Vec<usize> {
    let sizes = value["shape"].as_array().expect("a list of sizes");
    sizes.iter().map(|size| size.as_u64().expect("a size") as usize).collect()
}

fn floats(value: &Value, device: Device) -> Result<Tensor> {
    Tensor::from_vec(numbers(value), shape(value), device)
}

fn integers(value: &Value, device: Device) -> Result<Tensor> {
    let data = value["data"].as_array().expect("a list of numbers");
    let data: Vec<i64> = data.iter().map(|number| number.as_i64().expect("an integer")).collect();
    Tensor::from_vec(data, shape(value), device)
}

fn assert_close(name: &str, own: &[f32], expected: &[f32]) {
    assert_eq!(own.len(), expected.len(), "{name}");
    for (own, expected) in own.iter().zip(expected) {
        assert!(
            (own - expected).abs() <= 2e-5 * (1.0 + expected.abs()),
            "{name}: {own}, {expected}"
        );
    }
}

#[test]
fn parameters_without_a_gradient_are_left_alone() -> Result<()> {
    let used = Tensor::ones([2], ())?.requires_grad_(true)?;
    let unused = Tensor::ones([2], ())?.requires_grad_(true)?;
    let mut optimizer = Sgd::new(vec![used.clone(), unused.clone()], 0.5).build()?;
    used.sum(())?.backward()?;
    optimizer.step()?;
    assert_eq!(used.to_vec::<f32>()?, [0.5, 0.5]);
    assert_eq!(unused.to_vec::<f32>()?, [1.0, 1.0]);
    optimizer.zero_grad();
    assert!(used.grad().is_none());
    Ok(())
}

#[test]
fn learning_rates_follow_pytorchs_schedules() -> Result<()> {
    fn rates(schedule: impl LrSchedule) -> Result<Vec<f64>> {
        let layer = Linear::new(2, 2)?;
        let mut optimizer = Sgd::new(layer.parameters(), 0.1).build()?;
        let mut scheduler = LrScheduler::new(&mut optimizer, schedule);
        let mut found = Vec::new();
        for _ in 0..12 {
            found.push(optimizer.learning_rate());
            scheduler.step(&mut optimizer);
        }
        Ok(found)
    }
    let expected: Value = serde_json::from_str(MODULES).expect("the expected values are JSON");
    let linear = LinearLr { start_factor: 0.2, end_factor: 1.0, total_iters: 4 };
    for (name, found) in [
        ("step", rates(StepLr { step_size: 3, gamma: 0.5 })?),
        ("exponential", rates(ExponentialLr { gamma: 0.9 })?),
        ("cosine", rates(CosineAnnealingLr { t_max: 5, eta_min: 0.01 })?),
        ("linear", rates(linear)?),
        ("lambda", rates(|epoch: u64| 1.0 / (1 + epoch) as f64)?),
    ] {
        let expected = expected["rates"][name].as_array().expect("rates");
        for (epoch, (found, expected)) in found.iter().zip(expected).enumerate() {
            let expected = expected.as_f64().expect("a rate");
            assert!((found - expected).abs() < 1e-15, "{name}, {epoch}: {found} {expected}");
        }
    }
    Ok(())
}
