//! What is made of the losses of single predictions.

use std::str::FromStr;

use crate::{Error, Result, Tensor};

/// The result that a loss makes of the losses of single predictions (PyTorch's `reduction`, whose
/// names it is parsed from).
///
/// ```
/// use tensor::{Reduction, tensor};
/// let (x, target) = (tensor![1.0, 2.0]?, tensor![1.0, 4.0]?);
/// assert_eq!(x.mse_loss(&target)?.item::<f32>()?, 2.0);
/// assert_eq!(x.mse_loss_with(&target, Reduction::None)?.to_vec::<f32>()?, [0.0, 4.0]);
/// assert_eq!("sum".parse::<Reduction>()?, Reduction::Sum);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Each of them.
    None,
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// Their sum, divided by the size of the first dimension, if there is one: the mean of a batch of
    /// distributions, as [`Tensor::kl_div`] is defined.
    BatchMean,
}

impl Reduction {
    /// The reduced losses.
    ///
    /// # Errors
    /// There is no mean of their dtype.
    #[track_caller]
    pub(super) fn of(self, losses: &Tensor) -> Result<Tensor> {
        match self {
            Reduction::None => Ok(losses.clone()),
            Reduction::Mean => losses.mean(()),
            Reduction::Sum => losses.sum(()),
            Reduction::BatchMean => match losses.shape().first() {
                Some(&batch) => losses.sum(())?.div(batch),
                None => Ok(losses.clone()),
            },
        }
    }
}

impl FromStr for Reduction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Reduction> {
        match name {
            "none" => Ok(Reduction::None),
            "mean" => Ok(Reduction::Mean),
            "sum" => Ok(Reduction::Sum),
            "batchmean" => Ok(Reduction::BatchMean),
            _ => Err(Error::InvalidArgument {
                op: "Reduction",
                argument: "reduction",
                value: name.to_owned(),
                why: "it must be none, mean, sum or batchmean",
            }),
        }
    }
}
