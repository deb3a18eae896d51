//! The graph: shared parts, what it keeps and frees, its length, and what may not be asked of it.

use std::sync::{Arc, Mutex};

use tensor::{
    AutogradError, Backward, Error, Result, Tensor, enable_grad, grad, is_grad_enabled, keepdim,
    no_grad, tensor,
};

fn leaf(values: &[f32]) -> Result<Tensor> {
    Tensor::new(values, ())?.requires_grad_(true)
}

fn gradient(leaf: &Tensor) -> Result<Vec<f32>> {
    leaf.grad().expect("it has a gradient").to_vec()
}

#[test]
fn a_shared_part_gets_the_sum_of_the_gradients_of_its_uses() -> Result<()> {
    let x = leaf(&[3.0])?;
    let shared = x.square()?;
    let left = shared.mul(2.0)?;
    let right = shared.square()?.mul(&left)?;
    // 2 x^2 + 2 x^6
    left.add(&right)?.sum(())?.backward()?;
    assert_eq!(gradient(&x)?, [12.0 + 12.0 * 243.0]);
    Ok(())
}

#[test]
fn an_input_that_is_used_twice_by_one_operation_gets_both_gradients() -> Result<()> {
    let x = leaf(&[3.0, -1.0])?;
    x.mul(&x)?.sum(())?.backward()?;
    assert_eq!(gradient(&x)?, [6.0, -2.0]);
    Ok(())
}

#[test]
fn gradients_add_up_over_passes_until_they_are_cleared() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    x.square()?.sum(())?.backward()?;
    let seen = x.grad().expect("after the first pass");
    x.square()?.sum(())?.backward()?;
    assert_eq!(gradient(&x)?, [4.0, 8.0]);
    assert_eq!(seen.to_vec::<f32>()?, [4.0, 8.0], "the sum is formed in place");
    x.clear_grad();
    assert!(x.grad().is_none());
    x.sum(())?.backward()?;
    assert_eq!(gradient(&x)?, [1.0, 1.0]);
    Ok(())
}

#[test]
fn leaves_do_not_share_the_memory_of_one_gradient() -> Result<()> {
    let (a, b) = (leaf(&[1.0])?, leaf(&[2.0])?);
    // The gradient of a sum is the same for both sides.
    a.add(&b)?.backward()?;
    a.mul(5.0)?.backward()?;
    assert_eq!((gradient(&a)?, gradient(&b)?), (vec![6.0], vec![1.0]));
    let given = tensor![1.0]?;
    a.mul(1.0)?.backward_with(&given)?;
    assert_eq!(given.to_vec::<f32>()?, [1.0]);
    Ok(())
}

#[test]
fn sums_of_gradients_leave_those_alone_that_somebody_has() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    let passed_on = x.view([2])?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    passed_on.register_hook(move |grad| {
        kept.lock().expect("nobody panics").push(grad.clone());
        Ok(None)
    })?;
    let cotangent = tensor![10.0, 20.0]?;
    // x gets the kept gradient, which is the cotangent itself, and then others beside it.
    let y = passed_on.add(&x)?.add(&x.mul(3.0)?)?;
    let pass = Backward::new().output_with(&y, &cotangent).output_with(&passed_on, &cotangent);
    pass.clone().retain_graph().run()?;
    let first = x.grad().expect("it has one").clone_data()?;
    pass.run()?;
    assert_eq!(first.to_vec::<f32>()?, [60.0, 120.0]);
    assert_eq!(gradient(&x)?, [120.0, 240.0]);
    assert_eq!(cotangent.to_vec::<f32>()?, [10.0, 20.0]);
    for grad in seen.lock().expect("nobody panics").iter() {
        assert_eq!(grad.to_vec::<f32>()?, [20.0, 40.0]);
    }
    Ok(())
}

#[test]
fn a_second_pass_is_refused_and_names_the_operation() -> Result<()> {
    let x = leaf(&[2.0])?;
    let y = x.square()?.exp()?.sum(())?;
    y.backward()?;
    let error = y.backward().expect_err("the graph was freed");
    assert!(matches!(error, Error::Autograd(AutogradError::GraphFreed { op: "sum" })), "{error:?}");
    assert!(error.to_string().contains("retain_graph"), "{error}");
    Ok(())
}

#[test]
fn a_retained_graph_can_be_walked_again() -> Result<()> {
    let x = leaf(&[2.0])?;
    let y = x.square()?.sum(())?;
    Backward::new().output(&y).retain_graph().run()?;
    y.backward()?;
    assert_eq!(gradient(&x)?, [8.0]);
    assert!(y.backward().is_err(), "the second pass freed it");
    Ok(())
}

#[test]
fn several_outputs_are_walked_as_one() -> Result<()> {
    let x = leaf(&[2.0, 3.0])?;
    let shared = x.square()?;
    let (a, b) = (shared.sum(())?, shared.mul(10.0)?);
    Backward::new().output(&a).output_with(&b, &tensor![1.0, 0.5]?).run()?;
    assert_eq!(gradient(&x)?, [4.0 + 40.0, 6.0 + 30.0]);
    Ok(())
}

#[test]
fn what_has_no_obvious_gradient_must_be_given_one() -> Result<()> {
    let x = leaf(&[1.0, 2.0])?;
    let y = x.mul(3.0)?;
    let error = y.backward().expect_err("two numbers");
    assert!(matches!(error, Error::Autograd(AutogradError::NotScalar { .. })), "{error:?}");
    let error = y.backward_with(&tensor![1.0]?).expect_err("one number for two");
    assert!(matches!(error, Error::Autograd(AutogradError::GradientMismatch { .. })), "{error:?}");
    assert!(y.backward_with(&tensor![1, 2]?).is_err(), "integers for floats");
    y.backward_with(&tensor![1.0, 10.0]?)?;
    assert_eq!(gradient(&x)?, [3.0, 30.0]);
    Ok(())
}

