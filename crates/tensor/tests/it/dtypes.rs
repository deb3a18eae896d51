//! Reductions, products, indexing and random numbers in all dtypes, on every device, with PyTorch's
//! results.

use tensor::{DType, Device, Result, Tensor, keepdim, tensor, with_manual_seed};

use crate::devices::for_each_kind;

/// The elements as `f64`.
fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.to(Device::Cpu)?.to(DType::F64)?.to_vec::<f64>()
}

/// `[[1, 0, 3], [2, 5, 4]]`
fn matrix(dtype: DType, device: Device) -> Result<Tensor> {
    Tensor::from_vec(vec![1.0f32, 0.0, 3.0, 2.0, 5.0, 4.0], [2, 3], device)?.to(dtype)
}

#[test]
fn reductions_have_all_dtypes_and_give_pytorchs() -> Result<()> {
    for_each_kind(|device| {
        for dtype in DType::ALL {
            let x = matrix(dtype, device)?;
            let is_bool = dtype == DType::Bool;
            let sum_dtype = if dtype.is_float() { dtype } else { DType::I64 };
            let sums = x.sum(0)?;
            let wanted = if is_bool { [2.0, 1.0, 2.0] } else { [3.0, 5.0, 7.0] };
            assert_eq!((sums.dtype(), numbers(&sums)?), (sum_dtype, wanted.to_vec()), "{dtype}");
            let product = x.prod(())?;
            assert_eq!((product.dtype(), numbers(&product)?), (sum_dtype, vec![0.0]), "{dtype}");
            let largest = x.amax(1)?;
            let wanted = if is_bool { [1.0, 1.0] } else { [3.0, 5.0] };
            assert_eq!((largest.dtype(), numbers(&largest)?), (dtype, wanted.to_vec()), "{dtype}");
            let truth_dtype = if dtype == DType::U8 { dtype } else { DType::Bool };
            let [any, all] = [x.any(1)?, x.all(1)?];
            assert_eq!((any.dtype(), numbers(&any)?), (truth_dtype, vec![1.0, 1.0]), "{dtype}");
            assert_eq!((all.dtype(), numbers(&all)?), (truth_dtype, vec![0.0, 1.0]), "{dtype}");
            match is_bool {
                true => assert!(x.argmax(()).is_err(), "as in PyTorch"),
                false => {
                    assert_eq!(numbers(&x.argmax(1)?)?, [2.0, 1.0], "{dtype}");
                    assert_eq!(numbers(&x.argmin(())?)?, [1.0], "{dtype}");
                }
            }
            match dtype.is_float() {
                true => assert_eq!(numbers(&x.mean(())?)?, [2.5], "{dtype}"),
                false => assert!(x.mean(()).is_err(), "as in PyTorch"),
            }
        }
        Ok(())
    })
}

#[test]
fn extremes_along_a_dimension_come_with_their_indices() -> Result<()> {
    for_each_kind(|device| {
        for dtype in DType::ALL {
            let (values, indices) = matrix(dtype, device)?.max_dim(1)?;
            let wanted = if dtype == DType::Bool { [0.0, 0.0] } else { [2.0, 1.0] };
            assert_eq!((values.dtype(), numbers(&indices)?), (dtype, wanted.to_vec()));
            let (values, _) = matrix(dtype, device)?.min_dim(keepdim(-1))?;
            let wanted = if dtype == DType::Bool { [0.0, 1.0] } else { [0.0, 2.0] };
            assert_eq!((values.shape(), numbers(&values)?), (&[2, 1][..], wanted.to_vec()));
        }
        let x = matrix(DType::F32, device)?.requires_grad_(true)?;
        x.max_dim(1)?.0.sum(())?.backward()?;
        let grad = x.grad().expect("it was computed");
        assert_eq!(numbers(&grad)?, [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
        assert_eq!(numbers(&Tensor::scalar(3.0, device)?.max_dim(0)?.0)?, [3.0]);
        Ok(())
    })
}

#[test]
fn the_gradient_of_a_variance_is_that_of_its_definition() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::from_vec(vec![1.0f64, 2.0, 6.0], [3], device)?.requires_grad_(true)?;
        x.var(0, 1)?.backward()?;
        assert_eq!(numbers(&x.grad().expect("it was computed"))?, [-2.0, -1.0, 3.0]);
        // As in PyTorch, where no degree of freedom is left.
        let x = Tensor::from_vec(vec![1.0f64, 3.0], [2], device)?.requires_grad_(true)?;
        x.var(0, 2)?.backward()?;
        let infinite = [f64::NEG_INFINITY, f64::INFINITY];
        assert_eq!(numbers(&x.grad().expect("it was computed"))?, infinite);
        Ok(())
    })
}

