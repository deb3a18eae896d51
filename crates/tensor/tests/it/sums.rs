//! Reductions and products of sizes where work is split, against plain loops.

use tensor::{DType, Result, Tensor, keepdim};

use crate::devices::for_each_kind;

/// Numbers that are exact in f32 and whose sums are too.
fn pattern(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 31 + 7) % 17) as f32 - 8.0).collect()
}

#[test]
fn large_sums_are_exact_where_the_numbers_allow() -> Result<()> {
    for_each_kind(|device| {
        for count in [1usize << 20, (1 << 20) + 3, 200_001] {
            let numbers = pattern(count);
            let expected: f64 = numbers.iter().map(|&n| f64::from(n)).sum();
            let x = Tensor::from_vec(numbers, [count], device)?;
            assert_eq!(f64::from(x.sum(())?.item::<f32>()?), expected, "{count} on {device}");
            assert_eq!(x.max()?.item::<f32>()?, 8.0);
            assert_eq!(x.argmax(())?.item::<i64>()?, 14);
        }
        Ok(())
    })
}

#[test]
fn large_sums_to_few_outputs_are_those_of_a_loop() -> Result<()> {
    let numbers = pattern(3 << 18);
    for_each_kind(|device| {
        let x = Tensor::from_vec(numbers.clone(), [3, 1 << 16, 4], device)?;
        let mut middle = vec![0.0f32; 12];
        for (at, number) in numbers.iter().enumerate() {
            middle[at >> 18 << 2 | at & 3] += number;
        }
        let sums = x.sum(keepdim(1))?;
        assert_eq!((sums.shape(), sums.to_vec::<f32>()?), (&[3, 1, 4][..], middle.clone()));
        let means: Vec<f32> = middle.iter().map(|sum| sum / 65536.0).collect();
        assert_eq!(x.mean(1)?.to_vec::<f32>()?, means);
        let rows: Vec<f32> = middle.chunks(4).map(|row| row.iter().sum()).collect();
        assert_eq!(x.sum((1, 2))?.to_vec::<f32>()?, rows);
        assert_eq!(x.amax((0, 1))?.to_vec::<f32>()?, [8.0; 4]);
        Ok(())
    })
}

#[test]
fn a_long_sum_of_small_parts_keeps_its_digits() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::full([1 << 20], 0.1, (DType::F32, device))?;
        let expected = f64::from(0.1f32) * f64::from(1 << 20);
        let sum = f64::from(x.sum(())?.item::<f32>()?);
        assert!((sum / expected - 1.0).abs() < 1e-6, "{sum}, not {expected}, on {device}");
        let half = Tensor::full([5000], 1.0, (DType::F16, device))?;
        assert_eq!(half.sum(())?.item::<f32>()?, 5000.0, "halves are added in f32");
        Ok(())
    })
}

#[test]
fn sums_over_each_choice_of_dimensions_agree_with_a_loop() -> Result<()> {
    let shape = [5usize, 70, 9];
    let numbers = pattern(5 * 70 * 9);
    for_each_kind(|device| {
        let x = Tensor::from_vec(numbers.clone(), shape, device)?;
        for chosen in 1u8..8 {
            let folded = |dim: usize| chosen >> dim & 1 == 1;
            let dims: Vec<isize> = (0..3).filter(|&d| folded(d)).map(|d| d as isize).collect();
            let kept: Vec<usize> = (0..3).map(|d| if folded(d) { 1 } else { shape[d] }).collect();
            let mut expected = vec![0.0f32; kept.iter().product()];
            for (linear, number) in numbers.iter().enumerate() {
                let index = [linear / 630, linear / 9 % 70, linear % 9];
                let at =
                    (0..3).fold(0, |at, d| at * kept[d] + if folded(d) { 0 } else { index[d] });
                expected[at] += number;
            }
            let sums = x.sum(keepdim(&dims))?;
            assert_eq!(sums.shape(), kept);
            assert_eq!(sums.to_vec::<f32>()?, expected, "{dims:?} on {device}");
            let transposed = x.transpose(0, 2)?;
            let mirrored: Vec<isize> = dims.iter().map(|d| 2 - d).collect();
            let again = transposed.sum(keepdim(&mirrored))?.transpose(0, 2)?;
            assert_eq!(again.to_vec::<f32>()?, expected, "{dims:?} transposed on {device}");
        }
        Ok(())
    })
}

/// `[m, k] x [k, n]` of small whole numbers, exact in every dtype that has products.
fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let element = |i: usize, j: usize| (0..k).map(|d| a[i * k + d] * b[d * n + j]).sum();
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

