//! Weights of spectral norm 1.

use tensor::{Error, Tensor, no_grad};

use super::{Parametrization, expect_originals};
use crate::{Module, Result};

/// A weight divided by its spectral norm, the largest factor by which it makes a vector longer
/// (`torch.nn.utils.parametrizations.spectral_norm`). In training each call brings the norm closer by steps
/// of the power method; a vector is divided by its length. More dimensions than two are a matrix of rows for
/// each index of one of them.
///
/// T. Miyato et al., "Spectral Normalization for Generative Adversarial Networks" (2018).
///
/// ```
/// use nn::Linear;
/// use nn::parametrize::{Parametrized, SpectralNorm};
/// use tensor::Tensor;
/// let layer = Parametrized::new(Linear::new(8, 4)?, "weight", SpectralNorm::new())?;
/// for _ in 0..20 {
///     layer.tensor()?;
/// }
/// let x = Tensor::randn([8], ())?;
/// let factor = layer.tensor()?.mv(&x)?.norm(2, ())?.div(&x.norm(2, ())?)?;
/// assert!(factor.item::<f32>()? < 1.02);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct SpectralNorm {
    /// The first singular vectors, as close as the power method is; there are none of a vector.
    #[module(buffer, rename = "_u")]
    u: Option<Tensor>,
    #[module(buffer, rename = "_v")]
    v: Option<Tensor>,
    #[module(skip)]
    power_iterations: usize,
    #[module(skip)]
    dim: usize,
    #[module(skip)]
    eps: f64,
    #[module(training)]
    training: bool,
}

impl SpectralNorm {
    /// With PyTorch's defaults: one step of the power method in each call, the rows along dimension 0.
    pub fn new() -> SpectralNorm {
        SpectralNorm { u: None, v: None, power_iterations: 1, dim: 0, eps: 1e-12, training: true }
    }

    /// Sets the steps of the power method in each call in training.
    pub fn power_iterations(mut self, power_iterations: usize) -> SpectralNorm {
        self.power_iterations = power_iterations;
        self
    }

    /// Sets the dimension of the outputs; it is 1 in weights of transposed convolutions.
    pub fn dim(mut self, dim: usize) -> SpectralNorm {
        self.dim = dim;
        self
    }

    /// Sets the length that vectors have at least when they are divided by it.
    pub fn eps(mut self, eps: f64) -> SpectralNorm {
        self.eps = eps;
        self
    }

    /// The tensor as a matrix.
    fn matrix(&self, tensor: &Tensor) -> Result<Tensor> {
        tensor.movedim(self.dim as isize, 0)?.flatten_dims(1, -1)
    }

    /// Improves the singular vectors, in place.
    fn improve(&self, [u, v]: [&Tensor; 2], matrix: &Tensor, steps: usize) -> Result<()> {
        no_grad(|| {
            for _ in 0..steps {
                u.copy_(&matrix.mv(v)?.normalize(2, 0, self.eps)?)?;
                v.copy_(&matrix.t()?.mv(u)?.normalize(2, 0, self.eps)?)?;
            }
            Ok(())
        })
    }
}

impl Default for SpectralNorm {
    fn default() -> SpectralNorm {
        SpectralNorm::new()
    }
}

impl Parametrization for SpectralNorm {
    fn originals(&mut self, tensor: &Tensor) -> Result<Vec<Tensor>> {
        let refuse = |argument, value: String, why| {
            Err(Error::InvalidArgument { op: "SpectralNorm", argument, value, why })
        };
        if self.dim >= tensor.dims() {
            let value = format!("{} of a tensor of shape {:?}", self.dim, tensor.shape());
            return refuse("dim", value, "it must be a dimension of the parameter");
        }
        if self.power_iterations == 0 {
            return refuse("power_iterations", "0".to_owned(), "there must be one at least");
        }
        if tensor.dims() > 1 {
            let matrix = self.matrix(tensor)?;
            let start = |size: usize| {
                let vector = Tensor::randn([size], (tensor.dtype(), tensor.device()))?;
                vector.normalize(2, 0, self.eps)
            };
            let (u, v) = (start(matrix.size(0)?)?, start(matrix.size(1)?)?);
            // As close as PyTorch begins.
            self.improve([&u, &v], &matrix, 15)?;
            (self.u, self.v) = (Some(u), Some(v));
        }
        Ok(vec![tensor.clone()])
    }

    fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
        let [weight] = expect_originals("SpectralNorm", originals)?;
        let (Some(u), Some(v)) = (&self.u, &self.v) else {
            return weight.normalize(2, 0, self.eps);
        };
        let matrix = self.matrix(weight)?;
        if self.training {
            self.improve([u, v], &matrix.detach(), self.power_iterations)?;
        }
        // The backward pass needs these as they are now, whatever the next call writes.
        let (u, v) = (u.clone_data()?, v.clone_data()?);
        weight.div(&u.dot(&matrix.mv(&v)?)?)
    }
}
