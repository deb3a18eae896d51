//! Losses of distances between pairs, which are to exceed a margin or not.

use super::{Reduction, losses};
use crate::ops::autocast;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Tensor};

/// A target that is neither 1 nor -1 counts as both, as in PyTorch.
static HINGE_EMBEDDING: Pointwise<3> =
    Pointwise::common("hinge_embedding_loss", |[x, target, margin]| {
        let beyond = (margin - x).maximum(0.0);
        target.ne(1.0).select(beyond, 0.0) + target.ne(-1.0).select(x, 0.0)
    })
    .of(Kinds::FLOATS)
    .promoted_by_first(2)
    .named(["self", "target", "margin"])
    .with_gradient(|g, [x, target, margin], _| {
        let zero = g.constant(0.0);
        let counts = target.ne(1.0) & (margin - x).ge(0.0);
        [target.ne(-1.0).select(g, zero) - counts.select(g, zero), zero, zero]
    });

static MARGIN_RANKING: Pointwise<4> =
    Pointwise::common("margin_ranking_loss", |[a, b, target, margin]| {
        (margin - target * (a - b)).maximum(0.0)
    })
    .of(Kinds::FLOATS)
    .promoted_by_first(3)
    .named(["self", "other", "target", "margin"])
    .with_gradient(|g, [a, b, target, margin], _| {
        let zero = g.constant(0.0);
        let g = (margin - target * (a - b)).ge(0.0).select(g, zero);
        [-(g * target), g * target, g * (b - a), zero]
    });

static TRIPLET: Pointwise<3> =
    Pointwise::common("triplet_margin_loss", |[positive, negative, margin]| {
        (margin + positive - negative).maximum(0.0)
    })
    .promoted_by_first(2)
    .with_gradient(|g, [positive, negative, margin], _| {
        let zero = g.constant(0.0);
        let g = (margin + positive - negative).ge(0.0).select(g, zero);
        [g, -g, zero]
    });

static COSINE_EMBEDDING: Pointwise<5> =
    Pointwise::common("cosine_embedding_loss", |[product, a, b, target, margin]| {
        let cosine = product / (a * b).sqrt();
        let apart = (cosine - margin).maximum(0.0);
        target.eq(1.0).select(1.0 - cosine, 0.0) + target.eq(-1.0).select(apart, 0.0)
    })
    .of(Kinds::FLOATS)
    .promoted_by_first(3)
    .with_gradient(|g, [product, a, b, target, margin], _| {
        let zero = g.constant(0.0);
        let root = (a * b).sqrt();
        let cosine = product / root;
        let is_apart = target.eq(-1.0) & (cosine - margin).ge(0.0);
        let g = is_apart.select(g, zero) - target.eq(1.0).select(g, zero);
        let of_square = g * cosine * -0.5;
        [g / root, of_square / a, of_square / b, zero, zero]
    });

losses! {
    /// The mean of x where the target is 1, and of what it lacks to the margin (1) where the target
    /// is -1: a loss of distances.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![3.0, 0.5]?.hinge_embedding_loss(&tensor![1.0, -1.0]?)?;
    /// assert_eq!(loss.item::<f32>()?, (3.0 + 0.5) / 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not broadcast; the operands lie on different devices; the dtype is not a
    /// floating one.
    hinge_embedding_loss, hinge_embedding_loss_with(target; margin: f64 = 1.0) = hinge_embedding;

    /// The mean of what `target * (x - other)` lacks to the margin (0): x is to be ranked higher
    /// than `other` where the target is 1, and lower where it is -1.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![1.0, 1.0]?, tensor![3.0, 3.0]?);
    /// let loss = a.margin_ranking_loss(&b, &tensor![1.0, -1.0]?)?;
    /// assert_eq!(loss.item::<f32>()?, 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The numbers of dimensions differ; or as [`Tensor::hinge_embedding_loss`].
    margin_ranking_loss, margin_ranking_loss_with(other, target; margin: f64 = 0.0) = margin_ranking;

    /// The mean of `1 - cos` where the target is 1, and of what the cosine exceeds the margin (0) by
    /// where it is -1; the cosine of the angle between x and `other` along their last dimension.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![[1.0, 0.0]]?, tensor![[0.0, 2.0]]?);
    /// let loss = a.cosine_embedding_loss(&b, &tensor![1]?)?;
    /// assert!((loss.item::<f32>()? - 1.0).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The target has not a dimension less than x and `other`, or x is not of one or two dimensions;
    /// or as [`Tensor::hinge_embedding_loss`].
    cosine_embedding_loss, cosine_embedding_loss_with(other, target; margin: f64 = 0.0) = cosine_embedding;
}

