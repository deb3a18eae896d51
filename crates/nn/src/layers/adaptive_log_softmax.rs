//! The softmax of many classes, of which a few are frequent.

use tensor::{DType, Error, Tensor, TensorOptions};

use super::{Linear, Sequential};
use crate::{Forward, Module, Result};

const OP: &str = "AdaptiveLogSoftmaxWithLoss";

/// The logarithms of the probabilities of many classes, of which the first ones are frequent and the
/// last ones rare (`nn.AdaptiveLogSoftmaxWithLoss`): Grave et al., "Efficient softmax approximation for
/// GPUs" (2017).
///
/// `cutoffs` part the classes into clusters. The head scores the classes of the first cluster and each
/// other cluster as a whole; a cluster scores its classes only for the samples whose class it has, by
/// features that are the fewer the rarer its classes are. The inputs are features `[batch, in_features]`
/// and classes `[batch]`, or both without the batch; the output is the logarithm of the probability of
/// each sample's class, and the loss, their negated mean. On CUDA devices it waits for the classes.
///
/// ```
/// use nn::{AdaptiveLogSoftmaxWithLoss, Forward};
/// use tensor::{Tensor, tensor};
/// let layer = AdaptiveLogSoftmaxWithLoss::new(16, 1000, &[10, 100])?;
/// let features = Tensor::randn([4, 16], ())?;
/// let (output, loss) = layer.forward(&(features.clone(), tensor![0, 15, 999, 3]?))?;
/// assert_eq!((output.shape(), loss.dims()), (&[4][..], 0));
/// assert_eq!(layer.log_prob(&features)?.shape(), [4, 1000]);
/// assert_eq!(layer.predict(&features)?.shape(), [4]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct AdaptiveLogSoftmaxWithLoss {
    head: Linear,
    tail: Vec<Sequential>,
    /// The first class of each cluster but the first one, and the number of classes.
    #[module(skip)]
    cutoffs: Vec<usize>,
}

impl AdaptiveLogSoftmaxWithLoss {
    /// A layer on the default device, whose clusters have a quarter of the features of the one before,
    /// and whose head has no bias.
    ///
    /// # Errors
    /// As [`AdaptiveLogSoftmaxWithLoss::new_with`].
    #[track_caller]
    pub fn new(
        in_features: usize,
        n_classes: usize,
        cutoffs: &[usize],
    ) -> Result<AdaptiveLogSoftmaxWithLoss> {
        AdaptiveLogSoftmaxWithLoss::new_with(in_features, n_classes, cutoffs, 4.0, false, ())
    }

    /// A layer whose clusters have the `div_value`-th part of the features of the one before, with a bias
    /// of the head or without, on the given device, with the given dtype.
    ///
    /// # Errors
    /// There are no cutoffs, they do not rise from 1 to less than `n_classes`, or a cluster would have no
    /// features; the dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        in_features: usize,
        n_classes: usize,
        cutoffs: &[usize],
        div_value: f64,
        head_bias: bool,
        options: impl Into<TensorOptions>,
    ) -> Result<AdaptiveLogSoftmaxWithLoss> {
        let options = options.into();
        let rises = cutoffs.is_sorted_by(|a, b| a < b);
        let (Some(&shortlist), Some(&last)) = (cutoffs.first(), cutoffs.last()) else {
            return Err(refused("cutoffs", "[]".to_owned(), "there must be at least one"));
        };
        if !rises || shortlist == 0 || last >= n_classes {
            let value = format!("{cutoffs:?} of {n_classes} classes");
            return Err(refused("cutoffs", value, "they must rise, from 1 to less than n_classes"));
        }
        let ends: Vec<usize> = cutoffs.iter().copied().chain([n_classes]).collect();
        let head = Linear::new_with(in_features, shortlist + cutoffs.len(), options)?;
        let mut tail = Vec::new();
        for (number, pair) in ends.windows(2).enumerate() {
            let features = (in_features as f64 / div_value.powi(number as i32 + 1)).floor();
            if !(features >= 1.0 && features.is_finite()) {
                let value = format!("{div_value} of {in_features} features");
                let why = "the last cluster must have a feature or more";
                return Err(refused("div_value", value, why));
            }
            let features = features as usize;
            let projection = Linear::new_with(in_features, features, options)?.without_bias();
            let scores = Linear::new_with(features, pair[1] - pair[0], options)?.without_bias();
            tail.push(Sequential::new().push(projection).push(scores));
        }
        let head = if head_bias { head } else { head.without_bias() };
        Ok(AdaptiveLogSoftmaxWithLoss { head, tail, cutoffs: ends })
    }

    /// The logarithms of the probabilities of all classes, `[batch, n_classes]`, of features `[batch,
    /// in_features]`.
    ///
    /// # Errors
    /// The features do not fit, or memory is short.
    #[track_caller]
    pub fn log_prob(&self, input: &Tensor) -> Result<Tensor> {
        let head = self.head.forward(input)?.log_softmax(1)?;
        let shortlist = self.cutoffs[0];
        let mut parts = vec![head.narrow(1, 0, shortlist)?];
        for (number, cluster) in self.tail.iter().enumerate() {
            let inside = cluster.forward(input)?.log_softmax(1)?;
            parts.push((inside + head.narrow(1, shortlist + number, 1)?)?);
        }
        Tensor::cat(&parts, 1)
    }

    /// The likeliest class of each sample, `[batch]`, of features `[batch, in_features]`.
    ///
    /// # Errors
    /// The features do not fit, or memory is short.
    #[track_caller]
    pub fn predict(&self, input: &Tensor) -> Result<Tensor> {
        self.log_prob(input)?.argmax(1)
    }

    /// The number of the head's score for each class: of the class, or of its cluster.
    fn head_scores(&self, classes: &Tensor) -> Result<Tensor> {
        let mut scores = classes.clamp_max(self.cutoffs[0] as i64)?;
        for &first in &self.cutoffs[1..self.cutoffs.len() - 1] {
            scores = scores.add(&classes.ge(first as i64)?.to(DType::I64)?)?;
        }
        Ok(scores)
    }
}

