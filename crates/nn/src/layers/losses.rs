//! Losses as modules.

use tensor::{Reduction, Tensor};

use crate::{Forward, Module, Result};

/// Makes modules of losses. Each has PyTorch's defaults, a method for each parameter, and one for the
/// reduction; weights are buffers. The example of the documentation has the inputs.
macro_rules! losses {
    ($($(#[$doc:meta])* $name:ident[$($weight:ident),*] {$($parameter:ident: $type:ty = $default:expr),*}
        [$example:literal] = |$loss:ident, $x:ident, $($input:ident),*| $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("```\nuse nn::{Forward, ", stringify!($name), "};\nuse tensor::{Reduction, tensor};")]
        #[doc = concat!("let loss = ", stringify!($name), "::new().reduction(Reduction::Sum);")]
        #[doc = concat!("assert_eq!(loss.forward(&", $example, ")?.dims(), 0);")]
        /// # Ok::<(), tensor::Error>(())
        /// ```
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            $(#[module(buffer)] $weight: Option<Tensor>,)*
            $(#[module(skip)] $parameter: $type,)*
            #[module(skip)]
            reduction: Reduction,
        }

        impl $name {
            /// The loss with PyTorch's defaults.
            pub fn new() -> $name {
                $name { $($weight: None,)* $($parameter: $default,)* reduction: Reduction::Mean }
            }

            $(
                /// The loss with this weight.
                pub fn $weight(mut self, $weight: impl Into<Option<Tensor>>) -> $name {
                    self.$weight = $weight.into();
                    self
                }
            )*

            $(
                #[doc = concat!("The loss with another `", stringify!($parameter), "`.")]
                pub fn $parameter(mut self, $parameter: $type) -> $name {
                    self.$parameter = $parameter;
                    self
                }
            )*

            /// The loss with another reduction.
            pub fn reduction(mut self, reduction: Reduction) -> $name {
                self.reduction = reduction;
                self
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new()
            }
        }

        impl Forward<(Tensor, $(losses!(@tensor $input)),*)> for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, ($x, $($input),*): &(Tensor, $(losses!(@tensor $input)),*)) -> Result<Tensor> {
                let $loss = self;
                $body
            }
        }
    )*};
    (@tensor $input:ident) => { Tensor };
}

