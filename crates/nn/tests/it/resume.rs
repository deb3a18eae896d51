//! Optimizers whose state is saved: another one goes on bit for bit.

use nn::optim::{Adam, Optimizer, SGD};
use nn::{Forward, Linear, Module, Result, StateDict, StateError};
use serde_json::Value;
use tensor::{DType, Device, Tensor};

use crate::devices;

const EXPECTED: &str = include_str!("../expected/modules.json");

type Build = fn(Vec<Tensor>) -> Result<Box<dyn Optimizer>>;

const BUILDS: [(&str, Build); 2] = [
    ("sgd", |parameters| Ok(Box::new(SGD::new(parameters, 0.1).momentum(0.9).build()?))),
    ("adam", |parameters| Ok(Box::new(Adam::new(parameters, 0.1).weight_decay(0.01).build()?))),
];

fn steps(module: &Linear, optimizer: &mut dyn Optimizer, count: usize) -> Result<()> {
    for _ in 0..count {
        let x = Tensor::new([[1.0f32, -2.0, 3.0]], module.weight().device())?;
        optimizer.zero_grad();
        module.forward(&x)?.square()?.sum(())?.backward()?;
        optimizer.step()?;
    }
    Ok(())
}

/// A copy that shares no memory, as a file would have it.
fn written(state: &StateDict) -> Result<StateDict> {
    let copy = |(name, value): (&String, &Tensor)| Ok((name.clone(), value.cpu()?.clone_data()?));
    state.iter().map(copy).collect()
}

fn bits(module: &Linear) -> Result<Vec<u32>> {
    Ok(module.weight().to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())
}

#[test]
fn a_resumed_optimizer_makes_the_same_steps_bit_for_bit() -> Result<()> {
    for (name, build) in BUILDS {
        for device in devices::all() {
            let module = Linear::new_with(3, 2, device)?;
            let mut optimizer = build(module.parameters())?;
            steps(&module, &mut *optimizer, 3)?;
            optimizer.set_learning_rate(0.03);
            let saved = (written(&module.state_dict())?, written(&optimizer.state_dict()?)?);
            steps(&module, &mut *optimizer, 3)?;

            let mut resumed = Linear::new_with(3, 2, device)?;
            // With other hyperparameters, all of which the state replaces.
            let mut other = build(resumed.parameters())?;
            other.set_learning_rate(7.0);
            resumed.load_state_dict(&saved.0).expect("it fits");
            other.load_state_dict(&saved.1).expect("it fits");
            assert_eq!(other.learning_rate(), 0.03);
            steps(&resumed, &mut *other, 3)?;
            assert_eq!(bits(&module)?, bits(&resumed)?, "{name} on {device}");
        }
    }
    Ok(())
}

#[test]
fn names_are_pytorchs() -> Result<()> {
    let expected: Value = serde_json::from_str(EXPECTED).expect("the expected values are JSON");
    for (name, build) in BUILDS {
        let module = Linear::new(3, 2)?;
        let mut optimizer = build(module.parameters())?;
        steps(&module, &mut *optimizer, 1)?;
        let names: Vec<_> = optimizer.state_dict()?.into_keys().collect();
        let expected = expected["optimizers"][name].as_array().expect("a list");
        assert_eq!(names, expected.iter().map(|n| n.as_str().unwrap()).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn a_state_may_come_from_another_device_and_for_a_module_that_is_moved_later() -> Result<()> {
    let [_, device, _] = devices::all();
    for (name, build) in BUILDS {
        let module = Linear::new(3, 2)?;
        let mut optimizer = build(module.parameters())?;
        steps(&module, &mut *optimizer, 2)?;
        let mut moved = Linear::new(3, 2)?;
        let mut other = build(moved.parameters())?;
        moved.load_state_dict(&module.state_dict()).expect("it fits");
        other.load_state_dict(&written(&optimizer.state_dict()?)?).expect("it fits");
        moved.to(device)?;
        steps(&module, &mut *optimizer, 2)?;
        steps(&moved, &mut *other, 2)?;
        assert!(module.weight().allclose(&moved.weight().cpu()?, 1e-5, 1e-5)?, "{name}");
    }
    Ok(())
}

#[test]
fn a_state_that_does_not_fit_names_everything_and_changes_nothing() -> Result<()> {
    for (name, build) in BUILDS {
        let module = Linear::new(3, 2)?;
        let mut optimizer = build(module.parameters())?;
        steps(&module, &mut *optimizer, 1)?;
        let good = written(&optimizer.state_dict()?)?;
        let tensor = if name == "sgd" { "state.0.momentum_buffer" } else { "state.0.exp_avg" };

        let mut state = good.clone();
        state.remove("param_groups.0.lr");
        state.insert(tensor.to_owned(), Tensor::ones([5], ())?);
        state.insert("state.2.exp_avg".to_owned(), Tensor::ones([5], ())?);
        let error = optimizer.load_state_dict(&state).expect_err("it does not fit");
        let StateError::Mismatch(mismatches) = &error else { panic!("{error}") };
        assert_eq!(mismatches.len(), 3, "{error}");
        for part in ["param_groups.0.lr", tensor, "state.2.exp_avg"] {
            assert!(error.to_string().contains(part), "{error}");
        }

        let mut state = good.clone();
        state.insert("param_groups.0.lr".to_owned(), Tensor::scalar(-1.0, DType::F64)?);
        assert!(optimizer.load_state_dict(&state).unwrap_err().to_string().contains("lr"));

        let mut other = SGD::new(module.parameters(), 0.1).build()?;
        if name == "adam" {
            let error = other.load_state_dict(&good).expect_err("of another kind").to_string();
            assert!(error.contains("exp_avg_sq"), "{error}");
        }
        assert_eq!(optimizer.learning_rate(), 0.1);
        steps(&module, &mut *optimizer, 1)?;
    }
    Ok(())
}

#[test]
fn a_loaded_state_is_a_copy() -> Result<()> {
    let module = Linear::new_with(3, 2, Device::Cpu)?;
    let mut first = SGD::new(module.parameters(), 0.1).momentum(0.9).build()?;
    steps(&module, &mut first, 1)?;
    let mut second = SGD::new(module.parameters(), 0.1).build()?;
    second.load_state_dict(&first.state_dict()?).expect("it fits");
    let name = "state.0.momentum_buffer";
    assert!(!second.state_dict()?[name].shares_memory_with(&first.state_dict()?[name]));
    Ok(())
}
