//! Errors of layers and optimizers: they speak of the layer, of the parameter, and of the caller.

use nn::optim::{Adam, Optimizer, SGD};
use nn::{Forward, Linear, Module, ReLU, Result, sequential};
use tensor::{DType, Device, Tensor};

use gpu_runtime::{DriverChoice, choose_driver};
use test_support::isolate;

use crate::devices;

fn text<T>(result: Result<T>) -> String {
    result.err().expect("it is wrong").to_string()
}

#[test]
fn a_layer_says_what_it_expected_and_what_it_got() -> Result<()> {
    for device in devices::all() {
        let layer = Linear::new_with(4, 2, device)?;
        let misfit = text(layer.forward(&Tensor::ones([8, 3], device)?));
        assert_eq!(misfit, "Linear(4, 2): expected in_features = 4, got input [8, 3]");
        let inside = sequential![ReLU, layer.clone()];
        assert_eq!(text(inside.forward(&Tensor::ones([8, 3], device)?)), misfit);
        let misfit = text(layer.forward(&Tensor::scalar(1.0, (DType::F32, device))?));
        assert!(misfit.contains("Linear(4, 2)") && misfit.contains("got input []"), "{misfit}");

        let dtype = text(layer.forward(&Tensor::ones([8, 4], (DType::F64, device))?));
        for part in ["Linear(4, 2)", "float32", "float64", ".to(dtype)"] {
            assert!(dtype.contains(part), "{dtype}");
        }
    }
    let [cpu, device, _] = devices::all();
    let elsewhere = text(Linear::new(4, 2)?.forward(&Tensor::ones([8, 4], device)?));
    for part in ["Linear(4, 2)", &cpu.to_string(), &device.to_string(), ".to(device)"] {
        assert!(elsewhere.contains(part), "{elsewhere}");
    }
    Ok(())
}

#[test]
fn a_layers_error_has_the_operations_as_its_source() -> Result<()> {
    let error = Linear::new(4, 2)?.forward(&Tensor::ones([8, 3], ())?).expect_err("too narrow");
    let tensor::Error::Other(layer) = &error else { panic!("{error}") };
    let layer = layer.downcast_ref::<nn::LayerError>().expect("a layer's");
    let source = std::error::Error::source(layer).expect("the operation's").to_string();
    assert!(source.contains("matmul") || source.contains("linear"), "{source}");
    Ok(())
}

#[test]
fn what_needs_memory_that_is_not_there_names_the_callers_line() {
    isolate(|| {
        choose_driver(DriverChoice::Software { devices: Some(1) }).expect("nothing ran yet");
        let device = Device::cuda_at(0);
        let mut wide = Linear::new(2048, 2048).expect("the host has memory");
        let small = Linear::new_with(1, 2048, device).expect("the device has memory");
        let mut inside = sequential![wide.clone()];
        let rows = Tensor::ones([4096, 1], device).expect("the device has memory");
        let failed = [
            (line!(), wide.to(device).map(drop)),
            (line!(), inside.to(device).map(drop)),
            (line!(), Linear::new_with(2048, 2048, device).map(drop)),
            (line!(), small.forward(&rows).map(drop)),
        ];
        for (line, result) in failed {
            let error = result.expect_err("the device has 16 MiB");
            assert!(error.is_out_of_memory(), "{error}");
            let place = format!("tests/it/errors.rs:{line}");
            assert!(error.to_string().contains(&place), "no {place}: {error}");
        }
        assert!(wide.parameters().iter().all(|p| p.device() == Device::Cpu));
    })
    .env("CUDA_SIM_MEMORY", "16MiB")
    .run();
}

#[test]
fn wrong_options_and_parameters_are_errors_that_name_them() -> Result<()> {
    let leaf = || Tensor::ones([2], ()).and_then(|x| x.requires_grad_(true));
    let named = |error: Option<tensor::Error>, parts: &[&str]| {
        let text = error.expect("it is wrong").to_string();
        for part in parts {
            assert!(text.contains(part), "{text:?} does not name {part:?}");
        }
    };
    named(SGD::new([leaf()?], -0.1).build().err(), &["lr"]);
    named(SGD::new([leaf()?], f64::NAN).build().err(), &["lr"]);
    named(SGD::new([leaf()?], 0.1).nesterov().build().err(), &["nesterov"]);
    let computed = (&leaf()? * 2.0)?;
    named(
        SGD::new([leaf()?, computed], 0.1).build().err(),
        &["number 1", "[2]", "leaves", "detach()"],
    );
    let twice = leaf()?;
    named(Adam::new([&leaf()?, &twice, &twice], 0.1).build().err(), &["number 2", "twice"]);
    named(Adam::new([leaf()?], 0.1).betas(0.9, 1.0).build().err(), &["betas.1"]);
    named(Adam::new([leaf()?], 0.1).eps(-1.0).build().err(), &["eps"]);
    Ok(())
}

#[test]
fn frozen_parameters_are_accepted_and_left_alone() -> Result<()> {
    for device in devices::all() {
        let module = Linear::new_with(3, 2, device)?;
        let bias = module.bias().expect("a bias").requires_grad_(false)?;
        let (weights, before) = (module.weight().to_vec::<f32>()?, bias.to_vec::<f32>()?);
        let mut optimizer = Adam::new(module.parameters().iter(), 0.1).build()?;
        module.forward(&Tensor::ones([1, 3], device)?)?.sum(())?.backward()?;
        optimizer.step()?;
        assert_eq!(bias.to_vec::<f32>()?, before);
        assert_ne!(module.weight().to_vec::<f32>()?, weights);
    }
    Ok(())
}

#[test]
fn optimizers_print_their_options() -> Result<()> {
    let mut sgd = SGD::new(Linear::new(3, 2)?.parameters(), 0.1).momentum(0.9).build()?;
    sgd.set_learning_rate(0.05);
    assert_eq!(sgd.learning_rate(), 0.05);
    let text = format!("{sgd:?}");
    assert!(text.contains("parameters: 2") && text.contains("lr: 0.05"), "{text}");
    assert!(text.contains("momentum: 0.9"), "{text}");
    Ok(())
}
