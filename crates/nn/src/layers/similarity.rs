//! Angles and distances of pairs of vectors.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// [`Tensor::cosine_similarity`] as a module (`nn.CosineSimilarity`).
///
/// ```
/// use nn::{CosineSimilarity, Forward};
/// use tensor::tensor;
/// let pair = (tensor![[1.0, 0.0]]?, tensor![[2.0, 0.0]]?);
/// assert_eq!(CosineSimilarity::default().forward(&pair)?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
#[module(extra_repr = CosineSimilarity::nothing)]
pub struct CosineSimilarity {
    #[module(skip)]
    dim: isize,
    #[module(skip)]
    eps: f64,
}

impl CosineSimilarity {
    /// The similarity along a dimension, of vectors whose lengths count as `eps` at least.
    pub fn new(dim: isize, eps: f64) -> CosineSimilarity {
        CosineSimilarity { dim, eps }
    }

    /// PyTorch's printed form has no numbers.
    fn nothing(&self) -> String {
        String::new()
    }
}

/// PyTorch's defaults: along dimension 1, with an `eps` of 1e-8.
impl Default for CosineSimilarity {
    fn default() -> CosineSimilarity {
        CosineSimilarity::new(1, 1e-8)
    }
}

impl Forward<(Tensor, Tensor)> for CosineSimilarity {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
        a.cosine_similarity(b, self.dim, self.eps)
    }
}

/// [`Tensor::pairwise_distance`] as a module (`nn.PairwiseDistance`).
///
/// ```
/// use nn::{Forward, PairwiseDistance};
/// use tensor::tensor;
/// let pair = (tensor![[3.0, 0.0]]?, tensor![[0.0, 4.0]]?);
/// let distance = PairwiseDistance::default().forward(&pair)?;
/// assert!((distance.item::<f32>()? - 5.0).abs() < 1e-4);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
#[module(extra_repr = PairwiseDistance::nothing)]
pub struct PairwiseDistance {
    #[module(skip)]
    p: f64,
    #[module(skip)]
    eps: f64,
    #[module(skip)]
    keepdim: bool,
}

impl PairwiseDistance {
    /// The `p`-norm of differences, to each of which `eps` is added.
    pub fn new(p: f64, eps: f64, keepdim: bool) -> PairwiseDistance {
        PairwiseDistance { p, eps, keepdim }
    }

    /// PyTorch's printed form has no numbers.
    fn nothing(&self) -> String {
        String::new()
    }
}

/// PyTorch's defaults: the Euclidean norm, with an `eps` of 1e-6.
impl Default for PairwiseDistance {
    fn default() -> PairwiseDistance {
        PairwiseDistance::new(2.0, 1e-6, false)
    }
}

impl Forward<(Tensor, Tensor)> for PairwiseDistance {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
        a.pairwise_distance(b, self.p, self.eps, self.keepdim)
    }
}
