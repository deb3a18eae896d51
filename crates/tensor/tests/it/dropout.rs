//! Dropout, whose gradient draws the mask again.

use tensor::{
    Backward, DType, Device, Result, Tensor, generator, grad, saved_bytes, with_manual_seed,
};

use crate::devices::for_each_device;

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
/// More than a few blocks of random words, and no whole number of them.
const COUNT: usize = 1003;

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.cpu()?.to(DType::F64)?.to_vec::<f64>()
}

fn from_one_seed<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    with_manual_seed(17, f)
}

#[test]
fn what_stays_is_what_bernoulli_would_choose_on_every_device() -> Result<()> {
    for dtype in FLOATS {
        let wanted = from_one_seed(|| {
            let mask = Tensor::empty([COUNT], dtype)?.bernoulli_(0.75)?;
            numbers(&mask.div(0.75)?)
        })?;
        for_each_device(|device| {
            let x = Tensor::ones([COUNT], (dtype, device))?;
            let y = from_one_seed(|| x.dropout(0.25, true))?;
            assert_eq!(numbers(&y)?, wanted, "{dtype} on {device}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn nothing_is_kept_for_the_gradient_which_drops_the_same_elements() -> Result<()> {
    for_each_device(|device| {
        for dtype in FLOATS {
            let x = Tensor::full([COUNT], 2.0, (dtype, device))?.requires_grad_(true)?;
            let y = x.dropout(0.5, true)?;
            assert_eq!(saved_bytes(&[&y], &[]), 0);
            // What else is drawn meanwhile does not matter.
            Tensor::rand([3], device)?;
            y.sum(())?.backward()?;
            let gradient = x.grad().expect("it was computed");
            let halved: Vec<f64> = numbers(&y)?.iter().map(|y| y / 2.0).collect();
            assert_eq!(numbers(&gradient)?, halved, "{dtype} on {device}");
        }
        Ok(())
    })
}

#[test]
fn the_gradient_has_a_gradient() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::arange(0..COUNT as i64, device)?.to(DType::F32)?.requires_grad_(true)?;
        let y = x.dropout(0.5, true)?;
        // d/dx of sum(y^2) is 2 m y, and the sum of that has the gradient 2 m m.
        let loss = y.square()?.sum(())?;
        let first = Backward::new().output(&loss).create_graph().collect(&[&x])?;
        let first = first[0].as_ref().expect("it was computed").sum(())?;
        let second = grad(&[&first], &[&x])?;
        let stays = numbers(&y)?;
        let second = numbers(second[0].as_ref().expect("it was computed"))?;
        for (at, second) in second.into_iter().enumerate().skip(1) {
            assert_eq!(second, if stays[at] == 0.0 { 0.0 } else { 8.0 }, "{at}");
        }
        Ok(())
    })
}

#[test]
fn in_place_it_writes_the_tensor_and_its_gradient_drops_the_same() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::ones([7, COUNT], device)?.requires_grad_(true)?;
        let wanted = from_one_seed(|| x.detach().dropout(0.3, true))?;
        let y = x.mul(1.0)?;
        from_one_seed(|| y.dropout_(0.3, true))?;
        assert_eq!(numbers(&y)?, numbers(&wanted)?);
        assert_eq!(saved_bytes(&[&y], &[]), 0);
        y.sum(())?.backward()?;
        assert_eq!(numbers(&x.grad().expect("it was computed"))?, numbers(&wanted)?);
        let column = Tensor::ones([COUNT, 2], device)?;
        column.narrow(1, 0, 1)?.dropout_(0.3, true)?;
        let ones = numbers(&column)?.iter().skip(1).step_by(2).all(|&x| x == 1.0);
        assert!(ones, "the other column is as it was");
        Ok(())
    })
}

#[test]
fn views_of_any_layout_are_dropped_in_their_own_order() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::ones([30, 40], device)?.requires_grad_(true)?;
        let y = from_one_seed(|| x.t()?.dropout(0.5, true))?;
        let dense = from_one_seed(|| Tensor::ones([40, 30], device)?.dropout(0.5, true))?;
        assert_eq!(numbers(&y)?, numbers(&dense)?);
        y.sum(())?.backward()?;
        let gradient = x.grad().expect("it was computed");
        assert_eq!(numbers(&gradient)?, numbers(&dense.t()?.contiguous()?)?);
        Ok(())
    })
}

#[test]
fn in_evaluation_it_is_the_tensor_itself_and_draws_nothing() -> Result<()> {
    let x = Tensor::ones([COUNT], ())?;
    let draws = || generator(Device::Cpu).map(|generator| generator.state().draws);
    with_manual_seed(1, || {
        for same in [x.dropout(0.5, false)?, x.dropout(0.0, true)?, x.dropout_(0.5, false)?] {
            assert!(same.shares_memory_with(&x));
        }
        let integers = Tensor::zeros([3], DType::I64)?;
        assert!(integers.dropout(0.5, false).is_ok() && integers.dropout(0.5, true).is_err());
        assert_eq!(numbers(&x.dropout(1.0, true)?)?, vec![0.0; COUNT]);
        assert_eq!(draws()?, 0);
        Ok::<_, tensor::Error>(())
    })?;
    for p in [-0.1, 1.1, f64::NAN] {
        assert!(x.dropout(p, true).is_err() && x.dropout_(p, false).is_err(), "{p}");
    }
    assert_eq!(numbers(&x)?, vec![1.0; COUNT]);
    Ok(())
}
