//! Scans, norms and counts: dtypes, special values, sizes and errors. Their gradients are among
//! those that PyTorch gives (`tests/expected/gathered.py`).

use tensor::{DType, Result, Tensor, keepdim, tensor};

use crate::devices::for_each_device;

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.to(DType::F64)?.to_vec()
}

#[test]
fn sums_of_halves_so_far_are_rounded_once() -> Result<()> {
    for_each_device(|device| {
        for dtype in [DType::F16, DType::BF16] {
            let ones = Tensor::ones([3000], (dtype, device))?;
            let last = numbers(&ones.cumsum(0)?)?[2999];
            let rounded = numbers(&Tensor::full([], 3000.0, (dtype, device))?)?[0];
            assert_eq!(last, rounded, "{dtype} on {device}");
        }
        Ok(())
    })
}

#[test]
fn scans_of_integers_are_int64_and_wrap_around_in_place() -> Result<()> {
    for_each_device(|device| {
        for dtype in [DType::I64, DType::I32, DType::I16, DType::I8, DType::U8] {
            let x = Tensor::from_vec(vec![100i64, 100, 100], [3], device)?.to(dtype)?;
            let sums = x.cumsum(0)?;
            assert_eq!(sums.dtype(), DType::I64);
            assert_eq!(sums.to_vec::<i64>()?, [100, 200, 300]);
            assert_eq!(x.cumprod(0)?.to_vec::<i64>()?, [100, 10_000, 1_000_000]);
        }
        let bytes = Tensor::from_vec(vec![100u8, 100, 100], [3], device)?;
        assert_eq!(bytes.cumsum_(0)?.to_vec::<u8>()?, [100, 200, 44]);
        assert_eq!(bytes.cumprod_(0)?.to_vec::<u8>()?, [100, 32, 128]);
        let truths = tensor![true, false, true]?.to(device)?;
        assert_eq!(truths.cumsum(0)?.to_vec::<i64>()?, [1, 1, 2]);
        Ok(())
    })
}

#[test]
fn scans_go_along_any_dimension_of_any_layout() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::arange(24, (DType::F32, device))?.reshape([2, 3, 4])?.transpose(0, 2)?;
        for dim in 0..3usize {
            let sums = x.cumsum(dim as isize)?;
            assert_eq!(sums.shape(), [4, 3, 2]);
            for at in 0..x.shape()[dim] {
                let expected = x.narrow(dim as isize, 0, at + 1)?.sum(dim as isize)?;
                let so_far = sums.select(dim as isize, at as isize)?;
                assert_eq!(numbers(&so_far)?, numbers(&expected)?, "{dim}, {at} on {device}");
            }
        }
        assert_eq!(Tensor::zeros([0, 3], device)?.cumsum(0)?.shape(), [0, 3]);
        assert_eq!(Tensor::zeros([3, 0], device)?.cummax(0)?.1.shape(), [3, 0]);
        assert_eq!(Tensor::full([], 3.0, device)?.cumsum(-1)?.item::<f32>()?, 3.0);
        assert!(x.cumsum(3).is_err() && x.cumprod_(-4).is_err() && x.logcumsumexp(3).is_err());
        Ok(())
    })
}

#[test]
fn the_last_of_equal_extremes_counts_and_nan_is_kept() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 3.0, 3.0, 2.0, f32::NAN, 5.0, f32::NAN]?.to(device)?;
        let (values, places) = x.cummax(0)?;
        assert_eq!(values.to_vec::<f32>()?[..4], [1.0, 3.0, 3.0, 3.0]);
        assert!(values.to_vec::<f32>()?[4..].iter().all(|value| value.is_nan()));
        assert_eq!(places.to_vec::<i64>()?, [0, 1, 2, 2, 4, 4, 6]);
        let (values, places) = tensor![3i64, 4, 3, 1]?.to(device)?.cummin(0)?;
        assert_eq!(values.to_vec::<i64>()?, [3, 3, 3, 1]);
        assert_eq!(places.to_vec::<i64>()?, [0, 0, 2, 3]);
        Ok(())
    })
}

#[test]
fn logarithms_of_sums_neither_overflow_nor_underflow() -> Result<()> {
    for_each_device(|device| {
        let infinite = [f32::INFINITY, f32::NEG_INFINITY];
        let x = tensor![[1000.0, 1000.0], [-1000.0, -1000.0], infinite]?.to(device)?;
        let log = 2f32.ln();
        let expected = [1000.0 + log, -1000.0 + log, f32::INFINITY];
        assert_eq!(x.logsumexp(1)?.to_vec::<f32>()?, expected);
        let last = x.logcumsumexp(1)?.select(1, 1)?;
        assert_eq!(last.to_vec::<f32>()?, expected);
        let nothing = Tensor::full([2], f64::NEG_INFINITY, device)?.requires_grad_(true)?;
        nothing.logsumexp(keepdim(()))?.sum(())?.backward()?;
        assert_eq!(numbers(&nothing.grad().expect("it was computed"))?, [0.0, 0.0]);
        let empty = Tensor::zeros([2, 0], device)?.logsumexp(1)?;
        assert_eq!(empty.to_vec::<f32>()?, [f32::NEG_INFINITY; 2]);
        assert_eq!(tensor![0i64, 0]?.to(device)?.logsumexp(0)?.item::<f32>()?, log);
        Ok(())
    })
}

