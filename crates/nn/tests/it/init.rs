//! Initial values: their bounds, their moments, and who is refused.

use nn::Result;
use nn::init::{self, FanMode, Nonlinearity};
use tensor::{DType, Device, Tensor};

use crate::devices;

/// Mean and deviation.
fn moments(tensor: &Tensor) -> Result<(f64, f64)> {
    let numbers = tensor.to((DType::F64, Device::Cpu))?.reshape([-1])?.to_vec::<f64>()?;
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let square = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    Ok((mean, (square / numbers.len() as f64).sqrt()))
}

#[test]
fn weights_have_the_deviation_of_their_fans_on_every_device() -> Result<()> {
    for device in devices::all() {
        // 200 * 9 inputs and 100 * 9 outputs of each number.
        let weight = Tensor::zeros([100, 200, 3, 3], device)?.requires_grad_(true)?;
        let (inputs, outputs) = (1800f64, 900f64);
        let relu = Nonlinearity::ReLU;
        let gain = Nonlinearity::LeakyReLU(0.5).gain();
        let fill: [(&dyn Fn() -> Result<Tensor>, f64); 6] = [
            (&|| init::xavier_uniform_(&weight, 2.0), 2.0 * (2.0 / (inputs + outputs)).sqrt()),
            (&|| init::xavier_normal_(&weight, 2.0), 2.0 * (2.0 / (inputs + outputs)).sqrt()),
            (&|| init::kaiming_uniform_(&weight, FanMode::FanIn, relu), (2.0 / inputs).sqrt()),
            (&|| init::kaiming_normal_(&weight, FanMode::FanOut, relu), (2.0 / outputs).sqrt()),
            (
                &|| init::kaiming_normal_(&weight, FanMode::FanIn, Nonlinearity::LeakyReLU(0.5)),
                gain / inputs.sqrt(),
            ),
            (&|| init::normal_(&weight, 0.0, 0.3), 0.3),
        ];
        for (number, (fill, expected)) in fill.into_iter().enumerate() {
            assert_eq!(fill()?.id(), weight.id(), "the same handle");
            let (mean, deviation) = moments(&weight)?;
            assert!(mean.abs() < 0.02 * expected, "{number}: {mean}");
            assert!((deviation / expected - 1.0).abs() < 0.02, "{number}: {deviation}");
        }
        assert!(weight.requires_grad() && weight.grad_fn().is_none(), "nothing is recorded");
    }
    Ok(())
}

#[test]
fn a_truncated_normal_distribution_has_its_moments_within_its_bounds() -> Result<()> {
    for device in devices::all() {
        let weight = Tensor::zeros([20_000], device)?;
        // Mean and deviation by their closed forms, with bounds of -1 and 2 deviations.
        init::trunc_normal_(&weight, 1.0, 0.5, 0.5, 2.0)?;
        let (mean, deviation) = moments(&weight)?;
        assert!((mean - 1.114_819).abs() < 0.02, "{mean}");
        assert!((deviation - 0.360_473).abs() < 0.02, "{deviation}");
        assert!(weight.min()?.item::<f32>()? >= 0.5 && weight.max()?.item::<f32>()? <= 2.0);
    }
    Ok(())
}

#[test]
fn orthogonal_weights_have_orthonormal_rows_or_columns() -> Result<()> {
    for device in devices::all() {
        for shape in [&[5, 5][..], &[7, 3], &[3, 7], &[4, 2, 3], &[0, 3], &[1, 4]] {
            let weight = init::orthogonal_(&Tensor::zeros(shape, (DType::F64, device))?, 2.0)?;
            if weight.numel() == 0 {
                continue;
            }
            let matrix = weight.cpu()?.reshape([shape[0], weight.numel() / shape[0]])?;
            let is_wide = matrix.shape()[0] < matrix.shape()[1];
            let matrix = if is_wide { matrix.t()? } else { matrix };
            let product = matrix.t()?.matmul(&matrix)?;
            let expected = Tensor::eye(matrix.shape()[1], DType::F64)?.mul(4)?;
            assert!(product.allclose(&expected, 1e-12, 1e-12)?, "{shape:?}: {product}");
        }
    }
    Ok(())
}

#[test]
fn patterns_are_the_same_on_every_device() -> Result<()> {
    for device in devices::all() {
        let weight = Tensor::ones([4, 3, 3, 2], device)?;
        init::dirac_(&weight, 2)?;
        // Channels 0 and 1 of each group of two, in the middle of the kernel.
        let middle = weight.select(3, 1)?.select(2, 1)?.cpu()?;
        let expected = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert_eq!(middle.contiguous()?.to_vec::<f32>()?, expected);
        assert_eq!(weight.sum(())?.item::<f32>()?, 4.0);
        let eye = init::eye_(&Tensor::ones([3, 2], device)?)?;
        assert_eq!(eye.to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let ones = init::ones_(&Tensor::zeros([2], device)?.requires_grad_(true)?)?;
        assert_eq!(ones.to_vec::<f32>()?, [1.0, 1.0]);
        assert_eq!(init::zeros_(&ones)?.to_vec::<f32>()?, [0.0, 0.0]);
        let sparse = init::sparse_(&Tensor::ones([10, 4], device)?, 0.31, 1.0)?;
        assert_eq!(sparse.eq(0)?.sum(0)?.to_vec::<i64>()?, [4; 4]);
    }
    Ok(())
}

#[test]
fn tensors_that_are_no_weights_are_refused() -> Result<()> {
    let vector = Tensor::zeros([3], ())?;
    let matrix = Tensor::zeros([3, 3], ())?;
    let errors = [
        init::xavier_uniform_(&vector, 1.0),
        init::kaiming_normal_(&vector, FanMode::FanIn, Nonlinearity::Linear),
        init::eye_(&vector),
        init::orthogonal_(&vector, 1.0),
        init::sparse_(&vector, 0.5, 1.0),
        init::sparse_(&matrix, 1.5, 1.0),
        init::dirac_(&matrix, 1),
        init::dirac_(&Tensor::zeros([3, 3, 3], ())?, 2),
        init::trunc_normal_(&vector, 0.0, 0.0, -1.0, 1.0),
        init::trunc_normal_(&vector, 0.0, 1.0, 1.0, -1.0),
        init::uniform_(&vector, 1.0, 0.0),
        init::normal_(&vector, 0.0, -1.0),
    ];
    for (number, result) in errors.into_iter().enumerate() {
        assert!(result.is_err(), "{number}");
    }
    Ok(())
}