impl Forward<(Tensor, Tensor)> for AdaptiveLogSoftmaxWithLoss {
    type Output = (Tensor, Tensor);

    #[track_caller]
    fn forward(&self, (input, target): &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        let (is_batch, features) = (input.dims() == 2, input.shape().last().copied());
        let batch = &input.shape()[..input.dims().saturating_sub(1)];
        if !matches!(input.dims(), 1 | 2) || target.shape() != batch {
            let value = format!("shapes {:?} and {:?}", input.shape(), target.shape());
            let why = "they must be [batch, in_features] and [batch], or both without the batch";
            return Err(refused("input and target", value, why));
        }
        let input = input.reshape((-1, features.unwrap_or(0)))?;
        let classes = target.reshape([target.numel()])?;
        let head = self.head.forward(&input)?.log_softmax(1)?;
        // Counted before the head's scores are taken, among which every number has a place.
        let is_frequent = classes.lt(self.cutoffs[0] as i64)?.logical_and(&classes.ge(0)?)?;
        let mut found = is_frequent.sum(())?.item::<i64>()?;
        let mut inside = Tensor::zeros([classes.numel()], (head.dtype(), head.device()))?;
        for (cluster, bounds) in self.tail.iter().zip(self.cutoffs.windows(2)) {
            let (first, end) = (bounds[0] as i64, bounds[1] as i64);
            let is_inside = classes.ge(first)?.logical_and(&classes.lt(end)?)?;
            let rows = is_inside.nonzero()?.squeeze(1)?;
            if rows.numel() == 0 {
                continue;
            }
            found += rows.numel() as i64;
            let scores = cluster.forward(&input.index_select(0, &rows)?)?.log_softmax(1)?;
            let class = classes.index_select(0, &rows)?.sub(first)?.unsqueeze(1)?;
            inside = inside.index_copy(0, &rows, &scores.gather(1, &class)?.squeeze(1)?)?;
        }
        if found != classes.numel() as i64 {
            let value = format!("{found} of {} classes that exist", classes.numel());
            let why = "all must lie in [0, n_classes)";
            return Err(refused("target", value, why));
        }
        let of_head = head.gather(1, &self.head_scores(&classes)?.unsqueeze(1)?)?.squeeze(1)?;
        let output = (of_head + inside)?;
        let loss = output.mean(())?.neg()?;
        Ok((if is_batch { output } else { output.squeeze(0)? }, loss))
    }
}

fn refused(argument: &'static str, value: String, why: &'static str) -> Error {
    Error::InvalidArgument { op: OP, argument, value, why }
}
