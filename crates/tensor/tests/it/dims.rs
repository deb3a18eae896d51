//! Dimensions, sizes and lists of tensors in the forms in which programs have them.

use tensor::{Error, ReduceDims, Result, Tensor, keepdim, tensor};

use crate::devices::for_each_device;

#[test]
fn dimensions_are_integers_of_any_type_tuples_arrays_slices_and_vectors() -> Result<()> {
    let x = Tensor::ones([2, 3, 4], ())?;
    for folded in [
        x.sum((0, 2))?,
        x.sum((0usize, -1i64))?,
        x.sum([0, 2])?,
        x.sum(&[0, 2][..])?,
        x.sum(vec![0usize, 2])?,
        x.sum(&vec![-3isize, -1])?,
    ] {
        assert_eq!(folded.to_vec::<f32>()?, [8.0; 3]);
    }
    assert_eq!(x.sum(())?.item::<f32>()?, 24.0);
    assert_eq!(x.sum(Vec::<usize>::new())?.item::<f32>()?, 24.0);
    assert_eq!(x.permute((2, 0, 1))?.shape(), [4, 2, 3]);
    Ok(())
}

#[test]
fn reductions_keep_dimensions_on_request() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![[1.0, 2.0], [3.0, 6.0]]?.to(device)?;
        assert_eq!(x.mean(keepdim(()))?.shape(), [1, 1]);
        assert_eq!(x.argmax(keepdim(-1))?.shape(), [2, 1]);
        assert_eq!(x.prod(keepdim(0))?.to_vec::<f32>()?, [3.0, 12.0]);
        assert_eq!(x.max_dim(keepdim(1))?.0.shape(), [2, 1]);
        assert_eq!(x.var(keepdim(1), 0)?.to_vec::<f32>()?, [0.25, 2.25]);
        for keep in [false, true] {
            let sizes = if keep { &[1, 2][..] } else { &[2] };
            assert_eq!(x.amax(ReduceDims::from(0).keepdim(keep))?.shape(), sizes);
        }
        let shares = (&x / x.sum(keepdim(-1)))?;
        assert!(shares.sum(-1)?.allclose(&Tensor::ones([2], device)?, 1e-6, 0.0)?);
        Ok(())
    })
}

#[test]
fn the_product_of_all_elements_has_its_gradient_with_and_without_kept_dimensions() -> Result<()> {
    for dims in [ReduceDims::from(()), keepdim(())] {
        let x = tensor![[1.0, 2.0], [3.0, 0.0]]?.requires_grad_(true)?;
        x.prod(dims)?.sum(())?.backward()?;
        let gradient = x.grad().expect("it was computed");
        assert_eq!(gradient.to_vec::<f32>()?, [0.0, 0.0, 0.0, 6.0]);
    }
    Ok(())
}

#[test]
fn an_operation_along_one_dimension_refuses_several_and_none_where_it_needs_one() -> Result<()> {
    let x = Tensor::ones([2, 3], ())?;
    for refused in [x.argmax((0, 1)).err(), x.prod((0, 1)).err(), x.max_dim(()).err()] {
        let text = refused.expect("it is along one dimension").to_string();
        assert!(text.contains("it must be one dimension"), "{text}");
    }
    assert!(matches!(x.sum(2), Err(Error::DimOutOfRange { dim: 2, dims: 2, .. })));
    assert!(matches!(x.sum(usize::MAX), Err(Error::DimOutOfRange { .. })));
    Ok(())
}

#[test]
fn sizes_are_taken_apart_and_put_together_from_different_integers() -> Result<()> {
    let x = Tensor::zeros([2, 3, 4], ())?;
    let [batch, time, width] = x.sizes()?;
    assert_eq!(x.reshape((batch, -1))?.shape(), [2, 12]);
    assert_eq!(x.view((batch * time, width as i64))?.shape(), [6, 4]);
    assert_eq!(x.reshape((batch, time, 2, width / 2))?.shape(), [2, 3, 2, 2]);
    let error = x.sizes::<2>().expect_err("there are three").to_string();
    assert_eq!(error, "sizes: a tensor of shape [2, 3, 4] has 3 dimensions, not 2");
    assert!(x.reshape((batch, -2)).is_err());
    assert!(x.reshape((usize::MAX, 1)).is_err(), "an unsigned number is no open size");
    Ok(())
}

#[test]
fn tensors_are_joined_from_anything_that_borrows_them() -> Result<()> {
    let (a, b) = (tensor![1.0]?, tensor![2.0]?);
    let owned = vec![a.clone(), b.clone()];
    for joined in [
        Tensor::cat([&a, &b], 0)?,
        Tensor::cat(&[&a, &b], 0)?,
        Tensor::cat(&owned, 0)?,
        Tensor::cat(&owned[..], 0)?,
        Tensor::cat(owned.iter().collect::<Vec<_>>(), 0)?,
        Tensor::stack(owned, 0)?.flatten()?,
    ] {
        assert_eq!(joined.to_vec::<f32>()?, [1.0, 2.0]);
    }
    Ok(())
}
