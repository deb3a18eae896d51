//! Vectors beside each other: their lengths, distances and angles.

use crate::dims::keepdim;
use crate::ops::autocast;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Tensor};

/// The difference, with a small number that keeps its norm from being 0.
static DIFFERENCE: Pointwise<3> = Pointwise::common("pairwise_distance", |[a, b, eps]| a - b + eps)
    .of(Kinds::FLOATS)
    .promoted_by_first(2)
    .named(["self", "other", "eps"]);

/// A norm that is at least `eps`. As in PyTorch, its gradient is that of the norm all the same.
static AT_LEAST: Pointwise<2> =
    Pointwise::common("cosine_similarity", |[norm, eps]| norm.maximum(eps))
        .of(Kinds::FLOATS)
        .promoted_by_first(1)
        .with_gradient(|g, _, _| [g, g.constant(0.0)]);

static COSINE: Pointwise<4> =
    Pointwise::common("cosine_similarity", |[a, b, norm_a, norm_b]| (a / norm_a) * (b / norm_b))
        .of(Kinds::FLOATS);

impl Tensor {
    /// The vectors along `dim`, divided by their `p`-norms, which count as `eps` where they are less
    /// (2, 1 and 1e-12 in PyTorch).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[3.0, 4.0], [0.0, 0.0]]?.normalize(2, 1, 1e-12)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.6, 0.8, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; the dtype is not a floating one.
    #[track_caller]
    pub fn normalize(&self, p: impl Into<f64>, dim: isize, eps: f64) -> Result<Tensor> {
        self.div(&self.norm(p, keepdim(dim))?.clamp_min(eps)?)
    }

    /// The `p`-norms of the differences of vectors along the last dimension, to each number of which
    /// `eps` is added (2 and 1e-6 in PyTorch). `other` is broadcast. The dimension stays with size 1
    /// if `keepdim` says so.
    ///
    /// ```
    /// use tensor::tensor;
    /// let distance = tensor![[4.0, 4.0]]?.pairwise_distance(&tensor![[1.0, 0.0]]?, 2, 0.0, false)?;
    /// assert_eq!(distance.to_vec::<f32>()?, [5.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not broadcast, or have no dimensions; the operands lie on different devices.
    #[track_caller]
    pub fn pairwise_distance(
        &self,
        other: &Tensor,
        p: impl Into<f64>,
        eps: f64,
        keepdim: bool,
    ) -> Result<Tensor> {
        let difference = match self.dtype().is_float() || other.dtype().is_float() {
            true => DIFFERENCE.apply([self.into(), other.into(), eps.into()])?,
            // That of integers is computed as such, and wraps around.
            false => self.sub(other)?.add(eps)?,
        };
        if difference.dims() == 0 {
            return Err(Error::DimOutOfRange { op: "pairwise_distance", dim: -1, dims: 0 });
        }
        difference.norm(p, crate::ReduceDims::from(-1).keepdim(keepdim))
    }

    /// The cosines of the angles between vectors along `dim`; lengths count as `eps` where they are
    /// less (1 and 1e-8 in PyTorch). `other` is broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![[3.0, 4.0]]?, tensor![[5.0, 0.0]]?);
    /// assert!((a.cosine_similarity(&b, 1, 1e-8)?.item::<f32>()? - 0.6).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; the shapes do not broadcast; the operands lie on different devices;
    /// the dtype is not a floating one.
    #[track_caller]
    pub fn cosine_similarity(&self, other: &Tensor, dim: isize, eps: f64) -> Result<Tensor> {
        const OP: &str = "cosine_similarity";
        let shape = self.layout().shape().broadcast(other.layout().shape());
        let Some(shape) = shape else {
            let [own, theirs] = [self, other].map(|x| x.layout().shape().clone());
            let rule = "they must broadcast";
            let shapes = vec![("self", own), ("other", theirs)];
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        };
        self.expect_floats(OP)?;
        other.expect_floats(OP)?;
        let cast = autocast(OP, [self, other])?;
        let [a, b] = cast.operands();
        let (a, b) = (a.expand(&shape)?, b.expand(&shape)?);
        let norm = |x: &Tensor| AT_LEAST.apply([(&x.norm(2, keepdim(dim))?).into(), eps.into()]);
        let (norm_a, norm_b) = (norm(&a)?, norm(&b)?);
        COSINE.apply([&a, &b, &norm_a, &norm_b].map(Into::into))?.sum(dim)
    }
}
