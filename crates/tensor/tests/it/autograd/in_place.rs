//! Operations in place, and what they do to gradients.

use std::sync::Arc;

use tensor::{AutogradError, Backward, Error, Result, Tensor, grad, keepdim, no_grad, tensor};

use crate::devices::for_each_device;

fn leaf(values: &[f32]) -> Result<Tensor> {
    Tensor::new(values, ())?.requires_grad_(true)
}

#[test]
fn a_leaf_that_requires_gradients_is_modified_under_no_grad_only() -> Result<()> {
    let x = leaf(&[1.0])?;
    let error = x.add_(1.0).expect_err("it would have to be differentiated");
    let refused = matches!(error, Error::Autograd(AutogradError::InPlaceOnLeaf { op: "add_", .. }));
    assert!(refused, "{error:?}");
    assert!(error.to_string().contains("no_grad"), "{error}");
    for refused in [x.zero_(), x.fill_(2.0), x.uniform_(0.0, 1.0), x.copy_(&tensor![2.0]?)] {
        assert!(refused.is_err());
    }
    assert!(x.narrow(0, 0, 1)?.add_(1.0).is_err(), "a view of a leaf is refused too");
    no_grad(|| x.add_(1.0))?;
    assert_eq!(x.detach().to_vec::<f32>()?, [2.0]);
    assert!(x.requires_grad() && x.is_leaf());
    Ok(())
}

#[test]
fn a_tensor_that_is_written_with_one_that_requires_gradients_requires_them_too() -> Result<()> {
    for_each_device(|device| {
        let (buffer, x) = (tensor![3.0]?.to(device)?, leaf(&[2.0])?.detach().to(device)?);
        x.requires_grad_(true)?;
        buffer.mul_(&x)?;
        assert_eq!((buffer.requires_grad(), buffer.grad_fn()), (true, Some("mul_")));
        buffer.sum(())?.backward()?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [3.0]);
        Ok(())
    })
}

#[test]
fn writes_to_intermediates_are_part_of_the_graph() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 2.0, 3.0]?.to(device)?.requires_grad_(true)?;
        let y = x.mul(2.0)?; // 2 x
        y.mul_(&x)?; // 2 x^2
        y.add_(1.0)?.mul_(3.0)?; // 6 x^2 + 3
        y.sub_(&x)?;
        y.sum(())?.backward()?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [11.0, 23.0, 35.0]);
        Ok(())
    })
}

#[test]
fn a_write_to_a_view_gives_the_whole_a_new_history() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![[1.0, 2.0], [3.0, 4.0]]?.to(device)?.requires_grad_(true)?;
        let y = x.mul(2.0)?;
        y.select(0, 0)?.mul_(10.0)?;
        y.t()?.select(0, 1)?.add_(&x.select(0, 1)?)?;
        assert_eq!(y.grad_fn(), Some("add_"));
        y.sum(())?.backward()?;
        let gradient = x.grad().expect("it has one").to_vec::<f32>()?;
        assert_eq!(gradient, [20.0, 20.0, 3.0, 3.0]);
        Ok(())
    })
}

#[test]
fn a_view_that_was_made_before_a_write_sees_it() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 2.0, 3.0]?.to(device)?.requires_grad_(true)?;
        let y = x.mul(2.0)?;
        let (left, right) = (y.narrow(0, 0, 2)?, y.narrow(0, 1, 2)?);
        left.mul_(5.0)?;
        assert_eq!(right.grad_fn(), Some("as_strided"), "its history begins anew at the whole");
        right.sum(())?.backward()?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [0.0, 10.0, 2.0]);
        Ok(())
    })
}

#[test]
fn a_write_to_a_view_of_a_constant_makes_the_constant_depend_on_it() -> Result<()> {
    let x = leaf(&[5.0])?;
    let buffer = tensor![1.0, 2.0, 3.0]?;
    buffer.narrow(0, 1, 1)?.copy_(&x)?;
    assert!(buffer.requires_grad());
    buffer.mul(&tensor![7.0, 8.0, 9.0]?)?.sum(())?.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [8.0]);
    Ok(())
}

#[test]
fn values_that_are_overwritten_get_no_gradient() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 2.0]?.to(device)?.requires_grad_(true)?;
        let y = x.mul(3.0)?;
        y.narrow(0, 0, 1)?.zero_()?;
        y.sum(())?.backward()?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [0.0, 3.0]);
        x.clear_grad();
        x.mul(3.0)?.fill_(1.0)?.sum(())?.backward()?;
        assert_eq!(x.grad().expect("zeros, as in PyTorch").to_vec::<f32>()?, [0.0, 0.0]);
        Ok(())
    })
}

