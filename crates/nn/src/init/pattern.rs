//! Initial values with a pattern.

use tensor::{DType, Error, Tensor, no_grad};

use super::wrong_dims;
use crate::Result;

/// Overwrites a matrix with ones on the diagonal and zeros elsewhere.
///
/// ```
/// use tensor::Tensor;
/// let weight = nn::init::eye_(&Tensor::zeros([2, 3], ())?)?;
/// assert_eq!(weight.to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The tensor is no matrix.
#[track_caller]
pub fn eye_(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dims() != 2 {
        return Err(wrong_dims("eye_", tensor, "it must be a matrix"));
    }
    no_grad(|| {
        tensor.fill_(0)?;
        tensor.diagonal(0, 0, 1)?.fill_(1)?;
        Ok(tensor.clone())
    })
}

/// Overwrites the weight of a convolution, `[out, in, ..]`, so that it gives its input: a one in the
/// middle of the kernel of each channel, within each of `groups`, and zeros elsewhere.
///
/// ```
/// use tensor::Tensor;
/// let weight = nn::init::dirac_(&Tensor::ones([4, 2, 3], ())?, 2)?;
/// assert_eq!(weight.select(2, 1)?.to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
/// assert_eq!(weight.sum(())?.item::<f32>()?, 4.0);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The tensor has not three to five dimensions, or its first size is no multiple of `groups`.
#[track_caller]
pub fn dirac_(tensor: &Tensor, groups: usize) -> Result<Tensor> {
    const OP: &str = "dirac_";
    if !(3..=5).contains(&tensor.dims()) {
        return Err(wrong_dims(OP, tensor, "it must have three to five dimensions, [out, in, ..]"));
    }
    let outputs = tensor.shape()[0];
    if groups == 0 || !outputs.is_multiple_of(groups) {
        let value = format!("{groups} for {outputs} channels");
        let why = "the number of output channels must be a multiple of it";
        return Err(Error::InvalidArgument { op: OP, argument: "groups", value, why });
    }
    no_grad(|| {
        tensor.fill_(0)?;
        if tensor.numel() == 0 {
            return Ok(tensor.clone());
        }
        let mut middle = tensor.clone();
        while middle.dims() > 2 {
            let size = middle.shape()[2];
            middle = middle.select(2, (size / 2) as isize)?;
        }
        let size = outputs / groups;
        for group in 0..groups {
            middle.narrow(0, group * size, size)?.diagonal(0, 0, 1)?.fill_(1)?;
        }
        Ok(tensor.clone())
    })
}

/// Overwrites a matrix with numbers of a normal distribution, of which in each column the share
/// `sparsity`, rounded up, is zero: Martens, "Deep learning via Hessian-free optimization" (2010).
/// PyTorch's default of the deviation is 0.01.
///
/// ```
/// use tensor::Tensor;
/// let weight = nn::init::sparse_(&Tensor::ones([10, 4], ())?, 0.25, 0.01)?;
/// let zeros = weight.eq(0)?.sum(0)?;
/// assert_eq!(zeros.to_vec::<i64>()?, [3, 3, 3, 3]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The tensor is no matrix of a floating dtype, the share is not between 0 and 1, or the deviation is
/// negative.
#[track_caller]
pub fn sparse_(tensor: &Tensor, sparsity: f64, deviation: f64) -> Result<Tensor> {
    const OP: &str = "sparse_";
    let &[rows, columns] = tensor.shape() else {
        return Err(wrong_dims(OP, tensor, "it must be a matrix"));
    };
    if !(0.0..=1.0).contains(&sparsity) {
        let (value, why) = (sparsity.to_string(), "it must be between 0 and 1");
        return Err(Error::InvalidArgument { op: OP, argument: "sparsity", value, why });
    }
    let zeros = (sparsity * rows as f64).ceil() as usize;
    no_grad(|| {
        tensor.normal_(0.0, deviation)?;
        for column in 0..columns {
            let order = Tensor::randperm(rows, (DType::I64, tensor.device()))?;
            let chosen = order.narrow(0, 0, zeros)?;
            tensor.select(1, column as isize)?.index_fill_(0, &chosen, 0)?;
        }
        Ok(tensor.clone())
    })
}
