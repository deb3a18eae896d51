//! Sorting, selection and what is made of them: long rows, layouts, dtypes, memory and errors. Values
//! and gradients are among those that PyTorch gives (`tests/expected/sorting.py`, `gathered.py`).

use std::cell::RefCell;

use tensor::{
    DType, QuantileInterpolation, Result, ScatterReduction, Tensor, keepdim, manual_seed, tensor,
};

use crate::devices::{cuda_devices, for_each_kind};

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.to(DType::F64)?.to_vec()
}

/// Numbers of which many are equal.
fn rows(shape: [usize; 2], device: tensor::Device) -> Result<Tensor> {
    let numbers = (0..shape[0] * shape[1]).map(|at| (at * 7919 % 1009) as i64 - 500).collect();
    Tensor::from_vec(numbers, shape, device)
}

#[test]
fn rows_of_any_length_are_sorted_stably() -> Result<()> {
    for_each_kind(|device| {
        for size in [1, 2, 31, 1024, 2048, 2049, 6000] {
            let x = rows([2, size], device)?;
            for dtype in [DType::I64, DType::F32, DType::F64, DType::I16, DType::BF16] {
                let x = x.to(dtype)?;
                let elements = numbers(&x)?;
                for descending in [false, true] {
                    let places = x.argsort(1, descending)?.to_vec::<i64>()?;
                    for (row, places) in places.chunks(size).enumerate() {
                        let row = &elements[row * size..][..size];
                        let mut expected: Vec<usize> = (0..size).collect();
                        expected.sort_by(|&a, &b| match descending {
                            true => row[b].total_cmp(&row[a]),
                            false => row[a].total_cmp(&row[b]),
                        });
                        assert!(
                            places.iter().zip(&expected).all(|(&a, &b)| a == b as i64),
                            "{size} of {dtype} on {device}"
                        );
                    }
                }
            }
        }
        Ok(())
    })
}

/// On CUDA these are sorted digit by digit, and few of their elements are selected first: parts that end
/// within a tile, and one element more or less.
#[test]
fn long_rows_are_sorted_as_on_the_cpu() -> Result<()> {
    let device = cuda_devices()[0];
    let special = tensor![f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN]?;
    let cases = [([1, 131_073], DType::F32, false), ([17, 4097], DType::BF16, true)];
    for (shape, dtype, descending) in cases {
        let x = rows(shape, tensor::Device::Cpu)?.to(dtype)?;
        x.narrow(1, 2000, 6)?.copy_(&special.to(dtype)?)?;
        let there = x.to(device)?;
        let places = there.argsort(1, descending)?.to_vec::<i64>()?;
        assert!(places == x.argsort(1, descending)?.to_vec::<i64>()?, "{shape:?} of {dtype}");
        let (_, best) = x.topk(9, 1, descending)?;
        let (_, found) = there.topk(9, 1, descending)?;
        assert_eq!(found.to_vec::<i64>()?, best.to_vec::<i64>()?, "{shape:?} of {dtype}");
    }
    Ok(())
}

#[test]
fn a_selection_is_the_beginning_of_a_sort() -> Result<()> {
    for_each_kind(|device| {
        for size in [100, 5000] {
            let x = rows([3, size], device)?.to(DType::F32)?;
            let (values, places) = x.sort(1, true)?;
            for k in [0, 1, 7, size / 2, size] {
                let (best, at) = x.topk(k, 1, true)?;
                assert_eq!(numbers(&best)?, numbers(&values.narrow(1, 0, k)?)?, "{k} on {device}");
                assert_eq!(at.to_vec::<i64>()?, places.narrow(1, 0, k)?.to_vec::<i64>()?);
            }
            let (ascending, _) = x.sort(1, false)?;
            for k in [1, size / 2, size] {
                let (value, at) = x.kthvalue(k, keepdim(1))?;
                assert_eq!(numbers(&value)?, numbers(&ascending.narrow(1, k - 1, 1)?)?);
                assert_eq!(numbers(&x.gather(1, &at)?)?, numbers(&value)?);
            }
        }
        Ok(())
    })
}

#[test]
fn both_zeros_are_equal_and_every_nan_is_the_greatest() -> Result<()> {
    for_each_kind(|device| {
        let x = tensor![0.0, f32::NAN, -0.0, f32::INFINITY, -f32::NAN, 0.0]?.to(device)?;
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let x = x.to(dtype)?;
            assert_eq!(x.argsort(0, false)?.to_vec::<i64>()?, [0, 2, 5, 3, 1, 4], "{dtype}");
            assert_eq!(x.argsort(0, true)?.to_vec::<i64>()?, [1, 4, 3, 0, 2, 5], "{dtype}");
        }
        Ok(())
    })
}

