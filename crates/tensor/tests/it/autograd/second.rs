//! Gradients of gradients, against PyTorch's and against finite differences.

use tensor::{Backward, DType, Device, Result, Tensor, grad, tensor};

use super::gradients::FAMILIES;
use crate::apply::apply;
use crate::devices::{for_each_device, for_each_kind};
use crate::expected::{Case, assert_is, cases};

/// The inputs of a case, those of floats as leaves, in `dtype` if one is given.
fn leaves(case: &Case, device: Device, dtype: Option<DType>) -> Result<Vec<Tensor>> {
    let inputs = case.inputs(device)?;
    let leaf = |input: &Tensor| match input.dtype().is_float() {
        true => input.to(dtype.unwrap_or(input.dtype()))?.detach().requires_grad_(true),
        false => Ok(input.clone()),
    };
    inputs.iter().map(leaf).collect()
}

/// The gradients of a case by its inputs of floats, recorded themselves.
fn recorded_gradients(
    case: &Case,
    inputs: &[Tensor],
    gradient: &Tensor,
) -> Result<Vec<Option<Tensor>>> {
    let output = apply(case, inputs)?;
    let gradient = gradient.to(output.dtype())?;
    let pass = Backward::new().output_with(&output, &gradient).create_graph();
    pass.collect(&floats(inputs))
}

fn floats(inputs: &[Tensor]) -> Vec<&Tensor> {
    inputs.iter().filter(|input| input.requires_grad()).collect()
}

/// The sum of the gradients times the weights, as far as they depend on anything.
fn weighted(gradients: &[Option<Tensor>], weights: &[Tensor]) -> Result<Option<Tensor>> {
    let mut sum: Option<Tensor> = None;
    for (gradient, weight) in gradients.iter().zip(weights) {
        let Some(gradient) = gradient.as_ref().filter(|gradient| gradient.requires_grad()) else {
            continue;
        };
        let part = gradient.mul(&weight.to(gradient.dtype())?)?.sum(())?.to(DType::F64)?;
        sum = Some(match sum {
            Some(sum) => sum.add(&part)?,
            None => part,
        });
    }
    Ok(sum)
}

#[test]
fn every_operation_has_the_second_derivatives_that_pytorch_gives() -> Result<()> {
    for_each_kind(|device| {
        // They are made of operations that are recorded; what a kernel computes, the first derivatives
        // show of all cases.
        let step = if device == Device::Cpu { 1 } else { 3 };
        for case in FAMILIES.into_iter().flat_map(cases).step_by(step) {
            let what = format!("second derivatives of {} on {device}", case.describe());
            let inputs = leaves(&case, device, None)?;
            let gradients = recorded_gradients(&case, &inputs, &case.tensor("gradient", device)?)?;
            let expected = case.raw("seconds").as_array().expect("a list");
            let inputs = floats(&inputs);
            let seconds = match weighted(&gradients, &case.tensors("weights", device)?)? {
                Some(sum) => grad(&[&sum], &inputs)?,
                None => vec![None; inputs.len()],
            };
            for (position, (second, expected)) in seconds.iter().zip(expected).enumerate() {
                let what = format!("{what}, {position}");
                match second {
                    Some(second) if !expected.is_null() => assert_is(second, expected, &what)?,
                    Some(second) => {
                        let zero = second.eq(0)?.all(())?.item::<bool>()?;
                        assert!(zero, "{what}: PyTorch has none");
                    }
                    None => {
                        let data = expected["data"].as_array();
                        let zero = data.into_iter().flatten().all(|x| x.as_f64() == Some(0.0));
                        assert!(zero, "{what}: there is none");
                    }
                }
            }
        }
        Ok(())
    })
}

/// Operations whose gradient has steps, or is not a function of the element alone, at the inputs of
/// some case (ties): differences across those say nothing.
const WITH_STEPS: [&str; 3] = ["amax", "amin", "max"];

