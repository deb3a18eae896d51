//! The indices of triangles, and matrices with a given diagonal.

use tensor::{Device, Error, Result, Tensor, tensor};

use crate::devices::for_each_device;

#[test]
fn the_indices_of_triangles_are_those_of_the_elements_that_tril_and_triu_keep() -> Result<()> {
    for_each_device(|device| {
        for (rows, columns) in [(0, 3), (3, 0), (1, 1), (2, 5), (4, 4), (5, 2)] {
            let ones = Tensor::ones([rows, columns], device)?;
            for offset in [i64::MIN, -6, -3, -1, 0, 1, 2, 6, i64::MAX] {
                let lower = Tensor::tril_indices(rows, columns, offset, device)?;
                let upper = Tensor::triu_indices(rows, columns, offset, device)?;
                assert_eq!(elements(&ones.tril(offset)?)?, pairs(&lower)?);
                assert_eq!(elements(&ones.triu(offset)?)?, pairs(&upper)?);
            }
        }
        Ok(())
    })
}

/// The places of what is not zero in a matrix, in row-major order.
fn elements(matrix: &Tensor) -> Result<Vec<(i64, i64)>> {
    let columns = matrix.size(1)?;
    let values = matrix.to_vec::<f32>()?;
    let places = values.iter().enumerate().filter(|(_, value)| **value != 0.0);
    Ok(places.map(|(at, _)| ((at / columns) as i64, (at % columns) as i64)).collect())
}

/// The columns of a matrix of two rows.
fn pairs(indices: &Tensor) -> Result<Vec<(i64, i64)>> {
    let numbers = indices.to_vec::<i64>()?;
    let (rows, columns) = numbers.split_at(numbers.len() / 2);
    Ok(rows.iter().copied().zip(columns.iter().copied()).collect())
}

#[test]
fn a_triangle_that_fits_in_no_memory_is_an_error_and_an_empty_one_of_many_rows_is_empty()
-> Result<()> {
    let rows = 1 << 62;
    assert_eq!(Tensor::tril_indices(rows, 0, 0, Device::Cpu)?.shape(), [2, 0]);
    assert_eq!(Tensor::triu_indices(rows, 0, 0, Device::Cpu)?.shape(), [2, 0]);
    assert_eq!(Tensor::triu_indices(rows, 2, 1, Device::Cpu)?.to_vec::<i64>()?, [0, 1]);
    let large = Tensor::tril_indices(rows, 2, 0, Device::Cpu);
    assert!(matches!(large, Err(Error::HostOutOfMemory { .. })), "{large:?}");
    Ok(())
}

#[test]
fn a_diagonal_lies_in_two_different_dimensions() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 2.0]?.to(device)?;
        for dims in [(0, 0), (-1, 1), (0, -2)] {
            let error = x.diag_embed(0, dims.0, dims.1);
            assert!(matches!(error, Err(Error::InvalidArgument { .. })), "{error:?}");
        }
        assert_eq!(
            x.diag_embed(1, 1, 0)?.to_vec::<f32>()?,
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]
        );
        Ok(())
    })
}

#[test]
fn triangles_in_place_are_those_of_the_elements_before_and_are_recorded() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]], device)?.requires_grad_(true)?;
        let y = x.mul(1.0)?;
        y.triu_(0)?.tril_(0)?;
        assert_eq!(y.to_vec::<f32>()?, [1.0, 0.0, 0.0, 4.0]);
        y.sum(())?.backward()?;
        let gradient = x.grad().expect("it has one").to_vec::<f32>()?;
        assert_eq!(gradient, [1.0, 0.0, 0.0, 1.0]);
        assert!(x.tril_(0).is_err(), "a leaf");
        Ok(())
    })
}