#[test]
fn sorts_go_along_any_dimension_of_any_layout() -> Result<()> {
    for_each_kind(|device| {
        let x = rows([6, 8], device)?.reshape([2, 3, 8])?.transpose(0, 2)?;
        for dim in 0..3 {
            let (values, places) = x.sort(dim, false)?;
            assert!(places.is_contiguous());
            assert_eq!(numbers(&x.gather(dim, &places)?)?, numbers(&values)?);
            let size = x.size(dim)?;
            let [later, earlier] =
                [values.narrow(dim, 1, size - 1)?, values.narrow(dim, 0, size - 1)?];
            assert!(later.ge(&earlier)?.all(())?.item::<bool>()?, "{dim} on {device}");
        }
        assert_eq!(Tensor::full([], 3.0, device)?.sort(-1, true)?.1.item::<i64>()?, 0);
        Ok(())
    })
}

#[test]
fn medians_of_nothing_are_nan_or_an_error() -> Result<()> {
    for_each_kind(|device| {
        assert!(Tensor::zeros([0], device)?.median()?.item::<f32>()?.is_nan());
        assert!(Tensor::zeros([0], (DType::I64, device))?.median().is_err());
        assert!(Tensor::zeros([2, 0], device)?.median_dim(1).is_err());
        assert_eq!(Tensor::zeros([0, 2], device)?.median_dim(1)?.0.shape(), [0]);
        assert!(Tensor::zeros([2, 0], device)?.mode(1).is_err());
        Ok(())
    })
}

#[test]
fn equal_elements_share_the_gradient_of_the_median_of_all() -> Result<()> {
    for_each_kind(|device| {
        let x = tensor![2.0, 1.0, 2.0, 3.0]?.to(device)?.requires_grad_(true)?;
        x.median()?.backward()?;
        assert_eq!(numbers(&x.grad().expect("it has one"))?, [0.5, 0.0, 0.5, 0.0]);
        Ok(())
    })
}

#[test]
fn zeros_do_no_harm_to_the_gradients_of_products_at_indices() -> Result<()> {
    for_each_kind(|device| {
        let x = tensor![2.0, 3.0, 0.0]?.to(device)?.requires_grad_(true)?;
        let source = tensor![5.0, 0.0, 7.0, 0.0, 4.0]?.to(device)?.requires_grad_(true)?;
        let index = tensor![0, 0, 1, 1, 2]?.to(device)?;
        let products = x.scatter_reduce(0, &index, &source, ScatterReduction::Prod, true)?;
        products.sum(())?.backward()?;
        assert_eq!(numbers(&x.grad().expect("it has one"))?, [0.0, 0.0, 4.0]);
        assert_eq!(numbers(&source.grad().expect("it has one"))?, [0.0, 10.0, 0.0, 21.0, 0.0]);
        Ok(())
    })
}

#[test]
fn reductions_to_indices_are_right_in_every_dtype_and_in_place() -> Result<()> {
    for_each_kind(|device| {
        for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool) {
            let of = |list: Vec<i64>| Tensor::from_vec(list, [3], device)?.to(dtype);
            let (x, source) = (of(vec![1, 5, 9])?, of(vec![2, 7, 3])?);
            let index = tensor![0, 1, 1]?.to(device)?;
            for (reduction, with, without) in [
                (ScatterReduction::Sum, [3.0, 15.0, 9.0], [2.0, 10.0, 9.0]),
                (ScatterReduction::Prod, [2.0, 105.0, 9.0], [2.0, 21.0, 9.0]),
                (ScatterReduction::Amax, [2.0, 7.0, 9.0], [2.0, 7.0, 9.0]),
                (ScatterReduction::Amin, [1.0, 3.0, 9.0], [2.0, 3.0, 9.0]),
            ] {
                let what = format!("{reduction:?} of {dtype} on {device}");
                let reduced = x.scatter_reduce(0, &index, &source, reduction, true)?;
                assert_eq!(numbers(&reduced)?, with, "{what}");
                let y = x.clone_data()?;
                y.index_reduce_(0, &index, &source, reduction, false)?;
                assert_eq!(numbers(&y)?, without, "{what}");
            }
        }
        Ok(())
    })
}

#[test]
fn windows_share_memory_and_cannot_be_written_where_they_overlap() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::arange(6.0f32, device)?;
        let apart = x.unfold(0, 2, 2)?;
        apart.mul_(10.0)?;
        assert_eq!(numbers(&x)?, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        let windows = x.unfold(0, 3, 1)?;
        assert!(windows.shares_memory_with(&x) && windows.mul_(2.0).is_err());
        assert!(
            x.unfold(0, 7, 1).is_err() && x.unfold(0, 1, 0).is_err() && x.unfold(1, 1, 1).is_err()
        );
        assert_eq!(numbers(&windows.sum(1)?)?, [30.0, 60.0, 90.0, 120.0]);
        Ok(())
    })
}

