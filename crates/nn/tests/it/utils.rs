//! Functions of many parameters and of their gradients.

use nn::utils::{
    ClipOptions, clip_grad_norm_, clip_grads_with_norm_, get_total_norm, parameters_to_vector,
    vector_to_parameters,
};
use nn::{Linear, Module, Result};
use tensor::{DType, Tensor, tensor};

use crate::devices;
use crate::training::{set_gradients, start};

#[test]
fn clipping_in_two_steps_is_clipping_at_once_on_every_device() -> Result<()> {
    for device in devices::all() {
        for norm in [1.0, 2.0, f64::INFINITY] {
            let (once, twice) = (start(device)?, start(device)?);
            set_gradients(&once, 0)?;
            set_gradients(&twice, 0)?;
            let expected = clip_grad_norm_(&once, 0.5, norm)?;
            let gradients: Vec<Tensor> = twice.iter().filter_map(Tensor::grad).collect();
            let total = get_total_norm(&gradients, norm)?;
            assert!(total.equal(&expected)?, "norm {norm} on {device}");
            clip_grads_with_norm_(&twice, 0.5, &total.reshape([1])?)?;
            for (once, twice) in once.iter().zip(&twice) {
                let (once, twice) = (once.grad().expect("set"), twice.grad().expect("set"));
                assert!(once.equal(&twice)?, "norm {norm} on {device}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_total_norm_is_of_any_tensors_and_records_nothing() -> Result<()> {
    let x = tensor![3.0, 4.0]?.requires_grad_(true)?;
    let total = get_total_norm([&x], ())?;
    assert_eq!((total.item::<f32>()?, total.dims(), total.requires_grad()), (5.0, 0, false));
    assert_eq!(get_total_norm(&[] as &[Tensor], ())?.item::<f32>()?, 0.0);
    let options = ClipOptions::new().error_if_nonfinite();
    let error = get_total_norm([tensor![f32::NAN]?], options).expect_err("it is NaN").to_string();
    assert!(error.contains("get_total_norm") && error.contains("tensors"), "{error}");
    let error = clip_grads_with_norm_([&x], 1.0, &tensor![1.0, 2.0]?).expect_err("two norms");
    assert!(error.to_string().contains("total_norm"), "{error}");
    Ok(())
}

#[test]
fn parameters_become_a_vector_and_get_its_elements_back_on_every_device() -> Result<()> {
    for device in devices::all() {
        let layer = Linear::new_with(3, 2, device)?;
        let vector = parameters_to_vector(layer.parameters())?;
        let rows = layer.weight().flatten()?;
        assert!(vector.narrow(0, 0, 6)?.equal(&rows)?, "on {device}");
        vector.square()?.sum(())?.backward()?;
        let gradient = layer.weight().grad().expect("gradients flow back");
        assert!(gradient.allclose(&layer.weight().detach().mul(2.0)?, 1e-6, 0.0)?);
        // From another device and dtype.
        vector_to_parameters(&Tensor::arange(8.0, DType::F64)?, layer.parameters())?;
        assert_eq!(layer.weight().to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(layer.bias().expect("it has one").to_vec::<f32>()?, [6.0, 7.0]);
        assert!(layer.weight().is_leaf() && layer.weight().requires_grad());
    }
    Ok(())
}

#[test]
fn a_vector_of_another_length_changes_no_parameter() -> Result<()> {
    let layer = Linear::new(3, 2)?;
    let before = parameters_to_vector(layer.parameters())?.detach();
    for vector in [Tensor::zeros([7], ())?, Tensor::zeros([9], ())?, Tensor::zeros([2, 4], ())?] {
        let error = vector_to_parameters(&vector, layer.parameters()).expect_err("8 elements");
        assert!(error.to_string().contains("8 elements"), "{error}");
    }
    assert!(parameters_to_vector(layer.parameters())?.equal(&before)?);
    assert!(parameters_to_vector(&[] as &[Tensor]).is_err());
    Ok(())
}
