//! The options of attention.

use crate::Tensor;

/// The options of [`Tensor::scaled_dot_product_attention`], which begin as PyTorch's: no mask, no
/// dropout, all keys are seen, the scale is `1 / sqrt(E)`, and each head has its own keys. `()` stands
/// for these.
///
/// ```
/// use tensor::{AttentionOptions, Tensor};
/// let x = Tensor::ones([2, 8, 10, 16], ())?;
/// let y = x.scaled_dot_product_attention(&x, &x, AttentionOptions::new().is_causal(true))?;
/// assert_eq!(y.shape(), [2, 8, 10, 16]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AttentionOptions {
    pub(super) attn_mask: Option<Tensor>,
    pub(super) dropout_p: f64,
    pub(super) is_causal: bool,
    pub(super) scale: Option<f64>,
    pub(super) enable_gqa: bool,
}

impl AttentionOptions {
    /// PyTorch's defaults.
    pub fn new() -> AttentionOptions {
        AttentionOptions::default()
    }

    /// A mask that broadcasts to the scores, `[.., L, S]`: truth values that say which keys a query
    /// sees, or floats that are added to the scores.
    pub fn attn_mask(mut self, attn_mask: impl Into<Option<Tensor>>) -> AttentionOptions {
        self.attn_mask = attn_mask.into();
        self
    }

    /// The probability with which the share of a query in a value is dropped; the others are scaled by
    /// `1 / (1 - dropout_p)`. It drops whenever it is not 0: a module gives 0 when it does not train.
    pub fn dropout_p(mut self, dropout_p: f64) -> AttentionOptions {
        self.dropout_p = dropout_p;
        self
    }

    /// Whether query `i` sees the keys up to `i` only, counted from the first of both.
    pub fn is_causal(mut self, is_causal: bool) -> AttentionOptions {
        self.is_causal = is_causal;
        self
    }

    /// The factor of the products of queries and keys.
    pub fn scale(mut self, scale: impl Into<Option<f64>>) -> AttentionOptions {
        self.scale = scale.into();
        self
    }

    /// Whether keys and values may have fewer heads (the third dimension from the end) than queries,
    /// of which each then serves as many neighbouring heads.
    pub fn enable_gqa(mut self, enable_gqa: bool) -> AttentionOptions {
        self.enable_gqa = enable_gqa;
        self
    }
}

impl From<()> for AttentionOptions {
    fn from((): ()) -> AttentionOptions {
        AttentionOptions::new()
    }
}
