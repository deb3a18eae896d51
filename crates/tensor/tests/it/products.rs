//! Matrix products of shapes for which CUDA has kernels of their own: they give what the CPU gives.

use tensor::{DType, Device, Result, Tensor};

use crate::devices::{cuda_devices, for_each_device};

/// Small whole numbers, of which products and their sums are exact in all dtypes here.
fn numbers(shape: &[usize], dtype: DType) -> Result<Tensor> {
    let count = shape.iter().product::<usize>() as i64;
    let numbers = Tensor::arange(count, Device::Cpu)?.remainder(5)?.sub(2)?;
    numbers.to(dtype)?.reshape(shape)
}

fn assert_agrees(a: &Tensor, b: &Tensor) -> Result<()> {
    let (wanted, device) = (a.matmul(b)?, cuda_devices()[0]);
    let product = a.to(device)?.matmul(&b.to(device)?)?;
    assert_eq!(product.shape(), wanted.shape());
    let is_equal = product.cpu()?.eq(&wanted)?.all(())?.item::<bool>()?;
    assert!(is_equal, "{:?} times {:?} of {}", a.shape(), b.shape(), a.dtype());
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
fn a_factor_has_one_gradient_from_a_batch_that_lies_across_memory() -> Result<()> {
    for_each_device(|device| {
        let x = numbers(&[4, 3, 5], DType::F32)?.to(device)?.transpose(0, 1)?;
        let weight = numbers(&[5, 6], DType::F32)?.to(device)?.requires_grad_(true)?;
        let product = x.matmul(&weight)?;
        assert!(product.is_contiguous());
        product.square()?.sum(())?.backward()?;
        let rows = x.reshape([12, 5])?;
        let wanted = rows.t()?.matmul(&(rows.matmul(&weight.detach())? * 2)?)?;
        let gradient = weight.grad().expect("it was computed");
        assert!(gradient.eq(&wanted)?.all(())?.item::<bool>()?, "{gradient} {wanted}");
        Ok(())
    })
}

#[test]
fn a_product_of_many_large_tiles_agrees() -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        let (a, b) = (numbers(&[16, 300, 7], dtype)?, numbers(&[7, 390], dtype)?);
        assert_agrees(&a, &b.unsqueeze(0)?)?;
    }
    Ok(())
}

/// A matrix, each time in another layout: in rows, in columns, both beside something else so that
/// nothing is aligned, and with gaps.
fn layouts([rows, cols]: [usize; 2], dtype: DType, device: Device) -> Result<[Tensor; 5]> {
    // Copies to another device would be dense.
    let numbers = |shape: &[usize]| numbers(shape, dtype)?.to(device);
    let padded = numbers(&[rows + 1, cols + 3])?;
    let turned = numbers(&[cols + 1, rows + 3])?;
    Ok([
        numbers(&[rows, cols])?,
        numbers(&[cols, rows])?.t()?,
        padded.narrow(0, 1, rows)?.narrow(1, 3, cols)?,
        turned.narrow(0, 1, cols)?.narrow(1, 3, rows)?.t()?,
        numbers(&[rows, 2 * cols])?.slice(1, 0, 2 * cols as isize, 2)?,
    ])
}

#[test]
fn products_of_halves_agree_in_every_layout() -> Result<()> {
    let sizes = [[16, 16, 16], [64, 96, 72], [70, 37, 129], [17, 520, 33]];
    for (dtype, sizes) in [(DType::F16, &sizes[..]), (DType::BF16, &sizes[..2])] {
        for (number, &[m, k, n]) in sizes.iter().enumerate() {
            let on = |device| -> Result<Operands> {
                Ok((layouts([m, k], dtype, device)?, layouts([k, n], dtype, device)?))
            };
            let (lefts, rights) = on(Device::Cpu)?;
            let (there, factors) = on(cuda_devices()[0])?;
            for (row, (left, a)) in lefts.iter().zip(&there).enumerate() {
                for (column, (right, b)) in rights.iter().zip(&factors).enumerate() {
                    // All pairs of layouts for the first sizes, and each fifth pair for larger ones.
                    if number > 0 && (row + column) % 5 != number {
                        continue;
                    }
                    let (product, wanted) = (a.matmul(b)?.cpu()?, left.matmul(right)?);
                    let is_equal = product.eq(&wanted)?.all(())?.item::<bool>()?;
                    assert!(is_equal, "{:?}, {:?}: {dtype}", a.strides(), b.strides());
                }
            }
        }
    }
    Ok(())
}

type Operands = ([Tensor; 5], [Tensor; 5]);

#[test]
fn products_of_halves_in_large_tiles_agree() -> Result<()> {
    for dtype in [DType::F16, DType::BF16] {
        let batch = numbers(&[32, 264, 40], dtype)?;
        for a in [batch.clone(), numbers(&[32, 40, 261], dtype)?.mt()?] {
            assert_agrees(&a, &numbers(&[40, 136], dtype)?)?;
            assert_agrees(&a, &numbers(&[135, 40], dtype)?.t()?)?;
        }
        // Nothing to add up, and nothing to compute.
        assert_agrees(&numbers(&[40, 0], dtype)?, &numbers(&[0, 50], dtype)?)?;
        assert_agrees(&numbers(&[0, 20], dtype)?, &numbers(&[20, 50], dtype)?)?;
    }
    Ok(())
}

#[test]
fn batches_of_halves_that_broadcast_agree() -> Result<()> {
    let a = numbers(&[3, 1, 40, 24], DType::F16)?;
    let b = numbers(&[2, 24, 20], DType::F16)?;
    assert_agrees(&a, &b)?;
    assert_agrees(&a, &b.narrow(0, 1, 1)?.expand([2, 24, 20])?)?;
    Ok(())
}

#[test]
fn sums_of_halves_are_rounded_once() -> Result<()> {
    // 1 and 2048 times 2^-12: in halves 1 would stay 1 after each of the sums.
    let mut row = vec![2.0_f32.powi(-12); 2049];
    row[0] = 1.0;
    let a = Tensor::from_vec(row, [1, 2049], Device::Cpu)?.expand([32, 2049])?.to(DType::F16)?;
    let b = Tensor::ones([2049, 32], DType::F16)?;
    for device in cuda_devices() {
        let product = a.to(device)?.matmul(&b.to(device)?)?;
        let is_exact = product.eq(1.5)?.all(())?.item::<bool>()?;
        assert!(is_exact, "{device}: {product}");
    }
    Ok(())
}
