//! Special functions, samples of functions and choices beyond PyTorch's numbers: shapes, dtypes, and
//! what they refuse. The numbers are those of `tests/expected/special.py`.

use tensor::{
    Backward, DType, Device, Error, GradientSpacing, Result, SignalWindow, Tensor, grad, tensor,
};

use crate::apply::apply;
use crate::devices::for_each_kind;
use crate::expected::{Case, assert_is, assert_near, cases};

/// Asserts that an operation gives what PyTorch does, and its gradients, and the gradients of these.
pub(crate) fn assert_both_orders(
    case: &Case,
    device: Device,
    apply: fn(&Case, &[Tensor]) -> Result<Tensor>,
) -> Result<()> {
    let what = format!("{} on {device}", case.describe());
    let inputs = case.inputs(device)?;
    for input in &inputs {
        input.requires_grad_(true)?;
    }
    let leaves: Vec<&Tensor> = inputs.iter().collect();
    let tolerance = if inputs[0].dtype() == DType::F32 { 1e-4 } else { 1e-9 };
    let output = apply(case, &inputs)?;
    assert_near(&output, case.raw("output"), tolerance, &what)?;
    let gradients = Backward::new()
        .output_with(&output, &case.tensor("gradient", device)?)
        .create_graph()
        .collect(&leaves)?;
    let weights = case.tensors("weights", device)?;
    let mut sum = Tensor::scalar(0.0, (DType::F64, device))?;
    let expected = case.raw("gradients").as_array().expect("a list");
    for ((gradient, expected), weight) in gradients.iter().zip(expected).zip(&weights) {
        let gradient = gradient.as_ref().expect("all inputs have gradients");
        assert_near(gradient, expected, tolerance, &format!("gradients of {what}"))?;
        sum = sum.add(&gradient.mul(weight)?.sum(())?)?;
    }
    if !sum.requires_grad() {
        return Ok(());
    }
    // Ours differentiate the approximation of a derivative, where PyTorch approximates the second one.
    let tolerance = if case.op().starts_with("bessel") { tolerance.max(1e-6) } else { tolerance };
    let expected = case.raw("seconds").as_array().expect("a list");
    for (second, expected) in grad(&[&sum], &leaves)?.iter().zip(expected) {
        if let Some(second) = second.as_ref().filter(|_| !expected.is_null()) {
            assert_near(second, expected, tolerance, &format!("second derivatives of {what}"))?;
        }
    }
    Ok(())
}

#[test]
fn operations_have_the_values_and_gradients_of_both_orders_that_pytorch_gives() -> Result<()> {
    for_each_kind(|device| {
        cases("special").iter().try_for_each(|case| assert_both_orders(case, device, apply))
    })
}

#[test]
fn special_functions_have_the_values_that_pytorch_gives_at_edges_and_of_every_dtype() -> Result<()>
{
    for_each_kind(|device| {
        for case in cases("special_values") {
            let what = format!("{} on {device}", case.describe());
            assert_is(&apply(&case, &case.inputs(device)?)?, case.raw("output"), &what)?;
        }
        Ok(())
    })
}

/// Abramowitz and Stegun, tables 9.1, 9.8 and 10.11. PyTorch's numbers are off by as much.
#[test]
fn bessel_and_airy_functions_have_nearly_the_values_of_tables() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([5.1, 6.0, 8.0], (DType::F64, device))?;
        let j0 = [-0.14433474706050063, 0.15064525725099693, 0.1716508071375539];
        let j1 = [-0.3370972020180385, -0.2766838581275656, 0.23463634685391463];
        let options = (DType::F64, device);
        assert!(x.bessel_j0()?.allclose(&Tensor::new(j0, options)?, 0.0, 5e-7)?);
        assert!(x.bessel_j1()?.allclose(&Tensor::new(j1, options)?, 0.0, 5e-7)?);
        let airy = Tensor::new([-2.1, -5.0], options)?.airy_ai()?;
        let expected = Tensor::new([0.16348451299929268, 0.3507610090241143], options)?;
        assert!(airy.allclose(&expected, 0.0, 4e-6)?, "{airy}");
        Ok(())
    })
}

#[test]
fn zeta_of_negative_numbers_follows_from_its_recurrence() -> Result<()> {
    for_each_kind(|device| {
        let q = Tensor::new([-1000.75, -20.5, -0.25], (DType::F64, device))?;
        for s in [2.0, 3.0, 7.0] {
            let s = Tensor::scalar(s, (DType::F64, device))?;
            let difference = s.zeta(&q)?.sub(&s.zeta(&q.add(1)?)?)?;
            assert!(difference.allclose(&q.pow(&s.neg()?)?, 1e-10, 1e-11)?, "{difference}");
        }
        Ok(())
    })
}

#[test]
fn zeta_has_no_gradient_of_its_exponent() -> Result<()> {
    let s = tensor![2.0]?.requires_grad_(true)?;
    assert!(matches!(s.zeta(1.0), Err(Error::InvalidArgument { argument: "self", .. })));
    assert!(s.detach().zeta(1.0).is_ok());
    Ok(())
}

