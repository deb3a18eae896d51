//! What graphs keep for the backward pass, and checkpoints, which keep little.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tensor::{
    AutogradError, Backward, DType, Device, Error, Result, Tensor, checkpoint, grad, saved_bytes,
    tensor, with_manual_seed,
};

use crate::devices::for_each_device;

fn leaf(shape: [usize; 2]) -> Result<Tensor> {
    Tensor::rand(shape, ())?.requires_grad_(true)
}

#[test]
fn a_graph_keeps_each_storage_once_and_none_that_is_there_anyway() -> Result<()> {
    let x = leaf([4, 8])?;
    let y = x.exp()?;
    assert_eq!(y.saved_bytes(&[&x]), 128, "the result");
    let z = y.mul(&y)?.mul(&x)?;
    assert_eq!(z.saved_bytes(&[&x]), 256, "y, and y * y; not x");
    assert_eq!(z.saved_bytes(&[]), 384);
    assert_eq!(saved_bytes(&[&y, &z], &[&x]), 256);
    z.sum(())?.backward()?;
    assert_eq!(z.saved_bytes(&[]), 0, "the pass has freed it");
    Ok(())
}

#[test]
fn a_product_saves_an_operand_for_the_gradient_of_the_other_only() -> Result<()> {
    let (weight, input) = (leaf([8, 2])?, Tensor::rand([4, 8], ())?);
    let hidden = input.add(1.0)?;
    assert_eq!(hidden.matmul(&weight)?.saved_bytes(&[&weight]), 128, "the gradient of the weight");
    let frozen = weight.detach();
    let from_leaf = leaf([4, 8])?.add(1.0)?;
    assert_eq!(from_leaf.matmul(&frozen.add(1.0)?)?.saved_bytes(&[]), 64, "that of the input");
    Ok(())
}

#[test]
fn sums_and_views_keep_nothing() -> Result<()> {
    let x = leaf([4, 8])?;
    let y = x.add(1.0)?.t()?.reshape([32])?.narrow(0, 1, 9)?.sum(())?.neg()?;
    assert_eq!(y.saved_bytes(&[]), 0);
    let parts = x.chunk(2, 0)?;
    assert_eq!(Tensor::cat([&parts[1], &parts[0]], 1)?.saved_bytes(&[]), 0);
    Ok(())
}

#[test]
fn an_indexed_tensor_keeps_the_mask_and_not_its_positions() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::ones([3, 2], device)?.requires_grad_(true)?;
        let rows = tensor![true, false, true]?.to(device)?;
        let y = x.i(&rows)?;
        assert_eq!(y.saved_bytes(&[&x, &rows]), 0);
        let all = tensor![[true, false], [true, true], [false, false]]?.to(device)?;
        let z = x.i(&all)?;
        y.sum(())?.add(&z.sum(())?.mul(10.0)?)?.backward()?;
        let gradient = x.grad().expect("it has one").to_vec::<f32>()?;
        assert_eq!(gradient, [11.0, 1.0, 10.0, 10.0, 1.0, 1.0]);
        Ok(())
    })
}

#[test]
fn functions_of_a_leaf_keep_the_leaf_and_not_their_results() -> Result<()> {
    let x = leaf([4, 8])?;
    for exponent in [3.0, 0.5, -0.5, -1.0, -2.0, 1.7] {
        assert_eq!(x.pow(exponent)?.saved_bytes(&[&x]), 0, "{exponent}");
    }
    assert_eq!(x.erfinv()?.saved_bytes(&[&x]), 0);
    assert_eq!(x.var(1, 1)?.saved_bytes(&[&x]), 0);
    let target = tensor![0_i64, 7, -100, 3]?;
    assert_eq!(x.nll_loss(&target)?.saved_bytes(&[&x, &target]), 0);
    assert_eq!(x.cross_entropy(&target)?.saved_bytes(&[&x, &target]), 128, "the log-probabilities");
    Ok(())
}

/// A leaf of whole numbers, so that sums are exact.
fn whole(shape: &[usize], device: Device) -> Result<Tensor> {
    let numbers = (0..shape.iter().product()).map(|i: usize| (i * 7 % 11) as f64 - 5.0).collect();
    Tensor::from_vec::<f64>(numbers, shape, device)?.requires_grad_(true)
}

#[test]
fn sums_of_products_keep_their_operands_and_no_rearranged_copies() -> Result<()> {
    for_each_device(|device| {
        let (a, b) = (whole(&[2, 3, 4], device)?, whole(&[4, 5, 2], device)?);
        let wide = a.unsqueeze(3)?.mul(&b.permute((2, 0, 1))?.unsqueeze(1)?)?;
        let pair = [a.tensordot(&b, &[2, 0], &[0, 2])?, wide.sum((0, 2))?];
        assert_eq!(pair[0].saved_bytes(&[&a, &b]), 0);
        same_derivatives(&pair, &[&a, &b])?;

        let (base, a, b) =
            (whole(&[3, 1], device)?, whole(&[2, 3, 4], device)?, whole(&[2, 4, 5], device)?);
        let sum = a.bmm(&b)?.sum(0)?.mul(2)?.add(&base.mul(3)?)?;
        let pair = [base.addbmm(&a, &b, 3, 2)?, sum];
        assert_eq!(pair[0].saved_bytes(&[&base, &a, &b]), 0);
        same_derivatives(&pair, &[&base, &a, &b])
    })
}

