//! Functions with random numbers in them: slopes of `rrelu`, and samples of `gumbel_softmax`.

use tensor::{DType, Result, Tensor, tensor, with_manual_seed};

use crate::devices::for_each_device;

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
const COUNT: usize = 1003;

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.cpu()?.to(DType::F64)?.to_vec::<f64>()
}

fn from_one_seed<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    with_manual_seed(23, f)
}

#[test]
fn slopes_are_those_that_uniform_would_draw_on_every_device() -> Result<()> {
    for dtype in FLOATS {
        let wanted = from_one_seed(|| {
            let slopes = Tensor::empty([COUNT], dtype)?.uniform_(0.25, 0.75)?;
            numbers(&slopes.mul(-2.0)?)
        })?;
        for_each_device(|device| {
            let x = Tensor::full([COUNT], -2.0, (dtype, device))?.requires_grad_(true)?;
            let y = from_one_seed(|| x.rrelu(0.25, 0.75, true))?;
            assert_eq!(numbers(&y)?, wanted, "{dtype} on {device}");
            y.sum(())?.backward()?;
            let slopes: Vec<f64> = wanted.iter().map(|y| y / -2.0).collect();
            let gradient = x.grad().expect("it was computed");
            assert_eq!(numbers(&gradient)?, slopes, "{dtype} on {device}");
            let written = from_one_seed(|| x.detach().clone_data()?.rrelu_(0.25, 0.75, true))?;
            assert_eq!(numbers(&written)?, wanted, "{dtype} on {device}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn what_is_positive_has_no_slope_and_evaluation_has_the_mean() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![2.0, 0.0, f32::NAN, f32::INFINITY]?.to(device)?.requires_grad_(true)?;
        let y = x.rrelu(0.25, 0.75, true)?;
        let found = y.to_vec::<f32>()?;
        assert_eq!((found[0], found[1], found[3]), (2.0, 0.0, f32::INFINITY));
        assert!(found[2].is_nan());
        y.sum(())?.backward()?;
        let slopes = x.grad().expect("it was computed").to_vec::<f32>()?;
        assert_eq!((slopes[0], slopes[2]), (1.0, 1.0));
        assert!((0.25..0.75).contains(&slopes[1]), "{}", slopes[1]);
        let x = tensor![-8.0, 2.0]?.to(device)?;
        assert_eq!(x.rrelu(0.25, 0.75, false)?.to_vec::<f32>()?, [-4.0, 2.0]);
        assert_eq!(x.rrelu_(0.25, 0.75, false)?.to_vec::<f32>()?, [-4.0, 2.0]);
        Ok(())
    })
}

#[test]
fn a_soft_sample_is_the_softmax_of_disturbed_logits() -> Result<()> {
    for dtype in FLOATS {
        for_each_device(|device| {
            let logits = Tensor::randn([31, 5], (dtype, device))?;
            let soft = from_one_seed(|| logits.gumbel_softmax(0.5, false, -1))?;
            let wanted = from_one_seed(|| {
                let noise = Tensor::empty([31, 5], (dtype, device))?.exponential_(1.0)?;
                let noise = noise.to(DType::F64)?.log()?;
                logits.to(DType::F64)?.sub(&noise)?.mul(2.0)?.softmax(-1)
            })?;
            let tolerance = if dtype == DType::F64 { 1e-12 } else { 0.05 };
            assert!(soft.to(DType::F64)?.allclose(&wanted, tolerance, tolerance)?, "{dtype}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn a_hard_sample_is_one_hot_and_has_the_gradient_of_the_soft_one() -> Result<()> {
    for_each_device(|device| {
        for dim in [0, -1] {
            let logits = Tensor::randn([7, 9], device)?.requires_grad_(true)?;
            let weights = Tensor::randn([7, 9], device)?;
            let sample = |hard| from_one_seed(|| logits.gumbel_softmax(0.7, hard, dim));
            let gradient = |y: &Tensor| -> Result<Tensor> {
                logits.clear_grad();
                y.mul(&weights)?.sum(())?.backward()?;
                Ok(logits.grad().expect("it was computed"))
            };
            let (soft, hard) = (sample(false)?, sample(true)?);
            assert!(hard.amax(dim)?.equal(&hard.sum(dim)?)?);
            assert_eq!(hard.sum(())?.item::<f32>()?, if dim == 0 { 9.0 } else { 7.0 });
            assert!(hard.argmax(dim)?.equal(&soft.argmax(dim)?)?);
            assert!(gradient(&hard)?.equal(&gradient(&soft)?)?, "along {dim} on {device}");
        }
        Ok(())
    })
}

#[test]
fn samples_are_as_frequent_as_the_softmax_says() -> Result<()> {
    for_each_device(|device| {
        let logits = tensor![0.0, 1.0, 2.0]?.to(device)?;
        let many = logits.expand((20_000, 3))?;
        let shares = from_one_seed(|| many.gumbel_softmax(1.0, true, -1)?.mean(0))?;
        assert!(shares.allclose(&logits.softmax(-1)?, 0.0, 0.015)?, "{shares}");
        Ok(())
    })
}

#[test]
fn arguments_of_random_functions_that_make_no_sense_are_errors() -> Result<()> {
    let (x, integers) = (Tensor::ones([2, 3], ())?, Tensor::ones([2, 3], DType::I64)?);
    for training in [true, false] {
        assert!(x.rrelu(0.5, 0.25, training).is_err());
        assert!(x.rrelu_(0.5, f64::INFINITY, training).is_err());
        assert!(integers.rrelu(0.25, 0.5, training).is_err());
    }
    for tau in [0.0, -1.0, f64::NAN] {
        assert!(x.gumbel_softmax(tau, false, -1).is_err());
    }
    assert!(x.gumbel_softmax(1.0, true, 2).is_err());
    assert!(integers.gumbel_softmax(1.0, true, -1).is_err());
    assert_eq!(Tensor::ones([0, 3], ())?.gumbel_softmax(1.0, true, -1)?.shape(), [0, 3]);
    assert_eq!(Tensor::ones((), ())?.gumbel_softmax(1.0, true, 0)?.item::<f32>()?, 1.0);
    assert_eq!(Tensor::ones([0], ())?.rrelu(0.25, 0.5, true)?.numel(), 0);
    Ok(())
}
