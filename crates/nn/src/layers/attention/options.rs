//! The options of attention with several heads.

/// The options of [`MultiheadAttention`](crate::MultiheadAttention), which begin as PyTorch's: no
/// dropout, biases, keys and values of the size of the queries, and `[position, batch, element]` as
/// the order of dimensions. `()` stands for these.
///
/// ```
/// use nn::{MultiheadAttention, MultiheadOptions};
/// let options = MultiheadOptions::new().dropout(0.1).batch_first(true).kdim(20);
/// let attention = MultiheadAttention::new(32, 4, options)?;
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultiheadOptions {
    pub(super) dropout: f64,
    pub(super) bias: bool,
    pub(super) add_bias_kv: bool,
    pub(super) add_zero_attn: bool,
    pub(super) kdim: Option<usize>,
    pub(super) vdim: Option<usize>,
    pub(super) batch_first: bool,
}

impl MultiheadOptions {
    /// PyTorch's defaults.
    pub fn new() -> MultiheadOptions {
        MultiheadOptions::default()
    }

    /// The probability with which the share of a query in a value is dropped in training.
    pub fn dropout(mut self, dropout: f64) -> MultiheadOptions {
        self.dropout = dropout;
        self
    }

    /// Whether the projections have biases.
    pub fn bias(mut self, bias: bool) -> MultiheadOptions {
        self.bias = bias;
        self
    }

    /// Whether a learned key and value stand behind those of each sequence.
    pub fn add_bias_kv(mut self, add: bool) -> MultiheadOptions {
        self.add_bias_kv = add;
        self
    }

    /// Whether a key and a value of zeros stand behind those of each sequence.
    pub fn add_zero_attn(mut self, add: bool) -> MultiheadOptions {
        self.add_zero_attn = add;
        self
    }

    /// The number of elements of a key, if it is not that of a query.
    pub fn kdim(mut self, kdim: impl Into<Option<usize>>) -> MultiheadOptions {
        self.kdim = kdim.into();
        self
    }

    /// The number of elements of a value, if it is not that of a query.
    pub fn vdim(mut self, vdim: impl Into<Option<usize>>) -> MultiheadOptions {
        self.vdim = vdim.into();
        self
    }

    /// Whether sequences are `[batch, position, element]` instead of `[position, batch, element]`.
    pub fn batch_first(mut self, batch_first: bool) -> MultiheadOptions {
        self.batch_first = batch_first;
        self
    }
}

impl Default for MultiheadOptions {
    fn default() -> MultiheadOptions {
        MultiheadOptions {
            dropout: 0.0,
            bias: true,
            add_bias_kv: false,
            add_zero_attn: false,
            kdim: None,
            vdim: None,
            batch_first: false,
        }
    }
}

impl From<()> for MultiheadOptions {
    fn from((): ()) -> MultiheadOptions {
        MultiheadOptions::new()
    }
}

/// The weights that a call of [`MultiheadAttention`](crate::MultiheadAttention) gives beside its output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttentionWeights {
    /// None, so that the scores are never all there.
    #[default]
    None,
    /// Their mean over the heads, `[batch, queries, keys]` (PyTorch's `need_weights`).
    Averaged,
    /// All of them, for each head, `[batch, heads, queries, keys]` (`average_attn_weights=False`).
    OfHeads,
}