losses! {
    /// [`Tensor::mse_loss`] of predictions and targets as a module (`nn.MSELoss`).
    MSELoss[] {} ["(tensor![1.0, 2.0]?, tensor![1.0, 4.0]?)"] =
        |loss, x, target| x.mse_loss_with(target, loss.reduction);
    /// [`Tensor::l1_loss`] of predictions and targets as a module (`nn.L1Loss`).
    L1Loss[] {} ["(tensor![1.0, 2.0]?, tensor![1.0, 4.0]?)"] =
        |loss, x, target| x.l1_loss_with(target, loss.reduction);
    /// [`Tensor::smooth_l1_loss`] of predictions and targets as a module (`nn.SmoothL1Loss`).
    SmoothL1Loss[] {beta: f64 = 1.0} ["(tensor![1.0, 2.0]?, tensor![1.0, 4.0]?)"] =
        |loss, x, target| x.smooth_l1_loss_with(target, loss.beta, loss.reduction);
    /// [`Tensor::huber_loss`] of predictions and targets as a module (`nn.HuberLoss`).
    HuberLoss[] {delta: f64 = 1.0} ["(tensor![1.0, 2.0]?, tensor![1.0, 4.0]?)"] =
        |loss, x, target| x.huber_loss_with(target, loss.delta, loss.reduction);
    /// [`Tensor::kl_div`] of logarithms and targets as a module (`nn.KLDivLoss`).
    KLDivLoss[] {log_target: bool = false} ["(tensor![-1.0, -2.0]?, tensor![0.5, 0.5]?)"] =
        |loss, x, target| x.kl_div_with(target, loss.log_target, loss.reduction);
    /// [`Tensor::poisson_nll_loss`] of predictions and targets as a module (`nn.PoissonNLLLoss`).
    PoissonNLLLoss[] {log_input: bool = true, full: bool = false, eps: f64 = 1e-8}
        ["(tensor![1.0, 2.0]?, tensor![1.0, 4.0]?)"] =
        |loss, x, target| {
            x.poisson_nll_loss_with(target, loss.log_input, loss.full, loss.eps, loss.reduction)
        };
    /// [`Tensor::gaussian_nll_loss`] of predictions, targets and variances as a module
    /// (`nn.GaussianNLLLoss`).
    GaussianNLLLoss[] {full: bool = false, eps: f64 = 1e-6}
        ["(tensor![1.0, 2.0]?, tensor![1.0, 4.0]?, tensor![1.0, 1.0]?)"] =
        |loss, x, target, variance| {
            x.gaussian_nll_loss_with(target, variance, loss.full, loss.eps, loss.reduction)
        };
    /// [`Tensor::soft_margin_loss`] of scores and targets as a module (`nn.SoftMarginLoss`).
    SoftMarginLoss[] {} ["(tensor![1.0, 2.0]?, tensor![1.0, -1.0]?)"] =
        |loss, x, target| x.soft_margin_loss_with(target, loss.reduction);
    /// [`Tensor::hinge_embedding_loss`] of distances and targets as a module
    /// (`nn.HingeEmbeddingLoss`).
    HingeEmbeddingLoss[] {margin: f64 = 1.0} ["(tensor![1.0, 2.0]?, tensor![1.0, -1.0]?)"] =
        |loss, x, target| x.hinge_embedding_loss_with(target, loss.margin, loss.reduction);
    /// [`Tensor::margin_ranking_loss`] of two scores and targets as a module
    /// (`nn.MarginRankingLoss`).
    MarginRankingLoss[] {margin: f64 = 0.0} ["(tensor![1.0]?, tensor![2.0]?, tensor![1.0]?)"] =
        |loss, x, other, target| {
            x.margin_ranking_loss_with(other, target, loss.margin, loss.reduction)
        };
    /// [`Tensor::cosine_embedding_loss`] of two vectors and targets as a module
    /// (`nn.CosineEmbeddingLoss`).
    CosineEmbeddingLoss[] {margin: f64 = 0.0}
        ["(tensor![[1.0, 0.0]]?, tensor![[0.0, 1.0]]?, tensor![1]?)"] =
        |loss, x, other, target| {
            x.cosine_embedding_loss_with(other, target, loss.margin, loss.reduction)
        };
    /// [`Tensor::triplet_margin_loss`] of anchors, positive and negative vectors as a module
    /// (`nn.TripletMarginLoss`).
    TripletMarginLoss[] {margin: f64 = 1.0, p: f64 = 2.0, swap: bool = false}
        ["(tensor![[1.0]]?, tensor![[0.5]]?, tensor![[2.0]]?)"] =
        |loss, x, positive, negative| {
            x.triplet_margin_loss_with(
                positive, negative, loss.margin, loss.p, loss.swap, loss.reduction,
            )
        };
    /// [`Tensor::multilabel_margin_loss`] of scores and targets as a module
    /// (`nn.MultiLabelMarginLoss`).
    MultiLabelMarginLoss[] {} ["(tensor![[0.5, 0.25]]?, tensor![[1, -1]]?)"] =
        |loss, x, target| x.multilabel_margin_loss_with(target, loss.reduction);
    /// [`Tensor::multi_margin_loss`] of scores and classes as a module (`nn.MultiMarginLoss`).
    MultiMarginLoss[weight] {p: i64 = 1, margin: f64 = 1.0}
        ["(tensor![[0.5, 0.25]]?, tensor![1]?)"] =
        |loss, x, target| {
            let weight = loss.weight.as_ref();
            x.multi_margin_loss_with(target, loss.p, loss.margin, weight, loss.reduction)
        };
    /// [`Tensor::multilabel_soft_margin_loss`] of scores and truth values as a module
    /// (`nn.MultiLabelSoftMarginLoss`).
    MultiLabelSoftMarginLoss[weight] {} ["(tensor![[0.5, 0.25]]?, tensor![[1.0, 0.0]]?)"] =
        |loss, x, target| {
            x.multilabel_soft_margin_loss_with(target, loss.weight.as_ref(), loss.reduction)
        };
    /// [`Tensor::binary_cross_entropy`] of probabilities and truth values as a module
    /// (`nn.BCELoss`).
    BCELoss[weight] {} ["(tensor![0.5, 0.25]?, tensor![1.0, 0.0]?)"] =
        |loss, x, target| {
            x.binary_cross_entropy_with(target, loss.weight.as_ref(), loss.reduction)
        };
    /// [`Tensor::binary_cross_entropy_with_logits`] of scores and truth values as a module
    /// (`nn.BCEWithLogitsLoss`).
    BCEWithLogitsLoss[weight, pos_weight] {} ["(tensor![0.5, 0.25]?, tensor![1.0, 0.0]?)"] =
        |loss, x, target| {
            let (weight, pos_weight) = (loss.weight.as_ref(), loss.pos_weight.as_ref());
            x.binary_cross_entropy_with_logits_with(target, weight, pos_weight, loss.reduction)
        };
    /// [`Tensor::nll_loss`] of log-probabilities and classes as a module (`nn.NLLLoss`).
    NLLLoss[weight] {ignore_index: i64 = -100} ["(tensor![[-0.5, -2.0]]?, tensor![1]?)"] =
        |loss, x, target| {
            x.nll_loss_with(target, loss.weight.as_ref(), loss.ignore_index, loss.reduction)
        };
    /// [`Tensor::cross_entropy`] of scores and classes, or probabilities, as a module
    /// (`nn.CrossEntropyLoss`).
    CrossEntropyLoss[weight] {ignore_index: i64 = -100, label_smoothing: f64 = 0.0}
        ["(tensor![[0.5, 2.0]]?, tensor![1]?)"] =
        |loss, x, target| {
            let (weight, smoothing) = (loss.weight.as_ref(), loss.label_smoothing);
            x.cross_entropy_with(target, weight, loss.ignore_index, smoothing, loss.reduction)
        };
}