impl Tensor {
    /// The mean of what the distance to `negative` lacks to that to `positive` plus the margin (1):
    /// [`Tensor::triplet_margin_loss_with`] of the Euclidean norm.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (anchor, near, far) = (tensor![[0.0]]?, tensor![[1.0]]?, tensor![[1.5]]?);
    /// let loss = anchor.triplet_margin_loss(&near, &far)?;
    /// assert!((loss.item::<f32>()? - 0.5).abs() < 1e-5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::triplet_margin_loss_with`].
    #[track_caller]
    pub fn triplet_margin_loss(&self, positive: &Tensor, negative: &Tensor) -> Result<Tensor> {
        self.triplet_margin_loss_with(positive, negative, 1.0, 2.0, false, Reduction::Mean)
    }

    /// The amount that the distance of the tensor, the anchor, to `negative` lacks to that to
    /// `positive` plus `margin`: of [`Tensor::pairwise_distance`]s with the norm `p` and an `eps` of 1e-6. With `swap`
    /// the distance between `positive` and `negative` counts where it is less than that of the
    /// anchor to `negative`.
    ///
    /// V. Balntas, E. Riba et al.: "Learning shallow convolutional feature descriptors with triplet
    /// losses" (BMVC 2016).
    ///
    /// # Errors
    /// The margin is not positive; the numbers of dimensions differ; the shapes do not broadcast; the
    /// operands lie on different devices; the dtype is not a floating one.
    #[track_caller]
    pub fn triplet_margin_loss_with(
        &self,
        positive: &Tensor,
        negative: &Tensor,
        margin: f64,
        p: f64,
        swap: bool,
        reduction: Reduction,
    ) -> Result<Tensor> {
        const OP: &str = "triplet_margin_loss";
        const EPS: f64 = 1e-6;
        let cast = autocast(OP, [self, positive, negative])?;
        let distance = |a: &Tensor, b: &Tensor| a.pairwise_distance(b, p, EPS, false);
        triplet(OP, cast.operands(), distance, margin, swap, reduction)
    }

    /// [`Tensor::triplet_margin_loss`] of a distance of the program's own (1 as margin):
    /// [`Tensor::triplet_margin_with_distance_loss_with`] with PyTorch's defaults.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (anchor, near, far) = (tensor![[0.0]]?, tensor![[1.0]]?, tensor![[1.5]]?);
    /// let manhattan = |a: &tensor::Tensor, b: &tensor::Tensor| a.sub(b)?.abs()?.sum(-1);
    /// let loss = anchor.triplet_margin_with_distance_loss(&near, &far, manhattan)?;
    /// assert_eq!(loss.item::<f32>()?, 0.5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::triplet_margin_with_distance_loss_with`].
    #[track_caller]
    pub fn triplet_margin_with_distance_loss(
        &self,
        positive: &Tensor,
        negative: &Tensor,
        distance: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let reduction = Reduction::Mean;
        self.triplet_margin_with_distance_loss_with(
            positive, negative, distance, 1.0, false, reduction,
        )
    }

