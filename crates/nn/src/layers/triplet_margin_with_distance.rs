//! The loss of triplets by a distance of the program's own.

use std::fmt;
use std::sync::Arc;

use tensor::{Reduction, Tensor};

use crate::{Forward, Module, Result};

/// A function that makes the distances of pairs of vectors.
type Distance = dyn Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync;

/// [`Tensor::triplet_margin_with_distance_loss_with`] of anchors, positive and negative vectors as a module
/// (`nn.TripletMarginWithDistanceLoss`). The distance is a function and no module: a module with parameters
/// that is one is a field beside the loss, and calls
/// [`Tensor::triplet_margin_with_distance_loss_with`] itself.
///
/// ```
/// use nn::{Forward, TripletMarginWithDistanceLoss};
/// use tensor::tensor;
/// let loss = TripletMarginWithDistanceLoss::new()
///     .distance_function(|a, b| 1.0 - a.cosine_similarity(b, 1, 1e-8)?)
///     .margin(0.5);
/// let anchor = tensor![[1.0, 0.0]]?;
/// let (positive, negative) = (tensor![[0.0, 2.0]]?, tensor![[-3.0, 0.0]]?);
/// assert_eq!(loss.forward(&(anchor.clone(), positive.clone(), negative.clone()))?.item::<f32>()?, 0.0);
/// assert_eq!(loss.forward(&(anchor, negative, positive))?.item::<f32>()?, 1.5);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Module)]
pub struct TripletMarginWithDistanceLoss {
    #[module(skip)]
    distance: Arc<Distance>,
    #[module(skip)]
    margin: f64,
    #[module(skip)]
    swap: bool,
    #[module(skip)]
    reduction: Reduction,
}

impl TripletMarginWithDistanceLoss {
    /// The loss with PyTorch's defaults: the Euclidean [`Tensor::pairwise_distance`], and a margin of 1.
    pub fn new() -> TripletMarginWithDistanceLoss {
        TripletMarginWithDistanceLoss {
            distance: Arc::new(|a, b| a.pairwise_distance(b, 2.0, 1e-6, false)),
            margin: 1.0,
            swap: false,
            reduction: Reduction::Mean,
        }
    }

    /// The loss of another distance: a function of two tensors, which gives one number for each pair of
    /// vectors.
    pub fn distance_function(
        mut self,
        distance: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> TripletMarginWithDistanceLoss {
        self.distance = Arc::new(distance);
        self
    }

    /// The loss with another `margin`.
    pub fn margin(mut self, margin: f64) -> TripletMarginWithDistanceLoss {
        self.margin = margin;
        self
    }

    /// The loss with another `swap`.
    pub fn swap(mut self, swap: bool) -> TripletMarginWithDistanceLoss {
        self.swap = swap;
        self
    }

    /// The loss with another reduction.
    pub fn reduction(mut self, reduction: Reduction) -> TripletMarginWithDistanceLoss {
        self.reduction = reduction;
        self
    }
}

impl Default for TripletMarginWithDistanceLoss {
    fn default() -> TripletMarginWithDistanceLoss {
        TripletMarginWithDistanceLoss::new()
    }
}

impl fmt::Debug for TripletMarginWithDistanceLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TripletMarginWithDistanceLoss")
            .field("margin", &self.margin)
            .field("swap", &self.swap)
            .field("reduction", &self.reduction)
            .finish_non_exhaustive()
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for TripletMarginWithDistanceLoss {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (anchor, positive, negative): &(Tensor, Tensor, Tensor)) -> Result<Tensor> {
        let distance = &*self.distance;
        anchor.triplet_margin_with_distance_loss_with(
            positive,
            negative,
            distance,
            self.margin,
            self.swap,
            self.reduction,
        )
    }
}
