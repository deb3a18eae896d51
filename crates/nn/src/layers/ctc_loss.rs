//! Connectionist temporal classification as a module.

use tensor::{DType, Reduction, Tensor};

use crate::{Forward, Module, Result};

/// [`Tensor::ctc_loss`] of logarithms of probabilities, targets, and the lengths of both as tensors, as
/// a module (`nn.CTCLoss`). The host waits for the lengths, if they lie on a device.
///
/// ```
/// use nn::{CTCLoss, Forward};
/// use tensor::{Tensor, tensor};
/// let log_probs = Tensor::zeros([4, 1, 3], ())?.log_softmax(-1)?;
/// let inputs = (log_probs, tensor![[1, 2]]?, tensor![4]?, tensor![2]?);
/// assert_eq!(CTCLoss::new().forward(&inputs)?.dims(), 0);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default, Module)]
pub struct CTCLoss {
    #[module(skip)]
    blank: usize,
    #[module(skip)]
    zero_infinity: bool,
    #[module(skip)]
    reduction: Reduction,
}

impl CTCLoss {
    /// The loss with PyTorch's defaults.
    pub fn new() -> CTCLoss {
        CTCLoss::default()
    }

    /// The loss with another class of blanks.
    pub fn blank(mut self, blank: usize) -> CTCLoss {
        self.blank = blank;
        self
    }

    /// The loss in which labels that do not fit into their sequence count as 0.
    pub fn zero_infinity(mut self, zero_infinity: bool) -> CTCLoss {
        self.zero_infinity = zero_infinity;
        self
    }

    /// The loss with another reduction.
    pub fn reduction(mut self, reduction: Reduction) -> CTCLoss {
        self.reduction = reduction;
        self
    }
}

impl Forward<(Tensor, Tensor, Tensor, Tensor)> for CTCLoss {
    type Output = Tensor;

    #[track_caller]
    fn forward(
        &self,
        (log_probs, targets, input_lengths, target_lengths): &(Tensor, Tensor, Tensor, Tensor),
    ) -> Result<Tensor> {
        let (inputs, labels) = (lengths(input_lengths)?, lengths(target_lengths)?);
        let (blank, zero_infinity) = (self.blank, self.zero_infinity);
        log_probs.ctc_loss_with(targets, &inputs, &labels, blank, zero_infinity, self.reduction)
    }
}

/// # Errors
/// One is negative.
fn lengths(tensor: &Tensor) -> Result<Vec<usize>> {
    let lengths = tensor.to(DType::I64)?.to_vec::<i64>()?;
    let length = |length: i64| {
        usize::try_from(length).map_err(|_| tensor::Error::InvalidArgument {
            op: "CTCLoss",
            argument: "lengths",
            value: length.to_string(),
            why: "they must not be negative",
        })
    };
    lengths.into_iter().map(length).collect()
}
