//! Operations in place, and what they do to gradients.

use tensor::{AutogradError, Error, Result, Tensor, no_grad, tensor};

fn leaf(values: &[f32]) -> Result<Tensor> {
    Tensor::new(values, ())?.requires_grad_(true)
}

#[test]
fn a_leaf_that_requires_gradients_is_modified_under_no_grad_only() -> Result<()> {
    let x = leaf(&[1.0])?;
    let error = x.add_(1.0).expect_err("it would have to be differentiated");
    let refused = matches!(error, Error::Autograd(AutogradError::InPlace { argument: "self", .. }));
    assert!(refused, "{error:?}");
    assert!(error.to_string().contains("no_grad"), "{error}");
    for refused in [x.zero_(), x.fill_(2.0), x.uniform_(0.0, 1.0), x.copy_(&tensor![2.0]?)] {
        assert!(refused.is_err());
    }
    no_grad(|| x.add_(1.0))?;
    assert_eq!(x.detach().to_vec::<f32>()?, [2.0]);
    assert!(x.requires_grad() && x.is_leaf());
    Ok(())
}

#[test]
fn an_operand_that_requires_gradients_is_not_lost_silently() -> Result<()> {
    let (buffer, x) = (tensor![1.0]?, leaf(&[2.0])?);
    let error = buffer.mul_(&x).expect_err("the product would depend on x");
    let refused =
        matches!(error, Error::Autograd(AutogradError::InPlace { argument: "other", .. }));
    assert!(refused, "{error:?}");
    buffer.mul_(&x.detach())?;
    assert_eq!(buffer.to_vec::<f32>()?, [2.0]);
    Ok(())
}

#[test]
fn a_saved_tensor_that_was_modified_is_an_error_that_names_the_operation() -> Result<()> {
    let (x, factor) = (leaf(&[2.0])?, tensor![3.0]?);
    let y = x.mul(&factor)?.sum()?;
    factor.fill_(100.0)?;
    let error = y.backward().expect_err("the gradient needs the factor as it was");
    let Error::Autograd(AutogradError::Backward { op: "mul", source }) = &error else {
        panic!("{error:?}");
    };
    assert!(matches!(**source, Error::Autograd(AutogradError::Modified { .. })), "{source:?}");
    let text = error.to_string();
    assert!(text.contains("mul") && text.contains("modified in place"), "{text}");
    Ok(())
}

#[test]
fn a_modified_view_is_noticed_through_its_storage() -> Result<()> {
    let (x, weights) = (leaf(&[2.0, 3.0])?, tensor![1.0, 2.0]?);
    let y = x.mul(&weights)?.sum()?;
    weights.narrow(0, 1, 1)?.fill_(0.0)?;
    assert!(y.backward().is_err());
    Ok(())
}

#[test]
fn a_saved_output_that_was_modified_is_noticed() -> Result<()> {
    let x = leaf(&[0.5])?;
    let y = x.exp()?;
    no_grad(|| y.zero_())?;
    assert!(y.sum()?.backward().is_err(), "the gradient of exp is its result");
    Ok(())
}

#[test]
fn what_no_gradient_needs_may_be_modified() -> Result<()> {
    let (x, shift) = (leaf(&[2.0])?, tensor![3.0]?);
    let y = x.add(&shift)?.sum()?;
    shift.fill_(100.0)?;
    y.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [1.0]);
    Ok(())
}