#[test]
fn norms_of_halves_do_not_overflow_and_a_norm_of_zeros_has_no_gradient() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::full([4], 300.0, (DType::F16, device))?;
        assert_eq!(numbers(&x.norm(2, ())?)?, [600.0]);
        let zeros = Tensor::zeros([2, 2], device)?.requires_grad_(true)?;
        for p in [0.0, 0.5, 1.0, 2.0, 3.0] {
            let norm = zeros.norm(p, 1)?.sum(())?;
            let gradient = tensor::grad(&[&norm], &[&zeros])?.remove(0).expect("there is one");
            assert_eq!(numbers(&gradient)?, [0.0; 4], "{p} on {device}");
        }
        assert!(Tensor::zeros([0], device)?.norm(f64::INFINITY, 0).is_err());
        assert!(tensor![1i64]?.to(device)?.norm(2, ()).is_err());
        Ok(())
    })
}

#[test]
fn counts_and_sums_leave_out_what_they_say() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![[1.0, f32::NAN], [0.0, 3.0]]?.to(device)?.requires_grad_(true)?;
        assert_eq!(x.count_nonzero(())?.item::<i64>()?, 3);
        assert_eq!(x.nansum(0)?.to_vec::<f32>()?, [1.0, 3.0]);
        x.nanmean(0)?.sum(())?.backward()?;
        assert_eq!(numbers(&x.grad().expect("it was computed"))?, [0.5, 0.0, 0.5, 1.0]);
        let (least, greatest) = tensor![4i64, -2, 7]?.to(device)?.aminmax(keepdim(()))?;
        assert_eq!([least.to_vec::<i64>()?, greatest.to_vec()?], [[-2], [7]]);
        Ok(())
    })
}

#[test]
fn scans_in_place_are_recorded() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![2.0, 0.0, 3.0]?.to(device)?.requires_grad_(true)?;
        let y = x.mul(1)?.cumprod_(0)?.cumsum_(0)?;
        assert_eq!(y.to_vec::<f32>()?, [2.0, 2.0, 2.0]);
        y.sum(())?.backward()?;
        // 3 x + 2 x y + x y z
        assert_eq!(numbers(&x.grad().expect("it was computed"))?, [3.0, 10.0, 0.0]);
        assert!(x.cumsum_(0).is_err(), "a leaf");
        Ok(())
    })
}

#[test]
fn numbers_that_make_no_sense_are_refused() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![-1.0, 0.0, 1.0]?.to(device)?;
        assert!(x.softshrink(-0.1).is_err() && x.softshrink_(-1).is_err());
        assert!(x.hardtanh(1, -1).is_err() && x.hardtanh_(1, 0.5).is_err());
        assert!(x.heaviside(&x.to(DType::F64)?).is_err());
        assert_eq!(x.heaviside(0.5)?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
        Ok(())
    })
}

#[test]
fn the_results_of_composed_reductions_are_no_views_and_can_be_written_in_place() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]], device)?.requires_grad_(true)?;
        for result in [x.logsumexp(1)?, x.norm(2.0, 0)?] {
            assert!(result.mul_(2.0)?.requires_grad());
        }
        Ok(())
    })
}

#[test]
fn slices_are_filled_with_a_number_or_a_tensor_that_has_a_gradient() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]], device)?.requires_grad_(true)?;
        let value = Tensor::full([], 7.0, device)?.requires_grad_(true)?;
        let index = tensor![2i64, -3, 2]?.to(device)?;
        let y = x.index_fill(1, &index, &value)?;
        assert_eq!(numbers(&y)?, [7.0, 2.0, 7.0, 7.0, 5.0, 7.0]);
        assert_eq!(y.saved_bytes(&[&index]), 0);
        y.sum(())?.backward()?;
        assert_eq!(numbers(&x.grad().expect("it has one"))?, [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(numbers(&value.grad().expect("it has one"))?, [4.0]);
        let z = x.detach().index_fill_(0, &tensor![1i64]?.to(device)?, 0.5)?;
        assert_eq!(numbers(&z)?, [1.0, 2.0, 3.0, 0.5, 0.5, 0.5]);
        assert!(x.index_fill(0, &index.to(DType::I32)?, 0).is_err());
        assert!(x.index_fill(1, &index, &x).is_err() && x.index_fill(2, &index, 0).is_err());
        Ok(())
    })
}
