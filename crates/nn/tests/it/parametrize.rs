//! Parameters that are computed from others: names, values and gradients are PyTorch's.

use nn::parametrize::{Parametrization, Parametrized, SpectralNorm, WeightNorm};
use nn::{Conv2d, Forward, LSTM, Linear, Module, StateDict};
use serde_json::Value;
use tensor::{ConvOptions, DType, Device, Result, Tensor, with_manual_seed};

use crate::devices;

trait TensorLayer: Forward<Tensor, Output = Tensor> {}

impl<M: Forward<Tensor, Output = Tensor>> TensorLayer for M {}

fn boxed(layer: Result<impl TensorLayer>) -> Result<Box<dyn TensorLayer>> {
    Ok(Box::new(layer?))
}

/// The layers of `parametrize.py`.
fn layer(name: &str) -> Result<Box<dyn TensorLayer>> {
    let linear = || Linear::new(3, 4);
    let conv = || Conv2d::new(3, 4, 2, ConvOptions::new());
    let weight = |norm| Parametrized::new(linear()?, "weight", norm);
    match name {
        "weight_norm" => boxed(weight(WeightNorm::new(0))),
        "weight_norm_of_columns" => boxed(weight(WeightNorm::new(1))),
        "weight_norm_of_all" => boxed(weight(WeightNorm::new(None))),
        "weight_norm_of_bias" => boxed(Parametrized::new(linear()?, "bias", WeightNorm::new(0))),
        "weight_norm_of_images" => boxed(Parametrized::new(conv()?, "weight", WeightNorm::new(0))),
        "spectral_norm" => boxed(Parametrized::new(linear()?, "weight", SpectralNorm::new())),
        "spectral_norm_of_columns" => {
            let norm = SpectralNorm::new().power_iterations(2).dim(1);
            boxed(Parametrized::new(linear()?, "weight", norm))
        }
        "spectral_norm_of_bias" => boxed(Parametrized::new(linear()?, "bias", SpectralNorm::new())),
        "spectral_norm_of_images" => {
            boxed(Parametrized::new(conv()?, "weight", SpectralNorm::new()))
        }
        "both" => {
            boxed(Parametrized::new(weight(WeightNorm::new(0))?, "bias", SpectralNorm::new()))
        }
        _ => panic!("{name} is no layer of the script"),
    }
}

fn tensor(value: &Value, device: Device) -> Result<Tensor> {
    let list = |name: &str| value[name].as_array().expect("a list").iter();
    let shape: Vec<usize> = list("shape").map(|n| n.as_u64().expect("a size") as usize).collect();
    let data: Vec<f32> = list("data").map(|n| n.as_f64().expect("a number") as f32).collect();
    Tensor::from_vec(data, shape, device)
}

fn state(value: &Value) -> Result<StateDict> {
    let entries = value.as_object().expect("names and tensors").iter();
    entries.map(|(name, value)| Ok((name.clone(), tensor(value, Device::Cpu)?))).collect()
}

fn assert_close(what: &str, found: &Tensor, expected: &Value) -> Result<()> {
    let expected = tensor(expected, found.device())?;
    assert_eq!(found.shape(), expected.shape(), "{what}");
    assert!(found.allclose(&expected, 1e-4, 1e-5)?, "{what}: {found}, not {expected}");
    Ok(())
}

#[test]
fn parametrized_layers_are_pytorchs_on_every_device() -> Result<()> {
    let expected: Value =
        serde_json::from_str(include_str!("../expected/parametrize.json")).expect("it is JSON");
    for device in devices::all() {
        for (name, expected) in expected["layers"].as_object().expect("layers") {
            let mut layer = layer(name)?;
            let names: Vec<String> = layer.state_dict().into_keys().collect();
            let mut wanted: Vec<&str> = expected["before"]
                .as_object()
                .expect("a state")
                .keys()
                .map(String::as_str)
                .collect();
            wanted.sort_unstable();
            assert_eq!(names, wanted, "{name}");
            layer.load_state_dict(&state(&expected["moved"])?)?;
            layer.to(device)?;
            let x = tensor(&expected["x"], device)?;
            let y = layer.forward(&x)?;
            assert_close(name, &y, &expected["y"])?;
            y.square()?.sum(())?.backward()?;
            for (parameter, tensor) in layer.named_parameters() {
                let gradient = tensor.grad().expect("it was computed");
                let what = format!("{name}: {parameter}");
                assert_close(&what, &gradient, &expected["gradients"][&parameter])?;
            }
            for (key, tensor) in layer.state_dict() {
                assert_close(&format!("{name}: {key}"), &tensor, &expected["after"][&key])?;
            }
            layer.eval();
            assert_close(name, &layer.forward(&x)?, &expected["evaluated"])?;
        }
    }
    Ok(())
}

