//! Optimizers against PyTorch: losses, first gradients and final weights of five steps.

use nn::loss::cross_entropy;
use nn::optim::{Adam, Optimizer, Sgd};
use nn::{Linear, Module};
use serde_json::Value;
use tensor::{Device, Result, Tensor};

use crate::devices;

const EXPECTED: &str = include_str!("../../../tensor/tests/expected/training.json");

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
fn wrong_options_and_parameters_are_errors_that_name_them() -> Result<()> {
    let leaf = || Tensor::ones([2], ()).and_then(|x| x.requires_grad_(true));
    let named = |error: Option<tensor::Error>, part: &str| {
        let text = error.expect("it is wrong").to_string();
        assert!(text.contains(part), "{text:?} does not name {part:?}");
    };
    named(Sgd::new(vec![leaf()?], -0.1).build().err(), "lr");
    named(Sgd::new(vec![leaf()?], f64::NAN).build().err(), "lr");
    named(Sgd::new(vec![leaf()?], 0.1).nesterov().build().err(), "nesterov");
    named(Sgd::new(vec![Tensor::ones([2], ())?], 0.1).build().err(), "parameters");
    named(Sgd::new(vec![(&leaf()? * 2.0)?], 0.1).build().err(), "leaf");
    named(Adam::new(vec![leaf()?], 0.1).betas(0.9, 1.0).build().err(), "betas.1");
    named(Adam::new(vec![leaf()?], 0.1).eps(-1.0).build().err(), "eps");
    Ok(())
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
fn an_optimizer_whose_module_was_moved_afterwards_says_so_and_changes_nothing() -> Result<()> {
    let [cpu, first, second] = devices::all();
    for moves in [vec![first], vec![second, cpu], vec![first, second, first]] {
        let mut module = Linear::new(3, 2)?;
        let mut sgd = Sgd::new(module.parameters(), 0.1).build()?;
        let mut adam = Adam::new(module.parameters(), 0.1).build()?;
        // Steps before the move are as they should be.
        module.forward(&Tensor::ones([1, 3], cpu)?)?.sum(())?.backward()?;
        sgd.step()?;
        adam.step()?;
        sgd.zero_grad();
        for &device in &moves {
            module.to(device)?;
        }
        let device = moves[moves.len() - 1];
        module.forward(&Tensor::ones([1, 3], device)?)?.sum(())?.backward()?;
        let before = module.weight().to_vec::<f32>()?;
        for (name, error) in [("Sgd", sgd.step()), ("Adam", adam.step())] {
            let text = error.expect_err("it has the parameters of before").to_string();
            for part in [name, "moved", "on cpu", &device.to_string()] {
                assert!(text.contains(part), "{text:?} does not name {part:?}");
            }
        }
        assert_eq!(module.weight().to_vec::<f32>()?, before);

        let mut after = Sgd::new(module.parameters(), 0.1).build()?;
        after.step()?;
        assert_ne!(module.weight().to_vec::<f32>()?, before);
    }
    Ok(())
}

#[test]
fn an_optimizer_goes_on_where_its_module_is_moved_to_where_it_is() -> Result<()> {
    for device in devices::all() {
        let mut module = Linear::new_with(3, 2, device)?;
        let mut optimizer = Sgd::new(module.parameters(), 0.1).build()?;
        module.to(device)?;
        let before = module.weight().to_vec::<f32>()?;
        module.forward(&Tensor::ones([1, 3], device)?)?.sum(())?.backward()?;
        optimizer.step()?;
        assert_ne!(module.weight().to_vec::<f32>()?, before);
    }
    Ok(())
}

#[test]
fn a_clone_that_is_moved_and_the_module_that_stays_are_trained_apart() -> Result<()> {
    let [cpu, device, _] = devices::all();
    let module = Linear::new(3, 2)?;
    let mut here = Sgd::new(module.parameters(), 0.1).build()?;
    let mut copy = module.clone();
    copy.to(device)?;
    let mut there = Sgd::new(copy.parameters(), 0.1).build()?;
    for (module, place) in [(&module, cpu), (&copy, device)] {
        module.forward(&Tensor::ones([1, 3], place)?)?.sum(())?.backward()?;
    }
    here.step()?;
    there.step()?;
    let close = module.weight().allclose(&copy.weight().cpu()?, 1e-6, 1e-6)?;
    assert!(close, "both made one step from the same weights");
    Ok(())
}

#[test]
fn what_was_recorded_before_a_module_was_moved_goes_back_to_where_it_was() -> Result<()> {
    let [cpu, device, _] = devices::all();
    let mut module = Linear::new(3, 2)?;
    let before = module.parameters();
    let loss = module.forward(&Tensor::ones([1, 3], cpu)?)?.square()?.sum(())?;
    module.to(device)?;
    tensor::no_grad(|| module.weight().fill_(0.0))?;
    loss.backward()?;
    assert!(before[0].grad().is_some_and(|gradient| gradient.device() == cpu));
    assert!(module.parameters()[0].grad().is_none());
    Ok(())
}