#[test]
fn writes_can_be_differentiated_twice() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 2.0, 3.0]?.to(device)?.requires_grad_(true)?;
        let y = x.square()?;
        y.narrow(0, 1, 2)?.mul_(&x.narrow(0, 0, 2)?)?; // x0^2, x1^2 x0, x2^2 x1
        let ones = Tensor::ones([3], device)?;
        let pass = Backward::new().output_with(&y, &ones).create_graph();
        let first = pass.collect(&[&x])?.remove(0).expect("it depends on x");
        assert_eq!(first.detach().to_vec::<f32>()?, [2.0 + 4.0, 4.0 + 9.0, 12.0]);
        let second = grad(&[&first.sum(())?], &[&x])?.remove(0).expect("so does the first");
        // d/dx of 2 x0 + x1^2 + 2 x1 x0 + x2^2 + 2 x2 x1
        assert_eq!(second.to_vec::<f32>()?, [2.0 + 4.0, 4.0 + 2.0 + 6.0, 6.0 + 4.0]);
        Ok(())
    })
}

#[test]
fn views_that_cannot_be_followed_are_not_written() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    let y = x.mul(2.0)?;
    let refused = |written: Result<Tensor>| {
        let error = written.expect_err("it cannot be recorded");
        let named = matches!(error, Error::Autograd(AutogradError::InPlaceOnView { .. }));
        assert!(named, "{error:?}");
    };
    refused(y.chunk(2, 0)?[0].add_(1.0));
    refused(y.unbind(0)?[1].add_(1.0));
    refused(no_grad(|| y.narrow(0, 0, 1))?.add_(1.0));
    // Nothing has to be recorded here.
    tensor![1.0, 2.0]?.chunk(2, 0)?[0].add_(1.0)?;
    no_grad(|| y.chunk(2, 0)?[0].add_(1.0))?;
    Ok(())
}

#[test]
fn a_write_without_grad_mode_changes_the_numbers_only() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    let y = x.mul(2.0)?;
    no_grad(|| y.mul_(100.0))?;
    assert_eq!(y.grad_fn(), Some("mul"));
    y.sum(())?.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [2.0, 2.0]);
    Ok(())
}

#[test]
fn an_operand_that_the_write_itself_overwrites_is_noticed_if_the_gradient_needs_it() -> Result<()> {
    let x = leaf(&[3.0, 4.0])?;
    let doubled = x.mul(2.0)?;
    doubled.add_(&doubled)?.sum(())?.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [4.0, 4.0]);
    for reversed in [false, true] {
        let y = x.mul(2.0)?;
        let other = if reversed { y.narrow(0, 0, 1)? } else { y.clone() };
        let product = y.mul_(&other)?.sum(())?;
        let error = product.backward().expect_err("the factor is overwritten");
        assert!(error.to_string().contains("modified in place"), "{error}");
    }
    Ok(())
}

#[test]
fn a_tensor_that_was_saved_and_written_frees_its_graph() -> Result<()> {
    let x = leaf(&[3.0])?;
    let y = x.mul(2.0)?;
    let z = y.mul(&x)?;
    // The new history of `y` leads to `z`, whose node has saved `y`.
    y.add_(&z)?;
    let lives = Arc::new(());
    let owned = Arc::clone(&lives);
    z.register_hook(move |_| {
        let _owned = &owned;
        Ok(None)
    })?;
    assert_eq!(Arc::strong_count(&lives), 2);
    drop((y, z));
    assert_eq!(Arc::strong_count(&lives), 1, "the node of `z` is gone");
    Ok(())
}

#[test]
fn a_saved_tensor_that_was_modified_is_an_error_that_names_the_operation() -> Result<()> {
    let (x, factor) = (leaf(&[2.0])?, tensor![3.0]?);
    let y = x.mul(&factor)?.sum(())?;
    factor.fill_(100.0)?;
    let error = y.backward().expect_err("the gradient needs the factor as it was");
    let Error::Autograd(AutogradError::Backward { op: "mul", source, .. }) = &error else {
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
    let y = x.mul(&weights)?.sum(())?;
    weights.narrow(0, 1, 1)?.fill_(0.0)?;
    assert!(y.backward().is_err());
    Ok(())
}

#[test]
fn a_saved_output_that_was_modified_is_noticed() -> Result<()> {
    let x = leaf(&[0.5])?;
    let y = x.exp()?;
    no_grad(|| y.zero_())?;
    assert!(y.sum(())?.backward().is_err(), "the gradient of exp is its result");
    Ok(())
}

#[test]
fn a_product_that_was_modified_is_noticed_though_it_is_not_kept() -> Result<()> {
    let x = leaf(&[0.5, 2.0])?;
    for product in [x.prod(())?, x.prod(keepdim(0))?, x.cumprod(0)?] {
        assert_eq!(product.saved_bytes(&[&x]), 0);
        no_grad(|| product.zero_())?;
        let error = product.sum(())?.backward().expect_err("as in PyTorch, whose formula uses it");
        assert!(error.to_string().contains("modified in place"), "{error}");
    }
    let sum = x.prod(())?.add(1.0)?; // Nobody can modify the product any more.
    sum.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [2.0, 0.5]);
    Ok(())
}

