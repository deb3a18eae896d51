//! Local response normalisation.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// [`Tensor::local_response_norm`] as a layer.
///
/// ```
/// use nn::{Forward, LocalResponseNorm};
/// use tensor::Tensor;
/// let layer = LocalResponseNorm::new(2).beta(0.5);
/// assert_eq!(layer.to_string(), "LocalResponseNorm(2, alpha=0.0001, beta=0.5, k=1.0)");
/// assert_eq!(layer.forward(&Tensor::ones([2, 5, 3], ())?)?.shape(), [2, 5, 3]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
#[module(extra_repr = LocalResponseNorm::described)]
pub struct LocalResponseNorm {
    #[module(skip)]
    size: usize,
    #[module(skip)]
    alpha: f64,
    #[module(skip)]
    beta: f64,
    #[module(skip)]
    k: f64,
}

impl LocalResponseNorm {
    /// A layer over so many neighbouring channels, with PyTorch's defaults for the other numbers.
    pub fn new(size: usize) -> LocalResponseNorm {
        LocalResponseNorm { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }

    /// Sets the factor of the mean.
    pub fn alpha(mut self, alpha: f64) -> LocalResponseNorm {
        self.alpha = alpha;
        self
    }

    /// Sets the exponent.
    pub fn beta(mut self, beta: f64) -> LocalResponseNorm {
        self.beta = beta;
        self
    }

    /// Sets the number that is added to the mean.
    pub fn k(mut self, k: f64) -> LocalResponseNorm {
        self.k = k;
        self
    }

    fn described(&self) -> String {
        let LocalResponseNorm { size, alpha, beta, k } = self;
        format!("{size}, alpha={alpha:?}, beta={beta:?}, k={k:?}")
    }
}

impl Forward for LocalResponseNorm {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.local_response_norm(self.size, self.alpha, self.beta, self.k)
    }
}