    /// [`Tensor::triplet_margin_loss_with`] of distances that a function makes of two tensors.
    ///
    /// # Errors
    /// Those of the function; the margin is not positive; the numbers of dimensions differ; the distances
    /// do not broadcast.
    #[track_caller]
    pub fn triplet_margin_with_distance_loss_with(
        &self,
        positive: &Tensor,
        negative: &Tensor,
        distance: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
        margin: f64,
        swap: bool,
        reduction: Reduction,
    ) -> Result<Tensor> {
        const OP: &str = "triplet_margin_with_distance_loss";
        triplet(OP, [self, positive, negative], distance, margin, swap, reduction)
    }
}

/// The loss of an anchor, a positive and a negative tensor by distances.
#[track_caller]
fn triplet(
    op: &'static str,
    [anchor, positive, negative]: [&Tensor; 3],
    distance: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
    margin: f64,
    swap: bool,
    reduction: Reduction,
) -> Result<Tensor> {
    if margin.is_nan() || margin <= 0.0 {
        return Err(super::distances::refused(op, "margin", margin, "it must be positive"));
    }
    expect_equal_dims(op, [("self", anchor), ("positive", positive), ("negative", negative)])?;
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if swap {
        far = far.minimum(&distance(positive, negative)?)?;
    }
    reduction.of(&TRIPLET.apply([(&near).into(), (&far).into(), margin.into()])?)
}

#[track_caller]
fn hinge_embedding(x: &Tensor, target: &Tensor, margin: f64) -> Result<Tensor> {
    HINGE_EMBEDDING.apply([x.into(), target.into(), margin.into()])
}

#[track_caller]
fn margin_ranking(x: &Tensor, other: &Tensor, target: &Tensor, margin: f64) -> Result<Tensor> {
    let all = [("self", x), ("other", other), ("target", target)];
    expect_equal_dims("margin_ranking_loss", all)?;
    if all.iter().any(|(_, x)| x.dtype().is_float()) {
        return MARGIN_RANKING.apply([x.into(), other.into(), target.into(), margin.into()]);
    }
    // The products of integers are computed as such, and wrap around.
    target.neg()?.mul(&x.sub(other)?)?.add(margin)?.clamp_min(0.0)
}

#[track_caller]
fn cosine_embedding(x: &Tensor, other: &Tensor, target: &Tensor, margin: f64) -> Result<Tensor> {
    const OP: &str = "cosine_embedding_loss";
    /// Added to squared lengths, as in PyTorch.
    const EPS: f64 = 1e-12;
    let is_of_vectors = matches!(x.dims(), 1 | 2) && other.dims() == x.dims();
    if !is_of_vectors || target.dims() + 1 != x.dims() {
        let all = [("self", x), ("other", other), ("target", target)];
        let rule = "`self` and `other` must be [batch, features] and `target` [batch], or all without \
                    the batch";
        return Err(Error::ShapeMismatch { op: OP, shapes: all.map(with_shape).to_vec(), rule });
    }
    let product = x.mul(other)?.sum(-1)?;
    let [a, b] = [x, other].map(|x| x.square()?.sum(-1)?.add(EPS));
    let (a, b) = (a?, b?);
    let operands = [&product, &a, &b, target].map(Into::into);
    let [product, a, b, target] = operands;
    COSINE_EMBEDDING.apply([product, a, b, target, margin.into()])
}

/// # Errors
/// The numbers of dimensions differ.
fn expect_equal_dims(op: &'static str, all: [(&'static str, &Tensor); 3]) -> Result<()> {
    if all.iter().all(|(_, x)| x.dims() == all[0].1.dims()) {
        return Ok(());
    }
    let rule = "they must have the same number of dimensions";
    Err(Error::ShapeMismatch { op, shapes: all.map(with_shape).to_vec(), rule })
}

fn with_shape((name, x): (&'static str, &Tensor)) -> (&'static str, crate::Shape) {
    (name, x.layout().shape().clone())
}
