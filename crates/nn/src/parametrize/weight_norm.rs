//! Weights as sizes and directions.

use tensor::{Error, Tensor};

use super::{Parametrization, expect_originals};
use crate::{Module, Result};

/// A weight as `g * v / |v|`, whose size g and direction v are trained apart
/// (`torch.nn.utils.parametrizations.weight_norm`): `original0` and `original1`.
///
/// T. Salimans, D. Kingma, "Weight Normalization" (2016).
///
/// ```
/// use nn::parametrize::{Parametrized, WeightNorm};
/// use nn::{Linear, Module};
/// let layer = Parametrized::new(Linear::new(3, 2)?, "weight", WeightNorm::new(0))?;
/// assert_eq!(layer.state_dict()["parametrizations.weight.original0"].shape(), [2, 1]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct WeightNorm {
    #[module(skip)]
    dim: Option<usize>,
}

impl WeightNorm {
    /// A size for each index of a dimension, 0 in PyTorch; with `None` one size for the whole tensor.
    pub fn new(dim: impl Into<Option<usize>>) -> WeightNorm {
        WeightNorm { dim: dim.into() }
    }

    /// The lengths of the tensor's parts, each of which belongs to an index of the dimension.
    fn lengths(self, tensor: &Tensor) -> Result<Tensor> {
        let Some(dim) = self.dim else { return tensor.norm(2, ()) };
        let shape = tensor.shape();
        let Some(&size) = shape.get(dim) else {
            return Err(Error::InvalidArgument {
                op: "WeightNorm",
                argument: "dim",
                value: format!("{dim} of a tensor of shape {shape:?}"),
                why: "it must be a dimension of the parameter",
            });
        };
        let rest: usize = (0..).zip(shape).filter(|(own, _)| *own != dim).map(|(_, n)| n).product();
        let rows = tensor.movedim(dim as isize, 0)?.reshape([size, rest])?;
        let mut kept = vec![1; shape.len()];
        kept[dim] = size;
        rows.norm(2, 1)?.reshape(kept)
    }
}

impl Parametrization for WeightNorm {
    fn originals(&mut self, tensor: &Tensor) -> Result<Vec<Tensor>> {
        Ok(vec![self.lengths(tensor)?, tensor.clone()])
    }

    fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
        let [size, direction] = expect_originals("WeightNorm", originals)?;
        direction.mul(&size.div(&self.lengths(direction)?)?)
    }
}