#[test]
fn the_mean_of_integers_is_an_error_even_where_the_result_is_empty() -> Result<()> {
    for_each_kind(|device| {
        let empty = Tensor::zeros([0, 3], (DType::I64, device))?;
        assert!(empty.mean(1).is_err());
        Ok(())
    })
}

#[test]
fn variances_of_halves_are_rounded_once() -> Result<()> {
    for_each_kind(|device| {
        for dtype in [DType::F16, DType::BF16] {
            let x = Tensor::from_vec(vec![-200.0f32, 200.0], [2], device)?.to(dtype)?;
            let variance = x.var(0, 0)?;
            let rounded = Tensor::full([1], 40_000.0, (dtype, device))?;
            assert_eq!((variance.dtype(), numbers(&variance)?), (dtype, numbers(&rounded)?));
        }
        Ok(())
    })
}

#[test]
fn products_have_all_dtypes_of_numbers_and_halves_are_added_in_singles() -> Result<()> {
    for_each_kind(|device| {
        for dtype in DType::ALL {
            let x = matrix(dtype, device)?;
            let Ok(product) = x.matmul(&x.t()?) else {
                assert_eq!(dtype, DType::Bool, "as in PyTorch");
                continue;
            };
            assert_eq!(product.dtype(), dtype);
            assert_eq!(numbers(&product)?, [10.0, 14.0, 14.0, 45.0], "{dtype} on {device}");
        }
        let mut row = vec![1.0f32; 65];
        row[0] = 2048.0;
        let a = Tensor::from_vec(row, [1, 65], device)?.to(DType::F16)?;
        let b = Tensor::ones([65, 5], (DType::F16, device))?;
        assert_eq!(numbers(&a.matmul(&b)?)?, [2112.0; 5]);
        let bytes = Tensor::full([2, 2], 200, (DType::U8, device))?;
        // 2 * 200 * 200 modulo 256.
        assert_eq!(numbers(&bytes.matmul(&bytes)?)?, [128.0; 4]);
        Ok(())
    })
}

#[test]
fn indexed_operations_have_all_dtypes() -> Result<()> {
    for_each_kind(|device| {
        for dtype in DType::ALL {
            let x = matrix(dtype, device)?;
            let is_bool = dtype == DType::Bool;
            let index = Tensor::from_vec(vec![1i64, 1, 0], [3], device)?;
            let rows = x.index_select(0, &index)?;
            assert_eq!(rows.dtype(), dtype);
            let wanted = numbers(&x)?;
            assert_eq!(numbers(&rows)?[6..], wanted[..3], "{dtype} on {device}");
            let each = Tensor::from_vec(vec![2i64, 0], [2, 1], device)?;
            let gathered = numbers(&x.gather(1, &each)?)?;
            assert_eq!(gathered, if is_bool { [1.0, 1.0] } else { [3.0, 2.0] }, "{dtype}");
            let ones = Tensor::ones([2, 3], (dtype, device))?;
            let twice = Tensor::from_vec(vec![1i64, 1], [2], device)?;
            let sums = numbers(&x.index_add(0, &twice, &ones)?)?;
            let wanted = if is_bool { [1.0; 3] } else { [4.0, 7.0, 6.0] };
            assert_eq!(sums[3..], wanted, "{dtype} on {device}");
            let into = Tensor::from_vec(vec![1i64, 1, 1], [1, 3], device)?;
            let sums = numbers(&x.scatter_add(1, &into, &ones)?)?;
            assert_eq!(sums[1], if is_bool { 1.0 } else { 3.0 }, "{dtype} on {device}");
        }
        Ok(())
    })
}

