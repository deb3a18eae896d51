//! Optimizers against PyTorch: losses, first gradients and final weights of five steps.

use nn::loss::cross_entropy;
use nn::optim::lr_scheduler::{
    CosineAnnealingLR, ExponentialLR, LRSchedule, LRScheduler, LinearLR, StepLR,
};
use nn::optim::{Adam, Optimizer, SGD};
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
    let mut sgd = SGD::new(weights, lr)
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

/// Four steps under a schedule with two groups of parameters.
fn groups(
    make: impl Fn(&Tensor, &Tensor) -> Result<Box<dyn Optimizer>>,
    expected: &Value,
) -> Result<()> {
    for device in devices::all() {
        let first = Tensor::new([1.0, 2.0, 3.0], device)?.requires_grad_(true)?;
        let second = Tensor::new([-1.0, 4.0], device)?.requires_grad_(true)?;
        let mut optimizer = make(&first, &second)?;
        let schedule = StepLR { step_size: 2, gamma: 0.5 };
        let mut scheduler = LRScheduler::new(&mut *optimizer, schedule)?;
        let step = |optimizer: &mut dyn Optimizer| -> Result<()> {
            optimizer.zero_grad();
            (first.pow(3)?.sum(())? + second.pow(3)?.sum(())?)?.backward()?;
            optimizer.step()
        };
        for _ in 0..4 {
            step(&mut *optimizer)?;
            scheduler.step(&mut *optimizer)?;
        }
        for (weights, expected) in [&first, &second].iter().zip(list(&expected["weights"])) {
            let expected: Vec<f32> =
                list(expected).iter().map(|w| w.as_f64().unwrap() as f32).collect();
            assert_close("groups", &weights.to_vec::<f32>()?, &expected);
        }
        let rates: Vec<f64> = list(&expected["rates"]).iter().filter_map(Value::as_f64).collect();
        assert_eq!(optimizer.learning_rates(), rates);
        assert_eq!(scheduler.learning_rates(), rates);
        let names: Vec<&str> = list(&expected["names"]).iter().filter_map(Value::as_str).collect();
        let state = optimizer.state_dict()?;
        assert_eq!(state.keys().collect::<Vec<_>>(), names);

        // Another one takes it over, and makes the same step.
        let copies = [&first, &second].map(|one| one.detach().clone_data());
        let [one, two] = copies;
        let (one, two) = (one?.requires_grad_(true)?, two?.requires_grad_(true)?);
        let mut other = make(&one, &two)?;
        other.load_state_dict(&state).expect("it fits");
        step(&mut *optimizer)?;
        (one.pow(3)?.sum(())? + two.pow(3)?.sum(())?)?.backward()?;
        other.step()?;
        assert!(one.equal(&first)? && two.equal(&second)?);
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

#[test]
fn groups_of_parameters_have_options_of_their_own_as_in_pytorch() -> Result<()> {
    let expected: Value = serde_json::from_str(MODULES).expect("the expected values are JSON");
    let sgd = |first: &Tensor, second: &Tensor| -> Result<Box<dyn Optimizer>> {
        let first = SGD::new([first], 0.01).momentum(0.9).weight_decay(0.1);
        Ok(Box::new(first.param_group([second]).lr(0.02).nesterov().build()?))
    };
    groups(sgd, &expected["groups"]["sgd"])?;
    let adam = |first: &Tensor, second: &Tensor| -> Result<Box<dyn Optimizer>> {
        let first = Adam::new([first], 0.01).weight_decay(0.1);
        let second = first.param_group([second]).lr(0.1).betas(0.5, 0.9).weight_decay(0.0);
        Ok(Box::new(second.build()?))
    };
    groups(adam, &expected["groups"]["adam"])
}

#[test]
fn each_group_has_one_learning_rate() -> Result<()> {
    let [one, two] = [1.0, 2.0].map(|x| Tensor::new([x], ()).and_then(|x| x.requires_grad_(true)));
    let (one, two) = (one?, two?);
    let mut optimizer = SGD::new([&one], 0.1).param_group([&two]).lr(0.2).build()?;
    let mut scheduler = LRScheduler::new(&mut optimizer, StepLR { step_size: 1, gamma: 0.5 })?;
    let error = optimizer.set_learning_rates(&[0.5]).unwrap_err().to_string();
    assert!(error.contains("[0.5] for 2 groups"), "{error}");
    assert_eq!((optimizer.learning_rate(), optimizer.learning_rates()), (0.1, vec![0.1, 0.2]));
    let mut other = SGD::new([&one], 0.1).build()?;
    assert!(scheduler.step(&mut other).is_err());
    assert_eq!(scheduler.epoch(), 0, "the epoch has not ended");
    scheduler.step(&mut optimizer)?;
    assert_eq!(optimizer.learning_rates(), [0.05, 0.1]);
    optimizer.set_learning_rate(1.0);
    assert_eq!(optimizer.learning_rates(), [1.0, 1.0]);
    let text = format!("{optimizer:?}");
    assert_eq!(text.matches("parameters: 1, options: Options { lr: 1.0").count(), 2, "{text}");
    let twice = Adam::new([&one], 0.1).param_group([&one]).build().unwrap_err().to_string();
    assert!(twice.contains("number 1") && twice.contains("given twice"), "{twice}");
    Ok(())
}

#[test]
fn parameters_without_a_gradient_are_left_alone() -> Result<()> {
    let used = Tensor::ones([2], ())?.requires_grad_(true)?;
    let unused = Tensor::ones([2], ())?.requires_grad_(true)?;
    let mut optimizer = SGD::new(vec![used.clone(), unused.clone()], 0.5).build()?;
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
    fn rates(schedule: impl LRSchedule) -> Result<Vec<f64>> {
        let layer = Linear::new(2, 2)?;
        let mut optimizer = SGD::new(layer.parameters(), 0.1).build()?;
        let mut scheduler = LRScheduler::new(&mut optimizer, schedule)?;
        let mut found = Vec::new();
        for _ in 0..12 {
            found.push(optimizer.learning_rate());
            scheduler.step(&mut optimizer)?;
        }
        Ok(found)
    }
    let expected: Value = serde_json::from_str(MODULES).expect("the expected values are JSON");
    let linear = LinearLR { start_factor: 0.2, end_factor: 1.0, total_iters: 4 };
    for (name, found) in [
        ("step", rates(StepLR { step_size: 3, gamma: 0.5 })?),
        ("exponential", rates(ExponentialLR { gamma: 0.9 })?),
        ("cosine", rates(CosineAnnealingLR { t_max: 5, eta_min: 0.01 })?),
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
