//! Leaves: who is one, and what may be set on them.

use tensor::{AutogradError, DType, Error, Result, Tensor, tensor};

#[test]
fn only_floats_can_require_gradients() -> Result<()> {
    for x in [tensor![1, 2]?, tensor![true]?, Tensor::zeros([1], DType::U8)?] {
        let error = x.requires_grad_(true).expect_err("not a float");
        let refused = matches!(error, Error::Autograd(AutogradError::NotDifferentiable { .. }));
        assert!(refused, "{error:?}");
        x.requires_grad_(false)?;
    }
    for dtype in [DType::F16, DType::F32, DType::F64] {
        assert!(Tensor::zeros([1], dtype)?.requires_grad_(true)?.requires_grad());
    }
    Ok(())
}

#[test]
fn the_flag_belongs_to_all_handles_of_a_leaf() -> Result<()> {
    let x = tensor![1.0]?;
    let other = x.clone();
    x.requires_grad_(true)?;
    assert!(other.requires_grad());
    other.mul(2.0)?.sum(())?.backward()?;
    assert_eq!(x.grad().expect("of the same leaf").to_vec::<f32>()?, [2.0]);
    Ok(())
}

#[test]
fn results_are_not_leaves_and_keep_no_gradient() -> Result<()> {
    let x = tensor![1.0]?.requires_grad_(true)?;
    let y = x.mul(2.0)?;
    assert!(x.is_leaf() && !y.is_leaf() && y.requires_grad());
    y.sum(())?.backward()?;
    assert!(y.grad().is_none());
    let error = y.requires_grad_(false).expect_err("a result");
    let refused =
        matches!(error, Error::Autograd(AutogradError::NotLeaf { computed_by: "mul", .. }));
    assert!(refused, "{error:?}");
    assert!(y.set_grad(Some(tensor![1.0]?)).is_err());
    Ok(())
}

#[test]
fn a_flag_that_is_taken_back_stops_recording() -> Result<()> {
    let x = tensor![1.0]?.requires_grad_(true)?;
    x.requires_grad_(false)?;
    assert!(!x.mul(2.0)?.requires_grad());
    Ok(())
}

#[test]
fn a_gradient_that_is_set_must_look_like_its_tensor() -> Result<()> {
    let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    for wrong in [tensor![1.0]?, tensor![1, 2]?, Tensor::zeros([2], DType::F64)?] {
        let error = x.set_grad(Some(wrong)).expect_err("it does not look like x");
        let refused = matches!(error, Error::Autograd(AutogradError::GradientMismatch { .. }));
        assert!(refused, "{error:?}");
    }
    x.set_grad(Some(tensor![5.0, 5.0]?))?;
    x.sum(())?.backward()?;
    assert_eq!(x.grad().expect("it was set").to_vec::<f32>()?, [6.0, 6.0]);
    x.set_grad(None)?;
    assert!(x.grad().is_none());
    Ok(())
}

#[test]
fn a_tensor_is_not_its_own_gradient() -> Result<()> {
    let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    let error = x.set_grad(Some(x.clone())).expect_err("x has to be changed by it");
    assert!(matches!(error, Error::Autograd(AutogradError::OwnGradient { .. })), "{error:?}");
    assert!(x.grad().is_none());
    Ok(())
}

#[test]
fn a_gradient_that_is_set_lets_go_of_how_it_was_computed() -> Result<()> {
    let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    x.set_grad(Some(x.mul(3.0)?))?;
    let gradient = x.grad().expect("it was set");
    assert_eq!(gradient.to_vec::<f32>()?, [3.0, 6.0]);
    assert!(gradient.is_leaf() && !gradient.requires_grad(), "x and it would hold each other");
    Ok(())
}

#[test]
fn a_single_number_that_is_a_leaf_has_the_gradient_one() -> Result<()> {
    let x = Tensor::scalar(3.0, ())?.requires_grad_(true)?;
    x.backward()?;
    assert_eq!(x.grad().expect("its own").item::<f32>()?, 1.0);
    Ok(())
}
