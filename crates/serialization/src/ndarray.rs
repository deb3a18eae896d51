//! Tensors to and from the arrays of the crate `ndarray`.
//!
//! ```
//! use ndarray::{Array2, array};
//! use serialization::ndarray::{from_ndarray, to_ndarray};
//!
//! let a: Array2<f32> = array![[1.0, 2.0], [3.0, 4.0]];
//! let x = from_ndarray(&a.t(), ())?;
//! assert_eq!(x.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
//! assert_eq!(to_ndarray::<f32>(&x)?, a.t().into_dyn());
//! # Ok::<(), tensor::Error>(())
//! ```

use ::ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};
use tensor::{Element, Error, Result, Tensor, TensorOptions};

/// A tensor of the elements of an array. If the options leave the dtype open it is that of the
/// elements.
///
/// # Errors
/// As [`Tensor::from_vec`].
pub fn from_ndarray<S: Data<Elem: Element>, D: Dimension>(
    array: &ArrayBase<S, D>,
    options: impl Into<TensorOptions>,
) -> Result<Tensor> {
    let elements = array.iter().copied().collect();
    Tensor::from_vec(elements, array.shape(), options)
}

/// An array of the elements of a tensor, which are copied. It blocks until they are there.
///
/// # Errors
/// As [`Tensor::to_vec`].
pub fn to_ndarray<T: Element>(tensor: &Tensor) -> Result<ArrayD<T>> {
    let elements = tensor.to_vec::<T>()?;
    ArrayD::from_shape_vec(IxDyn(tensor.shape()), elements).map_err(|_| Error::WrongNumel {
        op: "to_ndarray",
        numel: tensor.numel(),
        shape: tensor.shape().into(),
    })
}
