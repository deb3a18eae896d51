//! A linear layer and cross entropy as one module.

use tensor::{Reduction, Tensor, TensorOptions};

use super::Linear;
use crate::{Forward, Module, Result};

/// [`Tensor::cross_entropy`] of the scores that a linear layer without bias gives
/// (`nn.LinearCrossEntropyLoss`): of features and classes.
///
/// ```
/// use nn::{Forward, LinearCrossEntropyLoss};
/// use tensor::{Tensor, tensor};
/// let loss = LinearCrossEntropyLoss::new(5, 3)?;
/// let inputs = (Tensor::ones([2, 5], ())?, tensor![0, 2]?);
/// assert_eq!(loss.forward(&inputs)?.dims(), 0);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LinearCrossEntropyLoss {
    linear: Linear,
    #[module(buffer)]
    weight: Option<Tensor>,
    #[module(skip)]
    ignore_index: i64,
    #[module(skip)]
    label_smoothing: f64,
    #[module(skip)]
    reduction: Reduction,
}

impl LinearCrossEntropyLoss {
    /// The loss with PyTorch's defaults, on the default device.
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub fn new(in_features: usize, num_classes: usize) -> Result<LinearCrossEntropyLoss> {
        LinearCrossEntropyLoss::new_with(in_features, num_classes, ())
    }

    /// The loss on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        in_features: usize,
        num_classes: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<LinearCrossEntropyLoss> {
        Ok(LinearCrossEntropyLoss {
            linear: Linear::new_with(in_features, num_classes, options)?.without_bias(),
            weight: None,
            ignore_index: -100,
            label_smoothing: 0.0,
            reduction: Reduction::Mean,
        })
    }

    /// The loss with a weight of each class.
    pub fn weight(mut self, weight: impl Into<Option<Tensor>>) -> LinearCrossEntropyLoss {
        self.weight = weight.into();
        self
    }

    /// The loss that leaves out samples of another class.
    pub fn ignore_index(mut self, ignore_index: i64) -> LinearCrossEntropyLoss {
        self.ignore_index = ignore_index;
        self
    }

    /// The loss with another share of each target that all classes get.
    pub fn label_smoothing(mut self, label_smoothing: f64) -> LinearCrossEntropyLoss {
        self.label_smoothing = label_smoothing;
        self
    }

    /// The loss with another reduction.
    pub fn reduction(mut self, reduction: Reduction) -> LinearCrossEntropyLoss {
        self.reduction = reduction;
        self
    }
}

impl Forward<(Tensor, Tensor)> for LinearCrossEntropyLoss {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (input, target): &(Tensor, Tensor)) -> Result<Tensor> {
        let scores = self.linear.forward(input)?;
        let (weight, ignored) = (self.weight.as_ref(), self.ignore_index);
        scores.cross_entropy_with(target, weight, ignored, self.label_smoothing, self.reduction)
    }
}