/// Checks two values that ought to be the same: they, their gradients and the second derivatives.
fn same_derivatives(pair: &[Tensor; 2], leaves: &[&Tensor]) -> Result<()> {
    let mut seen = Vec::new();
    for value in pair {
        let mut numbers = vec![value.detach().to_vec::<f64>()?];
        let squares = value.square()?.sum(())?;
        let first = Backward::new().output(&squares).create_graph().collect(leaves)?;
        let mut total = Tensor::zeros((), (DType::F64, value.device()))?;
        for gradient in first.iter().flatten() {
            numbers.push(gradient.detach().contiguous()?.to_vec()?);
            total = total.add(&gradient.square()?.sum(())?)?;
        }
        for second in grad(&[&total], leaves)?.iter().flatten() {
            numbers.push(second.contiguous()?.to_vec()?);
        }
        seen.push(numbers);
    }
    assert_eq!(seen[0].len(), 1 + 2 * leaves.len());
    assert_eq!(seen[0], seen[1]);
    Ok(())
}

#[test]
fn a_target_that_is_ignored_gets_no_gradient() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::zeros([3, 2], device)?.requires_grad_(true)?;
        let target = tensor![1_i64, -100, 0]?.to(device)?;
        x.nll_loss(&target)?.backward()?;
        let gradient = x.grad().expect("it has one").to_vec::<f32>()?;
        assert_eq!(gradient, [0.0, -0.5, 0.0, 0.0, -0.5, 0.0]);
        Ok(())
    })
}

/// Two layers, of which a checkpoint keeps nothing.
fn layers(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.matmul(weight)?.tanh()?.matmul(weight)?.exp()
}

#[test]
fn a_checkpoint_keeps_its_inputs_and_gives_the_same_gradients() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::rand([3, 3], device)?.requires_grad_(true)?;
        let weight = Tensor::rand([3, 3], device)?.requires_grad_(true)?;
        let outputs = |with_checkpoint: bool| -> Result<Tensor> {
            let input = x.mul(2.0)?;
            match with_checkpoint {
                false => layers(&input, &weight),
                true => {
                    let weight = weight.clone();
                    checkpoint(move |inputs| layers(&inputs[0], &weight), &[&input])
                }
            }
        };
        let mut seen = Vec::new();
        for with_checkpoint in [false, true] {
            let y = outputs(with_checkpoint)?;
            let kept = y.saved_bytes(&[&x, &weight]);
            assert_eq!(kept, if with_checkpoint { 36 } else { 36 * 3 }, "{with_checkpoint}");
            y.sum(())?.backward()?;
            for leaf in [&x, &weight] {
                seen.push(leaf.grad().expect("it takes part").to_vec::<f32>()?);
                leaf.clear_grad();
            }
        }
        assert_eq!((&seen[0], &seen[1]), (&seen[2], &seen[3]));
        Ok(())
    })
}

#[test]
fn a_checkpoint_draws_the_same_random_numbers_again() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::ones([64], device)?.requires_grad_(true)?;
        with_manual_seed(5, || {
            let y = checkpoint(
                |inputs| {
                    let mask = Tensor::empty_like(&inputs[0].detach())?.bernoulli_(0.5)?;
                    inputs[0].mul(&mask)
                },
                &[&x],
            )?;
            // What is drawn between the two calls changes nothing, and is not drawn again.
            let between = Tensor::rand([4], device)?.to_vec::<f32>()?;
            y.sum(())?.backward()?;
            assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, y.to_vec::<f32>()?);
            assert_ne!(Tensor::rand([4], device)?.to_vec::<f32>()?, between);
            Ok(())
        })
    })
}

#[test]
fn a_checkpoint_runs_its_function_once_more_and_only_where_it_is_needed() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let x = tensor![0.5]?.requires_grad_(true)?;
    let y = checkpoint(
        move |inputs| {
            counted.fetch_add(1, Ordering::Relaxed);
            inputs[0].sin()?.exp()
        },
        &[&x],
    )?;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    // Gradients of chosen inputs, and second derivatives, go through it too.
    let first = Backward::new().output(&y).create_graph().collect(&[&x])?.remove(0);
    let second = grad(&[&first.expect("it depends on x")], &[&x])?.remove(0).expect("so does it");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let (sin, cos) = 0.5f32.sin_cos();
    let expected = sin.exp() * (cos * cos - sin);
    assert!((second.item::<f32>()? - expected).abs() < 1e-6);
    Ok(())
}

#[test]
fn checkpoints_may_be_nested() -> Result<()> {
    let x = Tensor::rand([8], ())?.requires_grad_(true)?;
    let plain = x.exp()?.sin()?.exp()?.sin()?;
    let y = checkpoint(
        |inputs| {
            let middle = inputs[0].exp()?.sin()?;
            checkpoint(|inner| inner[0].exp()?.sin(), &[&middle])
        },
        &[&x],
    )?;
    assert_eq!(y.saved_bytes(&[&x]), 0);
    let of = |y: &Tensor| grad(&[&y.sum(())?], &[&x])?.remove(0).expect("there").to_vec::<f32>();
    assert_eq!(of(&y)?, of(&plain)?);
    Ok(())
}

#[test]
fn a_function_that_does_something_else_the_second_time_is_noticed() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let x = tensor![0.5]?.requires_grad_(true)?;
    let y = checkpoint(
        move |inputs| match calls.fetch_add(1, Ordering::Relaxed) {
            0 => inputs[0].exp()?.exp(),
            _ => inputs[0].exp(),
        },
        &[&x],
    )?;
    let error = y.backward().expect_err("one tensor is missing");
    let Error::Autograd(AutogradError::Backward { source, .. }) = &error else {
        panic!("{error:?}")
    };
    let named = matches!(
        **source,
        Error::Autograd(AutogradError::RecomputationDiffers { first: 2, again: 1 })
    );
    assert!(named, "{source:?}");
    Ok(())
}
