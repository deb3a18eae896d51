//! Layer normalisation beyond PyTorch's numbers: what it keeps, layouts, dtypes and errors.

use tensor::{Backward, DType, Device, Error, Result, Tensor, keepdim, no_grad, saved_bytes};

use crate::devices::for_each_kind;

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.cpu()?.to(DType::F64)?.to_vec::<f64>()
}

#[track_caller]
fn assert_close(a: &Tensor, b: &Tensor, tolerance: f64) -> Result<()> {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    for (a, b) in numbers(a)?.into_iter().zip(numbers(b)?) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{a}, not {b}");
    }
    Ok(())
}

/// The gradients, all of which were computed.
fn there(gradients: Vec<Option<Tensor>>) -> Result<Vec<Tensor>> {
    Ok(gradients.into_iter().map(|gradient| gradient.expect("it was computed")).collect())
}

/// The same by operations one after the other.
fn composed(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let distance = x.sub(&x.mean(keepdim(-1))?)?;
    let deviation = distance.square()?.mean(keepdim(-1))?.add(1e-5)?.sqrt()?;
    distance.div(&deviation)?.mul(weight)?.add(bias)
}

#[test]
fn it_keeps_nothing_but_its_operands() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::randn([6, 50], device)?.requires_grad_(true)?;
        let weight = Tensor::randn([50], device)?.requires_grad_(true)?;
        let bias = Tensor::randn([50], device)?.requires_grad_(true)?;
        let hidden = x.mul(2.0)?;
        let y = hidden.layer_norm(&[50], Some(&weight), Some(&bias), 1e-5)?;
        assert_eq!(saved_bytes(&[&y], &[&x, &hidden, &weight]), 0);
        let frozen = x.detach().layer_norm(&[50], Some(&weight.detach()), Some(&bias), 1e-5)?;
        assert_eq!(saved_bytes(&[&frozen], &[]), 0, "the gradient of the bias needs nothing");
        Ok(())
    })
}

#[test]
fn gradients_of_every_size_are_those_of_the_operations_one_by_one() -> Result<()> {
    for_each_kind(|device| {
        let sizes: &[[usize; 2]] = match device {
            Device::Cpu => &[[1, 7], [3, 5000], [200, 64], [700, 33]],
            Device::Cuda(_) => &[[3, 300]],
        };
        for &[rows, cols] in sizes {
            let leaf =
                |shape: &[usize]| Tensor::randn(shape, (DType::F64, device))?.requires_grad_(true);
            let (x, weight, bias) = (leaf(&[rows, cols])?, leaf(&[cols])?, leaf(&[cols])?);
            let ours = x.layer_norm(&[cols], Some(&weight), Some(&bias), 1e-5)?;
            let theirs = composed(&x, &weight, &bias)?;
            assert_close(&ours, &theirs, 1e-10)?;
            let seed = Tensor::randn([rows, cols], (DType::F64, device))?;
            let gradients = |y: &Tensor| {
                let pass = Backward::new().output_with(y, &seed);
                there(pass.collect(&[&x, &weight, &bias])?)
            };
            for (ours, theirs) in gradients(&ours)?.iter().zip(gradients(&theirs)?) {
                assert_close(ours, &theirs, 1e-9)?;
            }
        }
        Ok(())
    })
}

#[test]
fn a_gradient_that_is_recorded_is_the_same_as_one_that_is_not() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::randn([5, 40], device)?.requires_grad_(true)?;
        let weight = Tensor::randn([40], device)?.requires_grad_(true)?;
        let y = x.layer_norm(&[40], Some(&weight), None, 1e-5)?.square()?.sum(())?;
        let pass = || Backward::new().output(&y);
        let recorded = there(pass().create_graph().collect(&[&x, &weight])?)?;
        assert!(recorded.iter().all(Tensor::requires_grad));
        let plain = there(pass().collect(&[&x, &weight])?)?;
        for (recorded, plain) in recorded.iter().zip(&plain) {
            assert_close(recorded, plain, 1e-4)?;
        }
        Ok(())
    })
}

#[test]
fn operands_of_any_layout_and_halves_with_wide_parameters_are_taken() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::randn([40, 6], device)?;
        let weight = Tensor::randn([40, 2], device)?.select(1, 1)?;
        let bias = Tensor::randn([1], device)?.expand([40])?;
        let dense = x.t()?.contiguous()?.layer_norm(
            &[40],
            Some(&weight.contiguous()?),
            Some(&bias.contiguous()?),
            1e-5,
        )?;
        assert_close(&x.t()?.layer_norm(&[40], Some(&weight), Some(&bias), 1e-5)?, &dense, 0.0)?;
        for dtype in [DType::F16, DType::BF16] {
            let half = x.t()?.to(dtype)?.requires_grad_(true)?;
            let weight = weight.detach().requires_grad_(true)?;
            let y = half.layer_norm(&[40], Some(&weight), Some(&bias), 1e-5)?;
            let wide = no_grad(|| {
                half.to(DType::F32)?.layer_norm(&[40], Some(&weight), Some(&bias), 1e-5)
            })?;
            assert_close(&y, &wide.to(dtype)?, 0.01)?;
            y.sum(())?.backward()?;
            assert_eq!(half.grad().expect("it was computed").dtype(), dtype);
            assert_eq!(weight.grad().expect("it was computed").dtype(), DType::F32);
        }
        Ok(())
    })
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let (x, weight) = (Tensor::ones([2, 3], ())?, Tensor::ones([3], ())?);
    let shapes: [&[usize]; 3] = [&[2], &[1, 2, 3], &[3, 2]];
    for shape in shapes {
        let error = x.layer_norm(shape, None, None, 1e-5).expect_err("another shape");
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
    }
    let error = x.layer_norm(&[], None, None, 1e-5).expect_err("nothing to normalise");
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    let error = x.layer_norm(&[2, 3], Some(&weight), None, 1e-5).expect_err("another shape");
    assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
    let wide = weight.to(DType::F64)?;
    let error = x.layer_norm(&[3], Some(&wide), None, 1e-5).expect_err("another dtype");
    assert!(matches!(error, Error::DTypeMismatch { .. }), "{error}");
    let error = x.layer_norm(&[3], Some(&weight), Some(&wide), 1e-5).expect_err("another dtype");
    assert!(matches!(error, Error::DTypeMismatch { .. }), "{error}");
    let integers = Tensor::ones([2, 3], DType::I64)?;
    let error = integers.layer_norm(&[3], None, None, 1e-5).expect_err("no floats");
    assert!(matches!(error, Error::UnsupportedDType { .. }), "{error}");
    Ok(())
}