#[test]
fn the_slope_of_the_incomplete_gamma_function_is_the_density() -> Result<()> {
    for_each_kind(|device| {
        // Of parameter 2 the density is x exp(-x).
        let a = Tensor::scalar(2.0, (DType::F64, device))?;
        let x = Tensor::new([0.25, 1.0, 7.0, 40.0], (DType::F64, device))?.requires_grad_(true)?;
        let density = x.detach().mul(&x.detach().neg()?.exp()?)?;
        let slope = &grad(&[&a.igamma(&x)?.sum(())?], &[&x])?[0];
        assert!(slope.as_ref().expect("x has one").allclose(&density, 1e-12, 0.0)?);
        let slope = &grad(&[&a.igammac(&x)?.sum(())?], &[&x])?[0];
        assert!(slope.as_ref().expect("x has one").allclose(&density.neg()?, 1e-12, 0.0)?);
        let error = a.requires_grad_(true)?.igamma(&x);
        assert!(matches!(error, Err(Error::InvalidArgument { argument: "self", .. })));
        Ok(())
    })
}

#[test]
fn windows_are_symmetric_or_periods() -> Result<()> {
    let windows = [
        SignalWindow::Bartlett,
        SignalWindow::Blackman,
        SignalWindow::Cosine,
        SignalWindow::Exponential { center: None, tau: 2.0 },
        SignalWindow::Gaussian { std: 1.5 },
        SignalWindow::GeneralCosine(&[0.5, 0.4, 0.1]),
        SignalWindow::GeneralHamming(0.6),
        SignalWindow::Hamming,
        SignalWindow::Hann,
        SignalWindow::Kaiser { beta: 60.0 },
        SignalWindow::Nuttall,
    ];
    for window in windows {
        let symmetric = Tensor::window(window, 7, true, DType::F64)?;
        assert!(symmetric.flip(0)?.allclose(&symmetric, 1e-12, 1e-12)?, "{window:?}");
        let period = Tensor::window(window, 6, false, DType::F64)?;
        assert!(period.allclose(&symmetric.narrow(0, 0, 6)?, 1e-12, 1e-12)?, "{window:?}");
        assert_eq!(Tensor::window(window, 1, true, ())?.item::<f32>()?, 1.0);
        assert_eq!(Tensor::window(window, 0, true, ())?.numel(), 0);
        assert!(Tensor::window(window, 3, true, DType::I64).is_err());
    }
    Ok(())
}

#[test]
fn histograms_count_what_lies_between_edges() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([0.0, 0.5, 1.0, 2.0, 3.0, f64::NAN], device)?;
        let edges = Tensor::new([0.5, 1.0, 2.0], device)?;
        let (counts, _) = x.histogram_with_edges(&edges, None, false)?;
        assert_eq!(counts.to_vec::<f32>()?, [1.0, 2.0]);
        let (density, edges) = x.histogram(2, Some((0.0, 4.0)), None, true)?;
        assert_eq!(density.to_vec::<f32>()?, [0.3, 0.2]);
        assert_eq!(edges.to_vec::<f32>()?, [0.0, 2.0, 4.0]);
        assert!(x.histogram(2, None, None, false).is_err(), "NaN has no range");
        Ok(())
    })
}

#[test]
fn samples_that_do_not_fit_are_refused() -> Result<()> {
    let x = Tensor::ones([3, 4], ())?;
    assert!(x.trapezoid(&tensor![1.0, 2.0]?, -1).is_err());
    assert!(x.cumulative_trapezoid(1.0, 2).is_err());
    assert!(x.gradient(GradientSpacing::Uniform(1.0), 0, 3).is_err());
    assert!(x.gradient(GradientSpacing::PerDim(&[1.0]), (), 1).is_err());
    assert!(x.cov(1, Some(&tensor![1, -1, 2, 3]?), None).is_err());
    assert!(x.corrcoef().is_ok() && Tensor::ones([2, 2, 2], ())?.corrcoef().is_err());
    assert!(x.combinations(2, false).is_err());
    assert!(x.renorm(0.0, 0, 1.0).is_err() && x.renorm(1.0, 2, 1.0).is_err());
    assert!(x.vander(Some(1)).is_err() && x.unravel_index([2]).is_err());
    assert!(x.fftshift(2).is_err() && x.matrix_exp().is_err());
    let many = Tensor::ones([64], ())?;
    assert!(matches!(many.combinations(32, true), Err(Error::HostOutOfMemory { .. })));
    Ok(())
}

#[test]
fn what_works_in_place_gives_what_the_others_do() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([[2.5, 3.5], [4.5, 6.0]], device)?;
        let in_place = |f: fn(&Tensor) -> Result<Tensor>| f(&x.clone_data()?);
        assert!(in_place(Tensor::i0_)?.equal(&x.i0()?)?);
        for n in 0..4 {
            assert!(x.clone_data()?.polygamma_(n)?.equal(&x.polygamma(n)?)?);
        }
        assert!(in_place(|x| x.mvlgamma_(2))?.equal(&x.mvlgamma(2)?)?);
        assert!(in_place(|x| x.renorm_(2.0, 0, 1.0))?.equal(&x.renorm(2.0, 0, 1.0)?)?);
        assert!(tensor![1, 2]?.mvlgamma_(1).is_err());
        Ok(())
    })
}
