//! The masks of an attention with several heads.

use tensor::{DType, Error, Result, Tensor};

/// The keys that queries do not see, as PyTorch's `nn.MultiheadAttention` has it: true is hidden, the
/// opposite of [`AttentionOptions::attn_mask`](tensor::AttentionOptions::attn_mask). Floats are added to
/// the scores. `()` stands for none.
///
/// ```
/// use nn::{AttentionMasks, MultiheadAttention, MultiheadOptions};
/// use tensor::{Tensor, tensor};
/// let attention = MultiheadAttention::new(8, 2, MultiheadOptions::new().batch_first(true))?;
/// let x = Tensor::ones([1, 3, 8], ())?;
/// // The sequence has two elements, and what fills it up.
/// let masks = AttentionMasks::new().key_padding_mask(tensor![[false, false, true]]?).causal(true);
/// assert_eq!(attention.attend([&x, &x, &x], &masks, Default::default())?.0.shape(), [1, 3, 8]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AttentionMasks {
    key_padding_mask: Option<Tensor>,
    attn_mask: Option<Tensor>,
    is_causal: bool,
}

impl AttentionMasks {
    /// No masks.
    pub fn new() -> AttentionMasks {
        AttentionMasks::default()
    }

    /// Hides keys of a sequence from all queries: `[batch, keys]`, or `[keys]` without batches.
    pub fn key_padding_mask(mut self, mask: impl Into<Option<Tensor>>) -> AttentionMasks {
        self.key_padding_mask = mask.into();
        self
    }

    /// Hides keys from queries: `[queries, keys]`, or `[batch * heads, queries, keys]`.
    pub fn attn_mask(mut self, mask: impl Into<Option<Tensor>>) -> AttentionMasks {
        self.attn_mask = mask.into();
        self
    }

    /// Hides from each query the keys behind it, without a mask that says so.
    pub fn causal(mut self, is_causal: bool) -> AttentionMasks {
        self.is_causal = is_causal;
        self
    }
}

impl From<()> for AttentionMasks {
    fn from((): ()) -> AttentionMasks {
        AttentionMasks::new()
    }
}

/// The sizes that masks have to fit.
#[derive(Clone, Copy)]
pub(super) struct MaskSizes {
    pub(super) batch: usize,
    pub(super) heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    /// The keys behind those of the sequence, which all queries see.
    pub(super) more: usize,
}

/// All masks together.
pub(super) enum MergedMask {
    None,
    /// The keys behind each query.
    Causal,
    /// Truth values, where true is hidden, or floats that are added; they broadcast to
    /// `[batch, heads, queries, keys]`.
    Of(Tensor),
}

const OP: &str = "MultiheadAttention";

impl AttentionMasks {
    /// All masks together, for keys and values of `like`'s dtype and device.
    ///
    /// # Errors
    /// A mask has another shape, or is neither of truth values nor of floats.
    #[track_caller]
    pub(super) fn merged(&self, sizes: MaskSizes, like: &Tensor) -> Result<MergedMask> {
        let MaskSizes { batch, heads, queries, keys, more } = sizes;
        let mut merged = None;
        if let Some(mask) = &self.key_padding_mask {
            let fits = mask.shape() == [batch, keys] || batch == 1 && mask.shape() == [keys];
            expect("key_padding_mask", mask, fits, "it must be [batch, keys]")?;
            merged = Some(mask.reshape([batch, 1, 1, keys])?);
        }
        if let Some(mask) = &self.attn_mask {
            let is_of_heads = mask.shape() == [batch * heads, queries, keys];
            let fits = is_of_heads || mask.shape() == [queries, keys];
            let why = "it must be [queries, keys] or [batch * heads, queries, keys]";
            expect("attn_mask", mask, fits, why)?;
            let mask = match is_of_heads {
                true => mask.reshape([batch, heads, queries, keys])?,
                false => mask.clone(),
            };
            merged = Some(both(merged, mask, like)?);
        }
        if self.is_causal {
            if merged.is_none() && more == 0 {
                return Ok(MergedMask::Causal);
            }
            let all = Tensor::ones([queries, keys], (DType::Bool, like.device()))?;
            merged = Some(both(merged, all.triu(1)?, like)?);
        }
        let Some(mask) = merged else { return Ok(MergedMask::None) };
        if more == 0 {
            return Ok(MergedMask::Of(mask));
        }
        let mut shape = mask.shape().to_vec();
        *shape.last_mut().expect("it has keys") = more;
        let seen = Tensor::zeros(&shape[..], (mask.dtype(), mask.device()))?;
        Ok(MergedMask::Of(Tensor::cat([&mask, &seen], -1)?))
    }
}

/// # Errors
/// The mask does not fit.
fn expect(argument: &'static str, mask: &Tensor, fits: bool, why: &'static str) -> Result<()> {
    if mask.dtype() != DType::Bool && !mask.dtype().is_float() {
        let arguments = vec![(argument, mask.dtype())];
        let rule = "a mask is of Bool or of floats";
        return Err(Error::DTypeMismatch { op: OP, arguments, rule });
    }
    if fits {
        return Ok(());
    }
    let value = format!("a tensor of shape {:?}", mask.shape());
    Err(Error::InvalidArgument { op: OP, argument, value, why })
}

/// A mask that hides all that two do: of floats, if one of them is.
#[track_caller]
fn both(first: Option<Tensor>, second: Tensor, like: &Tensor) -> Result<Tensor> {
    let Some(first) = first else { return Ok(second) };
    if first.dtype() == DType::Bool && second.dtype() == DType::Bool {
        return first.logical_or(&second);
    }
    added(&first, like)?.add(&added(&second, like)?)
}

/// A mask as floats that are added to scores.
#[track_caller]
pub(super) fn added(mask: &Tensor, like: &Tensor) -> Result<Tensor> {
    match mask.dtype() {
        DType::Bool => Tensor::zeros(mask.shape(), (like.dtype(), like.device()))?
            .masked_fill(mask, f64::NEG_INFINITY),
        _ => mask.to(like.dtype()),
    }
}
