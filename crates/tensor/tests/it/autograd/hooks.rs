//! Hooks on gradients, and gradients that are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tensor::{AutogradError, Error, Result, Tensor, grad, tensor};

use crate::devices::for_each_device;

fn gradient(x: &Tensor) -> Result<Vec<f32>> {
    x.grad().expect("it has one").to_vec()
}

#[test]
fn a_hook_sees_the_whole_gradient_once_and_may_replace_it() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 2.0]?.to(device)?.requires_grad_(true)?;
        let y = x.mul(3.0)?;
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        y.register_hook(move |grad| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert_eq!(grad.to_vec::<f32>()?, [7.0, 7.0]);
            grad.mul(10.0).map(Some)
        })?;
        // Two uses: 2 y + 5 y.
        y.mul(2.0)?.add(&y.mul(5.0)?)?.sum(())?.backward()?;
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(gradient(&x)?, [210.0, 210.0]);
        Ok(())
    })
}

#[test]
fn the_hook_of_a_leaf_runs_once_in_a_pass_before_the_gradient_is_added() -> Result<()> {
    let x = tensor![1.0]?.requires_grad_(true)?;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    x.register_hook(move |grad| {
        counted.fetch_add(1, Ordering::Relaxed);
        grad.neg().map(Some)
    })?;
    x.mul(2.0)?.add(&x.mul(3.0)?)?.backward()?;
    assert_eq!((gradient(&x)?, calls.load(Ordering::Relaxed)), (vec![-5.0], 1));
    x.mul(1.0)?.backward()?;
    assert_eq!(gradient(&x)?, [-6.0]);
    assert_eq!(grad(&[&x.mul(4.0)?], &[&x])?[0].as_ref().expect("there").to_vec::<f32>()?, [-4.0]);
    Ok(())
}

#[test]
fn hooks_run_in_order_until_they_are_removed() -> Result<()> {
    let x = tensor![1.0]?.requires_grad_(true)?;
    let add = x.register_hook(|grad| grad.add(1.0).map(Some))?;
    x.register_hook(|grad| grad.mul(10.0).map(Some))?;
    x.mul(1.0)?.backward()?;
    assert_eq!(gradient(&x)?, [20.0]);
    x.clear_grad();
    add.remove();
    add.remove();
    x.mul(1.0)?.backward()?;
    assert_eq!(gradient(&x)?, [10.0]);
    Ok(())
}

#[test]
fn a_hook_that_fails_ends_the_pass() -> Result<()> {
    let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    let y = x.mul(2.0)?;
    y.register_hook(|grad| grad.matmul(&tensor![1.0]?).map(Some))?;
    assert!(y.sum(())?.backward().is_err());
    assert!(x.grad().is_none());
    let other = tensor![1.0]?.register_hook(|_| Ok(None)).expect_err("it gets no gradient");
    let named = matches!(other, Error::Autograd(AutogradError::RequiresNoGrad { .. }));
    assert!(named, "{other:?}");
    Ok(())
}

#[test]
fn a_hook_after_the_accumulation_may_make_the_step() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![5.0]?.to(device)?.requires_grad_(true)?;
        x.register_post_accumulate_grad_hook(|x| {
            let grad = x.grad().expect("it was just added to");
            x.add_scaled_(&grad, -0.1)?;
            x.clear_grad();
            Ok(())
        })?;
        for _ in 0..2 {
            // The gradient of 2 x + 8 x arrives as a whole.
            x.mul(2.0)?.add(&x.mul(8.0)?)?.sum(())?.backward()?;
            assert!(x.grad().is_none());
        }
        assert_eq!(x.detach().to_vec::<f32>()?, [3.0]);
        assert!(x.mul(2.0)?.register_post_accumulate_grad_hook(|_| Ok(())).is_err());
        Ok(())
    })
}

#[test]
fn a_leaf_and_its_hooks_do_not_keep_each_other_alive() -> Result<()> {
    let lives = Arc::new(());
    let owned = Arc::clone(&lives);
    let x = tensor![5.0]?.requires_grad_(true)?;
    x.register_post_accumulate_grad_hook(move |_| {
        let _owned = &owned;
        Ok(())
    })?;
    drop(x);
    assert_eq!(Arc::strong_count(&lives), 1);
    Ok(())
}

#[test]
fn the_gradient_of_an_intermediate_is_kept_on_demand() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![2.0]?.to(device)?.requires_grad_(true)?;
        let y = x.square()?;
        assert!(!y.retains_grad());
        y.retain_grad()?;
        y.mul(5.0)?.sum(())?.backward()?;
        assert!(y.retains_grad() && !y.is_leaf());
        assert_eq!((gradient(&y)?, gradient(&x)?), (vec![5.0], vec![20.0]));
        x.retain_grad()?;
        assert!(!x.retains_grad(), "a leaf has its gradient anyway");
        Ok(())
    })
}

#[test]
fn a_kept_gradient_is_that_of_the_values_after_a_write() -> Result<()> {
    let x = tensor![2.0]?.requires_grad_(true)?;
    let y = x.mul(1.0)?;
    y.retain_grad()?;
    y.mul_(10.0)?;
    y.mul(3.0)?.backward()?;
    assert_eq!((gradient(&y)?, gradient(&x)?), (vec![3.0], vec![30.0]));
    Ok(())
}