#[test]
fn a_tensor_that_was_gathered_from_must_not_be_modified() -> Result<()> {
    let x = leaf(&[0.5, 2.0])?;
    let index = tensor![1_i64, 1]?;
    for choose in [
        |y: &Tensor, index: &Tensor| y.gather(0, index),
        |y: &Tensor, index: &Tensor| y.take(index),
        |y: &Tensor, _: &Tensor| y.masked_select(&y.detach().gt(1.0)?),
        |y: &Tensor, _: &Tensor| Ok(y.cummax(0)?.0),
        |y: &Tensor, index: &Tensor| Tensor::zeros([2], ())?.index_add(0, index, y),
    ] {
        let y = x.mul(1.0)?;
        let chosen = choose(&y, &index)?;
        y.exp_()?;
        let error = chosen.sum(())?.backward().expect_err("as in PyTorch, which saves it");
        assert!(error.to_string().contains("modified in place"), "{error}");
    }
    Ok(())
}

#[test]
fn products_are_no_views_and_can_be_written_though_they_were_not_recorded() -> Result<()> {
    let x = Tensor::ones([2, 1, 3], ())?.requires_grad_(true)?;
    let (matrix, vector) = (Tensor::ones([3, 2], ())?, Tensor::ones([3], ())?);
    let products = no_grad(|| {
        Ok::<_, Error>([x.matmul(&matrix)?, vector.matmul(&x.mt()?)?, x.matmul(&vector)?])
    })?;
    for product in products {
        assert!(!product.requires_grad());
        product.add_(&x.sum(())?)?;
        assert!(product.requires_grad());
    }
    Ok(())
}

#[test]
fn what_no_gradient_needs_may_be_modified() -> Result<()> {
    let (x, shift) = (leaf(&[2.0])?, tensor![3.0]?);
    let y = x.add(&shift)?.sum(())?;
    shift.fill_(100.0)?;
    y.backward()?;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [1.0]);
    Ok(())
}

#[test]
fn a_tensor_that_is_multiplied_by_itself_in_place_has_lost_what_its_gradient_needs() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    let products = [x.mul(2.0)?, x.mul(2.0)?.view([2, 1])?, x.mul(2.0)?.narrow(0, 0, 1)?];
    for y in products {
        y.mul_(&y)?;
        let error = y.sum(())?.backward().expect_err("the operand was overwritten");
        assert!(error.to_string().contains("mul_"), "{error}");
    }
    Ok(())
}

#[test]
fn the_history_of_a_view_has_the_write_that_read_it() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    let y = x.mul(3.0)?;
    let (first, second) = (y.narrow(0, 0, 1)?, y.narrow(0, 1, 1)?);
    first.mul_(&second)?;
    let error = second.backward().expect_err("the pass goes through the write to the whole");
    assert!(error.to_string().contains("mul_"), "{error}");
    Ok(())
}

#[test]
fn what_is_indexed_by_tensors_is_written_like_any_result() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![[1.0, 2.0], [3.0, 4.0]]?.to(device)?.requires_grad_(true)?;
        let rows = tensor![1_i64, 1]?.to(device)?;
        let y = x.i(&rows)?;
        y.mul_(5.0)?;
        y.sum(())?.backward()?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [0.0, 0.0, 10.0, 10.0]);
        let z = x.take(&rows)?;
        z.mul_(2.0)?;
        x.clear_grad();
        z.sum(())?.backward()?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [0.0, 4.0, 0.0, 0.0]);
        Ok(())
    })
}

#[test]
fn no_gradient_flows_to_a_view_that_was_made_without_recording() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    let y = x.mul(2.0)?;
    let views = no_grad(|| Ok::<_, Error>([x.view([2, 1])?, y.view([2, 1])?]))?;
    for view in views {
        let ones = Tensor::ones([2, 1], ())?;
        let pass = Backward::new().output_with(&view, &ones).run();
        let error = pass.expect_err("it has no history, and is no leaf");
        assert!(matches!(error, Error::Autograd(AutogradError::NothingRequiresGrad)), "{error:?}");
        assert!(grad(&[&y.sum(())?], &[&view]).is_err());
    }
    assert!(x.grad().is_none());
    Ok(())
}

#[test]
fn the_history_of_what_a_write_to_a_view_saves_is_that_of_the_view() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([0.5f32, -1.0], device)?.requires_grad_(true)?;
        let y = x.mul(1.0)?.view([2])?;
        y.tanh_()?;
        let ones = Tensor::ones([2], device)?;
        let pass = Backward::new().output_with(&y, &ones).create_graph();
        let first = pass.collect(&[&x])?.remove(0).expect("it depends on x"); // 1 - y^2
        let second = grad(&[&first.sum(())?], &[&y])?.remove(0).expect("so does that, by y");
        let expected = y.detach().mul(-2.0)?.to_vec::<f32>()?;
        assert_eq!(second.to_vec::<f32>()?, expected);
        Ok(())
    })
}

#[test]
fn the_gradient_of_a_view_that_was_made_a_leaf_ends_at_its_base_after_a_write() -> Result<()> {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]]?.view([4])?.requires_grad_(true)?;
    let y = x.view([2, 2])?;
    let gradients = || grad(&[&y.sum(())?], &[&x]);
    assert!(gradients()?.remove(0).is_some());
    no_grad(|| y.add_(1.0))?;
    assert!(gradients()?.remove(0).is_none(), "as in PyTorch");
    assert!(y.requires_grad());
    Ok(())
}