#[test]
fn a_pass_from_what_requires_no_gradient_is_refused() -> Result<()> {
    let error = tensor![1.0]?.sum(())?.backward().expect_err("no leaf requires a gradient");
    let refused = matches!(error, Error::Autograd(AutogradError::NothingRequiresGrad));
    assert!(refused, "{error:?}");
    // Gradients have no graph of their own: a second derivative cannot be asked for.
    let x = leaf(&[3.0])?;
    let first = grad(&[&x.square()?.sum(())?], &[&x])?.remove(0).expect("x takes part");
    assert!(!first.requires_grad());
    assert!(first.backward().is_err());
    Ok(())
}

#[test]
fn nothing_is_recorded_under_no_grad() -> Result<()> {
    let x = leaf(&[1.0])?;
    let y = no_grad(|| {
        assert!(!is_grad_enabled());
        x.mul(2.0)
    })?;
    assert!(!y.requires_grad() && y.is_leaf());
    let z = no_grad(|| enable_grad(|| x.mul(2.0)))?;
    assert_eq!((z.requires_grad(), z.grad_fn()), (true, Some("mul")));
    Ok(())
}

#[test]
fn detach_shares_memory_and_stops_gradients() -> Result<()> {
    let x = leaf(&[2.0])?;
    let cut = x.square()?.detach();
    assert!(!cut.requires_grad() && cut.is_leaf());
    x.mul(&cut)?.sum(())?.backward()?;
    assert_eq!(gradient(&x)?, [4.0], "the factor counts as a constant");
    let alias = x.detach();
    alias.fill_(7.0)?;
    assert_eq!(x.detach().to_vec::<f32>()?, [7.0]);
    Ok(())
}

#[test]
fn comparisons_and_integers_are_not_part_of_the_graph() -> Result<()> {
    let x = leaf(&[1.0, 3.0])?;
    assert!(!x.gt(2.0)?.requires_grad());
    assert!(!x.to(tensor::DType::I64)?.requires_grad());
    assert!(!x.argmax(())?.requires_grad());
    Ok(())
}

#[test]
fn gradients_of_chosen_inputs_leave_all_others_alone() -> Result<()> {
    let (x, w, unused) = (leaf(&[2.0])?, leaf(&[5.0])?, leaf(&[1.0])?);
    let hidden = x.square()?;
    let y = hidden.mul(&w)?.sum(())?;
    let gradients = grad(&[&y], &[&hidden, &x, &unused, &x])?;
    let value = |index: usize| gradients[index].as_ref().map(Tensor::to_vec::<f32>).transpose();
    assert_eq!(value(0)?, Some(vec![5.0]), "of a tensor that is not a leaf");
    assert_eq!(value(1)?, Some(vec![20.0]));
    assert_eq!(value(2)?, None, "the output does not depend on it");
    assert_eq!(value(3)?, Some(vec![20.0]), "asked for twice");
    assert!(x.grad().is_none() && w.grad().is_none());
    let error = grad(&[&x.sum(())?], &[&tensor![1.0]?]).expect_err("it requires none");
    let refused = matches!(error, Error::Autograd(AutogradError::InputRequiresNoGrad { index: 0 }));
    assert!(refused, "{error:?}");
    Ok(())
}

#[test]
fn a_part_of_the_graph_that_leads_nowhere_is_not_walked() -> Result<()> {
    let (x, w) = (leaf(&[2.0])?, leaf(&[5.0])?);
    let side = w.square()?;
    let y = x.mul(&side)?.sum(())?;
    grad(&[&y], &[&x])?;
    // `square` was not on the way to x, so its part of the graph was not freed.
    side.backward()?;
    assert_eq!(gradient(&w)?, [10.0]);
    Ok(())
}

#[test]
fn long_chains_are_walked_and_dropped_without_recursion() -> Result<()> {
    on_a_small_stack(|| {
        const LENGTH: usize = 100_000;
        let x = leaf(&[1.0])?;
        let chain = |length: usize| (0..length).try_fold(x.clone(), |y, _| y.add(1.0));
        drop(chain(LENGTH)?);
        let y = chain(LENGTH)?;
        y.backward()?;
        assert_eq!(gradient(&x)?, [1.0]);
        Ok(())
    })
}

#[test]
fn chains_of_all_kinds_of_operations_are_dropped_without_recursion() -> Result<()> {
    on_a_small_stack(|| {
        let x = Tensor::ones([2, 2], ())?.requires_grad_(true)?;
        let mut y = x.clone();
        for _ in 0..1000 {
            let product = y.matmul(&x)?.softmax(1)?.mul(&y)?;
            let views = product.t()?.reshape([4])?.narrow(0, 0, 2)?.unsqueeze(0)?;
            let joined = Tensor::cat([&views, &views], 0)?.maximum(&x)?;
            y = joined.sum(keepdim(0))?.expand([2, 2])?.relu()?.div(4.0)?.tanh()?;
            y = Tensor::where_cond(&y.gt(0.5)?, &y, &y.exp()?)?;
        }
        assert!(!y.is_leaf());
        drop(y);
        Ok(())
    })
}

/// Runs the body where a recursion over thousands of nodes would overflow.
fn on_a_small_stack(body: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    let thread = std::thread::Builder::new().stack_size(128 * 1024).spawn(body);
    thread.expect("a thread").join().expect("no overflow")
}
