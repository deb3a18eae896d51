//! Gradients of the operations, against PyTorch's.

use tensor::{Result, Tensor};

use crate::apply::apply;
use crate::devices::for_each_kind;
use crate::expected::{Case, assert_is, cases};

/// The cases of PyTorch's that have gradients, and second derivatives.
pub(super) const FAMILIES: [&str; 7] =
    ["gradients", "gathered", "windows", "convolutions", "functional", "powers", "attention"];

#[test]
fn every_operation_has_the_gradients_that_pytorch_gives() -> Result<()> {
    for_each_kind(|device| {
        for case in FAMILIES.into_iter().flat_map(cases) {
            let what = format!("gradients of {} on {device}", case.describe());
            let inputs = leaves(&case, device)?;
            let output = apply(&case, &inputs)?;
            assert_is(&output, case.raw("output"), &what)?;
            output.backward_with(&case.tensor("gradient", device)?)?;
            let expected = case.raw("gradients").as_array().expect("a list");
            for (position, (input, expected)) in inputs.iter().zip(expected).enumerate() {
                match input.grad() {
                    Some(gradient) => {
                        assert_is(&gradient, expected, &format!("{what}, {position}"))?
                    }
                    None => assert!(!input.requires_grad(), "{what}: none for input {position}"),
                }
            }
        }
        Ok(())
    })
}

fn leaves(case: &Case, device: tensor::Device) -> Result<Vec<Tensor>> {
    let inputs = case.inputs(device)?;
    for input in inputs.iter().filter(|input| input.dtype().is_float()) {
        input.requires_grad_(true)?;
    }
    Ok(inputs)
}

/// The network of `training.py`, with plain gradient descent: nothing but this crate.
#[test]
fn a_network_trains_step_by_step_as_in_pytorch() -> Result<()> {
    for_each_kind(|device| {
        for case in cases("training").into_iter().filter(|case| case.op() == "sgd") {
            let inputs = case.inputs(device)?;
            let (images, labels, weights) = (&inputs[0], &inputs[1], &inputs[2..]);
            for weight in weights {
                weight.requires_grad_(true)?;
            }
            let losses = case.raw("losses").as_array().expect("a list");
            for expected in losses {
                let hidden = images.matmul(&weights[0].t()?)?.add(&weights[1])?.relu()?;
                let logits = hidden.matmul(&weights[2].t()?)?.add(&weights[3])?;
                let loss = logits.cross_entropy(labels)?;
                let (value, expected) = (loss.item::<f64>()?, expected.as_f64().expect("a loss"));
                assert!((value - expected).abs() < 1e-5, "{value} where PyTorch has {expected}");
                weights.iter().for_each(Tensor::clear_grad);
                loss.backward()?;
                tensor::no_grad(|| {
                    weights.iter().try_for_each(|weight| {
                        let gradient = weight.grad().expect("every weight takes part");
                        weight.add_scaled_(&gradient, -case.float("lr")).map(drop)
                    })
                })?;
            }
            let expected = case.raw("weights").as_array().expect("a list");
            for (weight, expected) in weights.iter().zip(expected) {
                assert_is(weight, expected, &format!("weights on {device}"))?;
            }
        }
        Ok(())
    })
}
