//! Parts that layers of encoder and decoder have in common.

use tensor::{Tensor, TensorOptions};

use super::TransformerOptions;
use crate::{Dropout, Forward, LayerNorm, Linear, Result};

/// A linear layer, with or without a bias.
#[track_caller]
pub(super) fn linear(
    [from, to]: [usize; 2],
    options: &TransformerOptions,
    tensors: TensorOptions,
) -> Result<Linear> {
    let layer = Linear::new_with(from, to, tensors)?;
    Ok(if options.bias { layer } else { layer.without_bias() })
}

/// A normalisation, with or without a bias.
#[track_caller]
pub(super) fn norm(
    size: usize,
    options: &TransformerOptions,
    tensors: TensorOptions,
) -> Result<LayerNorm> {
    let layer = LayerNorm::new_with([size], tensors)?.with_eps(options.layer_norm_eps);
    Ok(if options.bias { layer } else { layer.without_bias() })
}

/// Two linear layers with a function and a dropout between them, and a dropout behind.
#[track_caller]
pub(super) fn feed_forward(
    x: &Tensor,
    [first, second]: [&Linear; 2],
    [between, behind]: [&Dropout; 2],
    options: &TransformerOptions,
) -> Result<Tensor> {
    let hidden = options.activation.of(&first.forward(x)?)?;
    behind.forward(&second.forward(&between.forward(&hidden)?)?)
}