#[test]
fn second_derivatives_are_the_differences_of_first_ones() -> Result<()> {
    for case in cases("gradients").into_iter().filter(|case| !WITH_STEPS.contains(&case.op())) {
        let inputs = leaves(&case, Device::Cpu, Some(DType::F64))?;
        let gradient = case.tensor("gradient", Device::Cpu)?;
        let weights = case.tensors("weights", Device::Cpu)?;
        let sum =
            |inputs: &[Tensor]| weighted(&recorded_gradients(&case, inputs, &gradient)?, &weights);
        let Some(at_inputs) = sum(&inputs)? else { continue };
        let seconds = grad(&[&at_inputs], &floats(&inputs))?;
        let positions: Vec<usize> =
            (0..inputs.len()).filter(|&at| inputs[at].requires_grad()).collect();
        for (second, &at) in seconds.iter().zip(&positions) {
            for element in 0..inputs[at].numel() {
                let moved = |by: f64| -> Result<f64> {
                    let mut inputs = inputs.clone();
                    let copy = inputs[at].detach().clone_data()?;
                    copy.flatten()?.narrow(0, element, 1)?.add_(by)?;
                    inputs[at] = copy.requires_grad_(true)?;
                    sum(&inputs)?.expect("it depends on the inputs here too").item()
                };
                let difference = (moved(1e-5)? - moved(-1e-5)?) / 2e-5;
                let found = match second {
                    Some(second) => second.detach().flatten()?.to_vec::<f64>()?[element],
                    None => 0.0,
                };
                let close = (found - difference).abs() <= 1e-5 * (1.0 + difference.abs());
                let at_a_kink = case.inputs(Device::Cpu)?[at].to(DType::F64)?.flatten()?;
                let value = at_a_kink.to_vec::<f64>()?[element];
                let what = case.describe();
                assert!(
                    close || value.fract() == 0.0,
                    "{what}: {found}, not {difference}, by element {element} of input {at}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn derivatives_of_any_order_can_be_taken() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([0.7], (DType::F64, device))?.requires_grad_(true)?;
        let mut derivative = x.sin()?.sum(())?;
        let expected = [0.7f64.cos(), -0.7f64.sin(), -0.7f64.cos(), 0.7f64.sin()];
        for expected in expected {
            let pass = Backward::new().output(&derivative).create_graph();
            derivative = pass.collect(&[&x])?.remove(0).expect("it depends on x").sum(())?;
            assert!((derivative.item::<f64>()? - expected).abs() < 1e-12);
        }
        Ok(())
    })
}

#[test]
fn a_pass_without_create_graph_gives_gradients_without_history() -> Result<()> {
    let x = tensor![3.0]?.requires_grad_(true)?;
    let y = x.square()?.sum(())?;
    let plain = Backward::new().output(&y).retain_graph().collect(&[&x])?.remove(0);
    assert!(!plain.expect("it depends on x").requires_grad());
    let recorded = Backward::new().output(&y).create_graph().collect(&[&x])?.remove(0);
    assert!(recorded.expect("it depends on x").requires_grad());
    // The graph was kept, so the first derivative can still be computed.
    y.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [6.0]);
    Ok(())
}

#[test]
fn a_recorded_pass_adds_gradients_with_history_to_leaves() -> Result<()> {
    let x = tensor![2.0]?.requires_grad_(true)?;
    Backward::new().output(&x.pow(3)?.sum(())?).create_graph().run()?;
    let first = x.grad().expect("it has one");
    x.clear_grad();
    first.sum(())?.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [12.0]);
    Ok(())
}

#[test]
fn a_gradient_that_a_recorded_pass_starts_from_is_differentiated_too() -> Result<()> {
    let x = tensor![2.0]?.requires_grad_(true)?;
    let seed = tensor![5.0]?.requires_grad_(true)?;
    let y = x.square()?;
    let pass = Backward::new().output_with(&y, &seed).create_graph();
    let first = pass.collect(&[&x])?.remove(0).expect("it depends on x");
    let of_seed = grad(&[&first.sum(())?], &[&seed])?.remove(0).expect("so does it on the seed");
    assert_eq!(of_seed.to_vec::<f32>()?, [4.0]);
    Ok(())
}
