//! Brackets as they are written in Rust: every kind of index, views and copies, in place and on other
//! devices.

use tensor::{
    AutogradError, DType, Device, Ellipsis, Error, IndexRange, NewAxis, Result, Tensor,
    TensorIndex, TensorIndices, no_grad, tensor,
};

use crate::devices::{cuda_devices, for_each_device};

/// 0, 1, 2, .. in a shape.
fn counted<const N: usize>(shape: [usize; N], device: Device) -> Result<Tensor> {
    Tensor::arange(shape.iter().product::<usize>(), (DType::F32, device))?.reshape(shape)
}

fn numbers(x: &Tensor) -> Result<Vec<f32>> {
    x.to_vec()
}

#[test]
fn integers_of_any_type_are_indices() -> Result<()> {
    let x = tensor![10, 20, 30]?;
    let at = |indices: TensorIndices| x.i(indices)?.item::<i64>();
    for (index, expected) in [(0, 10), (-1, 30), (-3, 10)] {
        let all: [TensorIndices; 5] = [
            index.into(),
            (index as i8).into(),
            (index as i16).into(),
            i64::from(index).into(),
            (index as isize).into(),
        ];
        for index in all {
            assert_eq!(at(index)?, expected);
        }
    }
    let unsigned: [TensorIndices; 5] =
        [2u8.into(), 2u16.into(), 2u32.into(), 2u64.into(), 2usize.into()];
    for index in unsigned {
        assert_eq!(at(index)?, 30);
    }
    for index in [u64::MAX.into(), i64::MIN.into(), usize::MAX.into(), TensorIndex::from(3u8)] {
        assert!(matches!(x.i(index), Err(Error::IndexOutOfRange { size: 3, .. })));
    }
    Ok(())
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "a negative end counts from the end")]
fn ranges_of_every_kind_are_slices() -> Result<()> {
    let x = counted([6], Device::Cpu)?;
    let slice = |index: TensorIndex| numbers(&x.i(index)?);
    assert_eq!(slice((1..3).into())?, [1.0, 2.0]);
    assert_eq!(slice((1..-1).into())?, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(slice((-2..).into())?, [4.0, 5.0]);
    assert_eq!(slice((..-4).into())?, [0.0, 1.0]);
    assert_eq!(slice((1..=2).into())?, [1.0, 2.0]);
    assert_eq!(slice((3..=-1).into())?, [3.0, 4.0, 5.0]);
    assert_eq!(slice((..=-5).into())?, [0.0, 1.0]);
    assert_eq!(slice((..=usize::MAX).into())?.len(), 6);
    assert_eq!(slice((..).into())?.len(), 6);
    assert_eq!(slice((2..100u8).into())?, [2.0, 3.0, 4.0, 5.0]);
    assert!(slice((4..2).into())?.is_empty());
    assert_eq!(slice((..).step(4))?, [0.0, 4.0]);
    assert_eq!(slice((1..).step(2))?, [1.0, 3.0, 5.0]);
    assert_eq!(slice((1..=5).step(2))?, [1.0, 3.0, 5.0]);
    assert_eq!(slice((..-1).step(usize::MAX))?, [0.0]);
    assert!(x.i((..).step(0)).is_err());
    Ok(())
}

#[test]
fn a_tuple_has_an_index_for_each_dimension() -> Result<()> {
    let x = counted([2, 3, 4], Device::Cpu)?;
    assert_eq!(numbers(&x.i((1, 2, -1))?)?, [23.0]);
    assert_eq!(numbers(&x.i((.., 1..3, -1))?)?, [7.0, 11.0, 19.0, 23.0]);
    assert_eq!(x.i((NewAxis, .., NewAxis, Ellipsis, NewAxis))?.shape(), [1, 2, 1, 3, 4, 1]);
    assert_eq!(x.i((true, false))?.shape(), [0, 2, 3, 4]);
    assert_eq!(x.i(())?.shape(), [2, 3, 4]);
    assert_eq!(x.i((0,))?.shape(), [3, 4]);
    let wide = x.i((NewAxis, 0, NewAxis, .., NewAxis, 0, NewAxis, NewAxis))?;
    assert_eq!(wide.shape(), [1, 1, 3, 1, 1, 1]);
    let dims: Vec<TensorIndex> = x.shape().iter().map(|&size| (size - 1).into()).collect();
    assert_eq!(x.i(&dims)?.item::<f32>()?, 23.0);
    assert_eq!(x.i(dims.as_slice())?.item::<f32>()?, 23.0);
    Ok(())
}

#[test]
fn lists_of_integers_are_tensors_of_indices() -> Result<()> {
    for_each_device(|device| {
        let x = counted([3, 2], device)?;
        let expected = [4.0, 5.0, 0.0, 1.0];
        assert_eq!(numbers(&x.i([2, 0])?)?, expected);
        let (array, vector) = ([-1i64, -3], vec![2u8, 0]);
        assert_eq!(numbers(&x.i(&array)?)?, expected);
        assert_eq!(numbers(&x.i(&vector)?)?, expected);
        assert_eq!(numbers(&x.i(vector)?)?, expected);
        assert_eq!(numbers(&x.i([2, 0].as_slice())?)?, expected);
        assert_eq!(numbers(&x.i(([2, 0], [1, 0]))?)?, [5.0, 0.0]);
        assert_eq!(x.i([0i64; 0])?.shape(), [0, 2]);
        Ok(())
    })
}

#[test]
fn indices_may_lie_on_the_host_and_be_owned() -> Result<()> {
    for_each_device(|device| {
        let x = counted([3, 2], device)?;
        let rows = tensor![2, 0]?;
        assert_eq!(numbers(&x.i(&rows)?)?, [4.0, 5.0, 0.0, 1.0]);
        assert_eq!(numbers(&x.i(tensor![true, false, true]?)?)?, [0.0, 1.0, 4.0, 5.0]);
        x.set_i((&rows, 0), 9.0)?;
        x.set_i(tensor![false, true, false]?, -1.0)?;
        x.set_i((tensor![true, false, false]?, 1), &tensor![7.0]?.to(device)?)?;
        assert_eq!(numbers(&x)?, [9.0, 7.0, -1.0, -1.0, 9.0, 5.0]);
        Ok(())
    })
}

#[test]
fn a_view_is_written_through_and_a_copy_is_not() -> Result<()> {
    for_each_device(|device| {
        let x = counted([2, 3], device)?;
        x.i((.., 1))?.fill_(9.0)?;
        x.i((tensor![1]?.i(0)?, 0))?.fill_(8.0)?;
        x.i([0])?.fill_(7.0)?;
        assert_eq!(numbers(&x)?, [0.0, 9.0, 2.0, 8.0, 9.0, 5.0]);
        Ok(())
    })
}

#[test]
fn what_is_set_gives_the_same_handle_and_reaches_all_views() -> Result<()> {
    for_each_device(|device| {
        let x = counted([2, 3], device)?;
        let column = x.i((.., 0))?;
        let same = x.set_i((.., 0), &tensor![5.0, 6.0]?)?;
        assert!(same.shares_memory_with(&x));
        assert_eq!(numbers(&column)?, [5.0, 6.0]);
        // A view whose dimensions cannot be merged, and one that is written by its own elements.
        x.t()?.set_i(([2, 0], [1, 1]), &tensor![1.0, 2.0]?.to(device)?)?;
        assert_eq!(numbers(&x)?, [5.0, 1.0, 2.0, 2.0, 4.0, 1.0]);
        x.set_i((.., [0, 1]), &x.i((.., 1..))?)?;
        assert_eq!(numbers(&x)?, [1.0, 2.0, 2.0, 4.0, 1.0, 1.0]);
        x.set_i((1.., [2, 0]), &x.i((..1, ..2))?)?;
        assert_eq!(numbers(&x)?, [1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        Ok(())
    })
}

#[test]
fn a_number_of_another_device_is_a_value() -> Result<()> {
    for_each_device(|device| {
        let x = counted([4], device)?;
        let number = tensor![5.0]?.i(0)?;
        x.set_i(0, &number)?;
        x.set_i([1], &number)?;
        x.set_i(&x.eq(2.0)?, &number)?;
        assert_eq!(numbers(&x)?, [5.0, 5.0, 5.0, 3.0]);
        let rows = tensor![6.0, 7.0]?;
        x.set_i(..2, &rows)?;
        assert_eq!(numbers(&x)?, [6.0, 7.0, 5.0, 3.0]);
        if device.is_cuda() {
            assert!(matches!(x.set_i([0, 1], &rows), Err(Error::DeviceMismatch { .. })));
        }
        Ok(())
    })
}

#[test]
fn every_dtype_is_read_and_set() -> Result<()> {
    for_each_device(|device| {
        for dtype in DType::ALL {
            let x = tensor![0, 1, 0, 1]?.to(device)?.to(dtype)?;
            let last = x.i([3, 2])?;
            assert_eq!(last.dtype(), dtype);
            assert_eq!(last.to(DType::I64)?.to_vec::<i64>()?, [1, 0]);
            x.set_i([0, 1], &last)?;
            x.scatter_(0, &tensor![3]?.to(device)?, 0)?;
            x.index_copy_(0, &tensor![2]?.to(device)?, &x.i(..1)?)?;
            x.masked_scatter_(&tensor![false, true, false, true]?.to(device)?, &last)?;
            assert_eq!(x.to(DType::I64)?.to_vec::<i64>()?, [1, 1, 1, 0], "{dtype} on {device}");
            x.set_i(&tensor![true, false, false, true]?, 1)?;
            x.index_put_([1], 1, true)?;
            let two = if dtype == DType::Bool { 1 } else { 2 };
            assert_eq!(x.to(DType::I64)?.to_vec::<i64>()?, [1, two, 1, 1], "{dtype} on {device}");
        }
        Ok(())
    })
}

#[test]
fn what_goes_to_one_place_is_added_up_if_it_accumulates() -> Result<()> {
    for_each_device(|device| {
        let x = counted([3, 2], device)?;
        let values = tensor![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]?.to(device)?;
        let sums = x.index_put([1, 1, 0], &values, true)?;
        assert_eq!(numbers(&sums)?, [5.0, 7.0, 6.0, 9.0, 4.0, 5.0]);
        assert_eq!(numbers(&x)?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        x.index_put_((.., [0, 0]), 1.0, true)?;
        assert_eq!(numbers(&x)?, [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]);
        x.index_put_((.., 1), &values.i((0, 0))?, true)?;
        assert_eq!(numbers(&x)?, [2.0, 2.0, 4.0, 4.0, 6.0, 6.0]);
        assert_eq!(numbers(&x.index_put(0, 0.0, false)?)?, [0.0, 0.0, 4.0, 4.0, 6.0, 6.0]);
        Ok(())
    })
}

#[test]
fn of_several_values_for_one_element_the_last_stays_on_the_cpu() -> Result<()> {
    let x = counted([3], Device::Cpu)?;
    x.set_i([1, 1, 1], &tensor![7.0, 8.0, 9.0]?)?;
    assert_eq!(numbers(&x)?, [0.0, 9.0, 2.0]);
    let rows = tensor![2, 2]?;
    assert_eq!(numbers(&x.scatter(0, &rows, &tensor![3.0, 4.0]?)?)?, [0.0, 9.0, 4.0]);
    assert_eq!(numbers(&x.index_copy(0, &rows, &tensor![5.0, 6.0]?)?)?, [0.0, 9.0, 6.0]);
    for device in cuda_devices() {
        let x = x.to(device)?;
        x.set_i([1, 1, 1], &tensor![6.0, 7.0, 8.0]?.to(device)?)?;
        assert!([6.0, 7.0, 8.0].contains(&numbers(&x)?[1]), "one of them");
    }
    Ok(())
}

#[test]
fn gradients_flow_through_what_is_set() -> Result<()> {
    for_each_device(|device| {
        let x = counted([2, 3], device)?.requires_grad_(true)?;
        let v = tensor![10.0, 20.0]?.to(device)?.requires_grad_(true)?;
        let y = x.mul(2.0)?;
        y.set_i((.., 0), &v)?;
        y.set_i((1, [1, 2]), &v)?;
        y.set_i(&y.gt(15.0)?, 0.0)?;
        assert_eq!(numbers(&y.detach())?, [10.0, 2.0, 4.0, 0.0, 10.0, 0.0]);
        y.square()?.sum(())?.backward()?;
        let gradient = |x: &Tensor| numbers(&x.grad().expect("it takes part"));
        assert_eq!(gradient(&x)?, [0.0, 8.0, 16.0, 0.0, 0.0, 0.0]);
        assert_eq!(gradient(&v)?, [40.0, 0.0]);
        Ok(())
    })
}

#[test]
fn a_leaf_that_requires_gradients_is_not_set() -> Result<()> {
    for_each_device(|device| {
        let x = counted([3], device)?.requires_grad_(true)?;
        for indices in [TensorIndices::from(0), [0].into(), tensor![true, false, true]?.into()] {
            let refused = x.set_i(indices.clone(), 1.0);
            assert!(
                matches!(refused, Err(Error::Autograd(AutogradError::InPlaceOnLeaf { .. }))),
                "{refused:?}"
            );
            no_grad(|| x.set_i(indices, 1.0))?;
        }
        assert_eq!(numbers(&x.detach())?, [1.0, 1.0, 1.0]);
        Ok(())
    })
}

#[test]
fn what_was_saved_and_then_set_is_noticed() -> Result<()> {
    for_each_device(|device| {
        let x = counted([3], device)?.requires_grad_(true)?;
        for indices in [TensorIndices::from(0), [0].into(), tensor![true, false, true]?.into()] {
            let y = x.mul(1.0)?;
            let squares = y.square()?;
            y.set_i(indices, 1.0)?;
            let error = squares.sum(())?.backward().expect_err("y is not what it was");
            assert!(error.to_string().contains("modified in place"), "{error}");
        }
        // Indices, too.
        let rows = tensor![0, 1]?.to(device)?;
        let y = x.i(&rows)?;
        rows.set_i(0, 2)?;
        assert!(y.sum(())?.backward().is_err());
        Ok(())
    })
}