#[test]
fn what_cannot_be_selected_is_an_error() -> Result<()> {
    for_each_kind(|device| {
        let x = rows([2, 3], device)?.to(DType::F32)?;
        assert!(x.sort(2, false).is_err() && x.topk(4, 1, true).is_err());
        assert!(
            x.kthvalue(0, 1).is_err() && x.kthvalue(4, 1).is_err() && x.kthvalue(1, ()).is_err()
        );
        assert!(x.gt(0)?.topk(1, 0, true).is_err() && x.gt(0)?.median().is_err());
        let linear = QuantileInterpolation::Linear;
        assert!(x.quantile(1.5, (), linear).is_err() && x.quantile(0.5, (0, 1), linear).is_err());
        assert!(x.to(DType::F16)?.quantile(0.5, (), linear).is_err());
        assert!(tensor![-1, 2]?.to(device)?.bincount(None, 0).is_err());
        assert!(
            x.bincount(None, 0).is_err() && x.histc(0, 0, 1).is_err() && x.histc(3, 2, 1).is_err()
        );
        let bounds = tensor![1.0, 2.0]?.to(device)?;
        assert!(bounds.searchsorted(&tensor![1, 2]?.to(device)?, false, None).is_err());
        assert!(x.searchsorted(&bounds, false, None).is_err() && x.bucketize(&x, false).is_err());
        assert!(tensor![1, 2]?.to(device)?.one_hot(Some(0)).is_err());
        assert!(x.repeat_interleave_by(&tensor![1, -1]?.to(device)?, Some(0)).is_err());
        assert!(x.cross(&x, 0).is_err() && x.matrix_power(2).is_err());
        assert!(Tensor::multi_dot([&x]).is_err() && Tensor::multi_dot([&x, &x]).is_err());
        assert!(x.select_scatter(&x, 0, 0).is_err() && x.unique(Some(2)).is_err());
        Ok(())
    })
}

#[test]
fn a_quantile_keeps_the_places_of_two_elements_of_a_row_and_not_its_order() -> Result<()> {
    for_each_kind(|device| {
        let x = tensor![[3.0, 1.0, 2.0, 5.0, 4.0], [5.0, 4.0, 3.0, 2.0, 1.0]]?.to(device)?;
        let x = x.requires_grad_(true)?;
        let y = x.quantile(0.375, 1, QuantileInterpolation::Linear)?;
        assert_eq!(numbers(&y)?, [2.5, 2.5]);
        let (places, weights) = (2 * 2 * size_of::<i64>(), 2 * size_of::<f32>());
        assert!(y.saved_bytes(&[&x]) <= places + weights);
        y.sum(())?.backward()?;
        let expected = [0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0];
        assert_eq!(numbers(&x.grad().expect("it has one"))?, expected);
        Ok(())
    })
}

#[test]
fn samples_are_the_same_on_every_device_and_follow_their_weights() -> Result<()> {
    let first = RefCell::new(None::<Vec<Vec<f64>>>);
    for_each_kind(|device| {
        manual_seed(11);
        let weights = tensor![[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]]?.to(device)?;
        let drawn = weights.multinomial(4000, true)?;
        let counts = drawn.select(0, 0)?.bincount(None, 3)?.to_vec::<i64>()?;
        assert!(counts[0] == 0 && (counts[1] - 1000).abs() < 150, "{counts:?}");
        let both = weights.multinomial(2, false)?.sort(1, false)?.0;
        assert_eq!(both.to_vec::<i64>()?, [1, 2, 0, 2]);
        assert!(
            weights.multinomial(4, false).is_err() && weights.neg()?.multinomial(1, true).is_err()
        );
        let waits = Tensor::empty([2000], device)?.exponential_(4.0)?;
        assert!((waits.mean(())?.item::<f32>()? - 0.25).abs() < 0.03);
        let coins = Tensor::full([2000], 0.25, device)?.bernoulli()?;
        assert!((coins.mean(())?.item::<f32>()? - 0.25).abs() < 0.05);
        let spread = Tensor::normal(&Tensor::full([2000], 5.0, device)?, 0.5)?;
        assert!((spread.std((), 1.0)?.item::<f32>()? - 0.5).abs() < 0.05);
        let all = [&drawn, &waits, &coins].map(numbers).into_iter().collect::<Result<Vec<_>>>()?;
        let mut first = first.borrow_mut();
        assert!(*first.get_or_insert_with(|| all.clone()) == all, "on {device}");
        Ok(())
    })
}
