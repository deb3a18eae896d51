//! Matrix products of shapes for which CUDA has kernels of their own: they give what the CPU gives.

use tensor::{DType, Device, Result, Tensor};

use crate::devices::cuda_devices;

/// Small whole numbers, of which products and their sums are exact in all dtypes here.
fn numbers(shape: &[usize], dtype: DType) -> Result<Tensor> {
    let count = shape.iter().product::<usize>() as i64;
    let numbers = Tensor::arange(count, Device::Cpu)?.remainder(5)?.sub(2)?;
    numbers.to(dtype)?.reshape(shape)
}

fn assert_agrees(a: &Tensor, b: &Tensor) -> Result<()> {
    let wanted = a.matmul(b)?;
    for device in cuda_devices() {
        let product = a.to(device)?.matmul(&b.to(device)?)?;
        assert_eq!(product.shape(), wanted.shape());
        let is_equal = product.cpu()?.eq(&wanted)?.all(())?.item::<bool>()?;
        assert!(is_equal, "{:?} times {:?} of {}", a.shape(), b.shape(), a.dtype());
    }
    Ok(())
}

#[test]
fn a_deep_product_of_few_elements_agrees() -> Result<()> {
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I64] {
        for [m, k, n] in [[3, 517, 5], [64, 1100, 70], [1, 1024, 2]] {
            let (a, b) = (numbers(&[2, m, k], dtype)?, numbers(&[1, k, n], dtype)?);
            assert_agrees(&a, &b)?;
            assert_agrees(&a, &numbers(&[n, k], dtype)?.t()?)?;
        }
    }
    Ok(())
}

#[test]
fn a_matrix_and_a_vector_agree() -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64, DType::I32] {
        let matrix = numbers(&[37, 150], dtype)?;
        let (right, left) = (numbers(&[150], dtype)?, numbers(&[37], dtype)?);
        assert_agrees(&matrix, &right)?;
        assert_agrees(&left, &matrix)?;
        // A row times a transposed weight, as in a linear layer of one sample.
        assert_agrees(&numbers(&[1, 150], dtype)?, &matrix.t()?)?;
        assert_agrees(&matrix.t()?, &left)?;
    }
    Ok(())
}

#[test]
fn a_product_of_many_large_tiles_agrees() -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        let (a, b) = (numbers(&[16, 300, 7], dtype)?, numbers(&[7, 390], dtype)?);
        assert_agrees(&a, &b.unsqueeze(0)?)?;
    }
    Ok(())
}