#[test]
fn multiples_of_slices_are_added_where_alpha_is_of_the_tensors_kind() -> Result<()> {
    for_each_kind(|device| {
        let index = tensor![1i64, 1]?.to(device)?;
        for dtype in [DType::F32, DType::BF16, DType::I32, DType::U8] {
            let x = tensor![5i64, 6, 7]?.to(device)?.to(dtype)?;
            let source = tensor![1i64, 2]?.to(device)?.to(dtype)?;
            assert_eq!(numbers(&x.index_add_scaled(0, &index, &source, 2)?)?, [5.0, 12.0, 7.0]);
            let scaled = x.index_add_scaled_(0, &index, &source, 1.5);
            match dtype.is_float() {
                true => assert_eq!(numbers(&scaled?)?, [5.0, 10.5, 7.0], "{dtype} on {device}"),
                false => assert!(scaled.is_err(), "a float beside {dtype} on {device}"),
            }
            assert!(x.index_add_scaled(0, &index, &source, true).is_err(), "{dtype}");
        }
        let x = tensor![1.0, 2.0]?.to(device)?.requires_grad_(true)?;
        let y = Tensor::zeros([3], device)?.index_add_scaled(0, &index, &x, -3)?;
        assert_eq!(y.saved_bytes(&[&index]), 0);
        y.sum(())?.backward()?;
        assert_eq!(numbers(&x.grad().expect("it has one"))?, [-3.0, -3.0]);
        Ok(())
    })
}

#[test]
fn a_number_is_gathered_from_as_a_vector_of_one() -> Result<()> {
    for_each_kind(|device| {
        let (number, zero) =
            (Tensor::scalar(5.0, device)?, Tensor::zeros([1], (DType::I64, device))?);
        let gathered = number.gather(0, &zero)?;
        assert_eq!((gathered.shape(), numbers(&gathered)?), (&[1][..], vec![5.0]));
        let vector = Tensor::from_vec(vec![1.0f32, 2.0], [2], device)?;
        let one = vector.gather(0, &Tensor::scalar(1i64, device)?)?;
        assert_eq!((one.shape(), numbers(&one)?), (&[][..], vec![2.0]));
        Ok(())
    })
}

#[test]
fn indices_are_integers_of_four_or_eight_bytes_and_none_are_of_any_dtype() -> Result<()> {
    for_each_kind(|device| {
        let x = matrix(DType::F32, device)?;
        let index = Tensor::from_vec(vec![1i32, 0], [2], device)?;
        assert_eq!(numbers(&x.index_select(0, &index)?)?, [2.0, 5.0, 4.0, 1.0, 0.0, 3.0]);
        assert_eq!(numbers(&x.gather(1, &index.view([2, 1])?)?)?, [0.0, 2.0]);
        let bytes = Tensor::zeros([2, 1], (DType::U8, device))?;
        assert!(x.gather(1, &bytes).is_err());
        assert_eq!(x.gather(1, &bytes.narrow(1, 0, 0)?)?.shape(), [2, 0]);
        Ok(())
    })
}

#[test]
fn softmax_has_all_floats_and_rounds_them_once() -> Result<()> {
    for_each_kind(|device| {
        for dtype in DType::ALL {
            let x = matrix(dtype, device)?;
            let Ok(y) = x.softmax(1) else {
                assert!(!dtype.is_float());
                continue;
            };
            let exact = matrix(DType::F64, device)?.softmax(1)?.to(dtype)?;
            let tolerance = if dtype == DType::F64 { 1e-15 } else { 1e-7 };
            for (ours, exact) in numbers(&y)?.iter().zip(numbers(&exact)?) {
                assert!((ours - exact).abs() <= tolerance, "{ours}, not {exact}: {dtype}");
            }
            assert_eq!((y.dtype(), x.log_softmax(0)?.dtype()), (dtype, dtype));
        }
        Ok(())
    })
}

#[test]
fn integers_between_bounds_that_are_cut_first_are_pytorchs() -> Result<()> {
    for_each_kind(|device| {
        for dtype in [DType::I64, DType::I32, DType::I16, DType::I8, DType::U8] {
            let x = Tensor::linspace(0.9, 9.7, 5, (dtype, device))?;
            assert_eq!(numbers(&x)?, [0.0, 2.0, 4.0, 6.0, 9.0], "{dtype}");
            let x = Tensor::arange((1, 8, 3), (dtype, device))?;
            assert_eq!(numbers(&x)?, [1.0, 4.0, 7.0], "{dtype}");
        }
        Ok(())
    })
}

#[test]
fn rounded_uniform_numbers_stay_below_their_bound() -> Result<()> {
    for_each_kind(|device| {
        with_manual_seed(3, || {
            for dtype in [DType::F16, DType::BF16] {
                let x = Tensor::rand([20_000], (dtype, device))?;
                assert!(numbers(&x)?.iter().all(|&x| (0.0..1.0).contains(&x)), "{dtype}");
            }
            Ok(())
        })
    })
}
