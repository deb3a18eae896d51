//! Parameters as one vector, for algorithms that see nothing else (`torch.nn.utils`).

use std::borrow::Borrow;

use tensor::{Error, Tensor, no_grad};

use super::collected;
use crate::Result;

/// The elements of all parameters in one vector, in their order; gradients flow back to the parameters.
///
/// ```
/// use nn::utils::{parameters_to_vector, vector_to_parameters};
/// use nn::{Linear, Module};
/// let layer = Linear::new(3, 2)?;
/// let vector = parameters_to_vector(layer.parameters())?;
/// assert_eq!(vector.shape(), [3 * 2 + 2]);
/// vector_to_parameters(&vector.mul(2.0)?, layer.parameters())?;
/// assert!(parameters_to_vector(layer.parameters())?.equal(&vector.mul(2.0)?)?);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// There are no parameters, they lie on different devices, or memory is short.
pub fn parameters_to_vector(parameters: impl IntoIterator<Item: Borrow<Tensor>>) -> Result<Tensor> {
    let vectors = parameters.into_iter().map(|parameter| parameter.borrow().reshape(-1));
    Tensor::cat(vectors.collect::<Result<Vec<Tensor>>>()?, 0)
}

/// Copies the elements of a vector into parameters, in their order, from any device and dtype: what
/// [`parameters_to_vector`] has put together. PyTorch makes the parameters parts of the vector's memory
/// instead, and leaves what is too long aside.
///
/// # Errors
/// The vector has other dimensions than one, or another number of elements than the parameters; nothing
/// is changed then.
pub fn vector_to_parameters(
    vector: &Tensor,
    parameters: impl IntoIterator<Item: Borrow<Tensor>>,
) -> Result<()> {
    let parameters = collected(parameters);
    let sizes: Vec<usize> = parameters.iter().map(Tensor::numel).collect();
    let elements = sizes.iter().fold(0_usize, |sum, &size| sum.saturating_add(size));
    if vector.shape() != [elements] {
        return Err(Error::InvalidArgument {
            op: "vector_to_parameters",
            argument: "vector",
            value: format!("shape {:?} for parameters of {elements} elements", vector.shape()),
            why: "it must have one dimension, and as many elements as the parameters together",
        });
    }
    no_grad(|| {
        for (parameter, part) in parameters.iter().zip(vector.split_with_sizes(&sizes, 0)?) {
            parameter.copy_(&part.reshape(parameter.shape())?)?;
        }
        Ok(())
    })
}
