//! Scans of shapes for which CUDA's kernel goes different ways: they give what the CPU gives.

use tensor::{DType, Device, Result, Tensor};

use crate::devices::cuda_devices;

#[test]
fn sums_and_products_so_far_agree_along_rows_columns_and_parts_of_rows() -> Result<()> {
    // One row in two parts, with a rest; rows of less than a block's work and of more; columns.
    let shapes = [([1, 17_001], 1), ([3, 1000], 1), ([2, 2500], 1), ([300, 70], 0)];
    for dtype in [DType::F32, DType::F16, DType::F64, DType::I32, DType::Bool] {
        for (shape, dim) in shapes {
            let count = shape.iter().product::<usize>() as i64;
            let numbers = Tensor::arange(count, Device::Cpu)?.remainder(3)?.sub(1)?;
            let x = numbers.to(dtype)?.reshape(shape)?;
            let signs = x.ne(0)?.to(dtype)?.mul(2)?.sub(1)?.to(dtype)?;
            for device in cuda_devices() {
                let sums = x.to(device)?.cumsum(dim)?;
                let products = signs.to(device)?.cumprod(dim)?;
                for (got, wanted) in [(sums, x.cumsum(dim)?), (products, signs.cumprod(dim)?)] {
                    assert_eq!(got.dtype(), wanted.dtype());
                    let is_equal = got.cpu()?.eq(&wanted)?.all(())?.item::<bool>()?;
                    assert!(is_equal, "{shape:?} of {dtype} along {dim}");
                }
            }
        }
    }
    Ok(())
}