#[test]
fn products_of_all_sizes_and_layouts_agree_with_a_loop() -> Result<()> {
    for_each_kind(|device| {
        for [m, n, k] in [[1, 1, 1], [3, 5, 2], [17, 33, 65], [64, 64, 20], [130, 70, 40]] {
            let small =
                |count: usize| -> Vec<f32> { pattern(count).iter().map(|n| n % 3.0).collect() };
            let (a, b) = (small(m * k), small(k * n));
            let expected = product(&a, &b, [m, n, k]);
            for dtype in [DType::F32, DType::F64, DType::F16, DType::I64] {
                let a = Tensor::from_vec(a.clone(), [m, k], device)?.to(dtype)?;
                let b = Tensor::from_vec(b.clone(), [k, n], device)?.to(dtype)?;
                let (at, bt) = (a.t()?.contiguous()?.t()?, b.t()?.contiguous()?.t()?);
                for (a, b) in [(&a, &b), (&at, &b), (&a, &bt), (&at, &bt)] {
                    let c = a.matmul(b)?.to(DType::F32)?.to_vec::<f32>()?;
                    assert_eq!(c, expected, "{m} {n} {k} {dtype} on {device}");
                }
            }
        }
        Ok(())
    })
}

#[test]
fn batches_broadcast_and_a_product_over_nothing_is_zero() -> Result<()> {
    for_each_kind(|device| {
        let a = Tensor::arange(2 * 3 * 4, device)?.view([2, 1, 3, 4])?;
        let b = Tensor::arange(5 * 4 * 2, device)?.view([5, 4, 2])?;
        let c = a.matmul(&b)?;
        assert_eq!(c.shape(), [2, 5, 3, 2]);
        for i in 0..2 {
            for j in 0..5 {
                let one = a.select(0, i)?.select(0, 0)?.matmul(&b.select(0, j)?)?;
                let batch = c.select(0, i)?.select(0, j)?;
                assert_eq!(batch.to_vec::<i64>()?, one.to_vec::<i64>()?);
            }
        }
        let nothing = Tensor::zeros([3, 0], device)?.matmul(&Tensor::zeros([0, 2], device)?)?;
        assert_eq!(nothing.to_vec::<f32>()?, [0.0; 6]);
        Ok(())
    })
}

#[test]
fn sums_to_a_size_go_over_what_is_broadcast() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]], device)?;
        assert_eq!(x.sum_to_size([2])?.to_vec::<f32>()?, [4.0, 6.0]);
        assert_eq!(x.sum_to_size([2, 1])?.to_vec::<f32>()?, [3.0, 7.0]);
        assert!(x.sum_to_size([2, 2])?.shares_memory_with(&x));
        assert!(x.sum_to_size([3]).is_err() && x.sum_to_size([1, 2, 2]).is_err());
        let number = Tensor::full([], 3, (DType::I16, device))?;
        assert_eq!(number.sum_to_size([])?.dtype(), DType::I64, "as in PyTorch");
        Ok(())
    })
}

#[test]
fn tensors_are_equal_if_shapes_and_elements_are() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([1.0f32, f32::NAN], device)?;
        assert!(!x.equal(&x)?, "NaN is not equal to NaN");
        let y = x.narrow(0, 0, 1)?;
        assert!(y.equal(&Tensor::ones([1], device)?)? && !y.equal(&Tensor::ones([2], device)?)?);
        assert!(y.equal(&Tensor::ones([1], (DType::F64, device))?).is_err());
        Ok(())
    })
}

#[test]
fn products_are_added_in_place() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]], device)?.requires_grad_(true)?;
        let sums = Tensor::ones([2, 2], device)?;
        sums.addmm_(&x, &x, 2, 3)?;
        assert_eq!(sums.to_vec::<f32>()?, [23.0, 32.0, 47.0, 68.0]);
        sums.sum(())?.backward()?;
        // Each element's row sum of x, and its column's.
        let gradient = x.grad().expect("it has one").to_vec::<f32>()?;
        assert_eq!(gradient, [21.0, 33.0, 27.0, 39.0]);
        let row = Tensor::ones([2], device)?;
        assert_eq!(row.addmv_(&x, &row, 0, 1)?.to_vec::<f32>()?, [3.0, 7.0]);
        assert!(row.addmm_(&x, &x, 1, 1).is_err(), "the tensor cannot grow");
        Ok(())
    })
}

#[test]
fn linear_layers_of_halves_are_rounded_once() -> Result<()> {
    for_each_kind(|device| {
        let half = |numbers: &[f32], shape: &[usize]| -> Result<Tensor> {
            Tensor::from_vec(numbers.to_vec(), shape, device)?.to(DType::BF16)
        };
        // 256 + 1 has no bfloat16: rounded before the bias is added, it would be 256.
        let x = half(&[1.0, 256.0], &[1, 2])?.requires_grad_(true)?;
        let weight = half(&[1.0, 1.0], &[1, 2])?.requires_grad_(true)?;
        let bias = half(&[-256.0], &[1])?.requires_grad_(true)?;
        let y = x.linear(&weight, Some(&bias))?;
        assert_eq!(y.to(DType::F32)?.to_vec::<f32>()?, [1.0]);
        assert_eq!(y.saved_bytes(&[&x, &weight]), 0);
        y.mul(2.0)?.sum(())?.backward()?;
        let gradient = |x: &Tensor| x.grad().expect("it has one").to(DType::F32)?.to_vec::<f32>();
        assert_eq!(gradient(&x)?, [2.0, 2.0]);
        assert_eq!(gradient(&weight)?, [2.0, 512.0]);
        assert_eq!(gradient(&bias)?, [2.0]);
        Ok(())
    })
}