#[test]
fn a_rule_leaves_the_parameter_as_it_was_and_can_be_taken_back() -> Result<()> {
    let plain = Linear::new(3, 4)?;
    let layer = Parametrized::new(plain.clone(), "weight", WeightNorm::new(0))?;
    assert!(layer.tensor()?.allclose(plain.weight(), 1e-6, 1e-6)?);
    let printed = layer.to_string();
    assert!(
        printed.starts_with("Linear(\n  in_features=3, out_features=4, bias=True\n"),
        "{printed}"
    );
    let back = layer.into_module()?;
    assert!(back.weight().allclose(plain.weight(), 1e-6, 1e-6)?);
    assert!(back.weight().is_leaf() && back.weight().requires_grad());
    assert_eq!(back.state_dict().len(), 2);
    plain.requires_grad_(false)?;
    let frozen = Parametrized::new(plain, "weight", WeightNorm::new(0))?;
    assert!(frozen.parameters().iter().all(|parameter| !parameter.requires_grad()));
    Ok(())
}

#[test]
fn clones_of_a_layer_share_the_originals_and_others_have_their_own() -> Result<()> {
    let layer = Parametrized::new(Linear::new(3, 4)?, "weight", SpectralNorm::new())?;
    let clone = layer.clone();
    for (one, other) in layer.parameters().iter().zip(clone.parameters()) {
        assert_eq!(one.id(), other.id());
    }
    let mut halves = with_manual_seed(3, || {
        Parametrized::new(Linear::new(3, 4)?, "weight", SpectralNorm::new())
    })?;
    halves.to(DType::F64)?;
    assert_eq!(halves.tensor()?.dtype(), DType::F64);
    assert_eq!(halves.forward(&Tensor::ones([2, 3], DType::F64)?)?.shape(), [2, 4]);
    Ok(())
}

#[test]
fn layers_of_several_outputs_are_parametrized_too() -> Result<()> {
    let plain = LSTM::new(3, 4)?;
    let layer = Parametrized::new(plain.clone(), "weight_hh_l0", WeightNorm::new(0))?;
    let x = Tensor::randn([5, 2, 3], ())?;
    let ((output, _), (expected, _)) = (layer.forward(&x)?, plain.forward(&x)?);
    assert!(output.allclose(&expected, 1e-5, 1e-5)?);
    Ok(())
}

/// A rule that makes a tensor of another shape.
#[derive(Module)]
struct Longer;

impl Parametrization for Longer {
    fn originals(&mut self, tensor: &Tensor) -> Result<Vec<Tensor>> {
        Ok(vec![tensor.clone()])
    }

    fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
        Tensor::cat([&originals[0], &originals[0]], 0)
    }
}

#[test]
fn rules_that_do_not_fit_are_errors() -> Result<()> {
    let refused = |layer: Result<()>, words: &str| {
        let error = layer.expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    let linear = || Linear::new(3, 4);
    refused(Parametrized::new(linear()?, "wait", WeightNorm::new(0)).map(drop), "\"weight\"");
    refused(Parametrized::new(linear()?, "weight", WeightNorm::new(2)).map(drop), "dim");
    refused(Parametrized::new(linear()?, "weight", SpectralNorm::new().dim(2)).map(drop), "dim");
    let norm = SpectralNorm::new().power_iterations(0);
    refused(Parametrized::new(linear()?, "weight", norm).map(drop), "power_iterations");
    refused(Parametrized::new(linear()?, "weight", Longer).map(drop), "shape");
    refused(WeightNorm::new(0).compute(&[]).map(drop), "originals");
    Ok(())
}
