//! Attention with several heads.

mod masks;
mod options;

use tensor::{AttentionOptions, DType, Error, Tensor, TensorOptions};

pub use masks::AttentionMasks;
use masks::{MaskSizes, MergedMask, added};
pub use options::{AttentionWeights, MultiheadOptions};

use super::dropouts::expect_probability;
use super::linear::Linear;
use crate::{Forward, Module, Result, init};

/// Attention with several heads (`nn.MultiheadAttention`): A. Vaswani et al., "Attention Is All You
/// Need" (2017).
///
/// Queries, keys and values are projected to `embed_dim` elements, of which each head has its part;
/// what the heads give beside each other is projected once more. They are `[position, batch, element]`,
/// or `[batch, position, element]` with [`batch_first`](MultiheadOptions::batch_first), or
/// `[position, element]` of a single sequence, and so is the output.
///
/// [`Forward`] gives the output alone (PyTorch's `need_weights=False`), whose scores are never all
/// there ([`Tensor::scaled_dot_product_attention`]); [`attend`](MultiheadAttention::attend) takes masks
/// and gives weights, too.
#[derive(Clone, Debug, Module)]
pub struct MultiheadAttention {
    in_proj_weight: Option<Tensor>,
    q_proj_weight: Option<Tensor>,
    k_proj_weight: Option<Tensor>,
    v_proj_weight: Option<Tensor>,
    in_proj_bias: Option<Tensor>,
    bias_k: Option<Tensor>,
    bias_v: Option<Tensor>,
    out_proj: Linear,
    #[module(skip)]
    embed_dim: usize,
    #[module(skip)]
    num_heads: usize,
    #[module(skip)]
    options: MultiheadOptions,
    #[module(training)]
    training: bool,
}

const OP: &str = "MultiheadAttention";

impl MultiheadAttention {
    /// A layer on the default device, with the default dtype and PyTorch's initial values.
    ///
    /// # Errors
    /// A size is 0, the number of heads does not divide `embed_dim`, `dropout` is no probability, or
    /// memory is short.
    ///
    /// ```
    /// use nn::{Forward, MultiheadAttention};
    /// use tensor::Tensor;
    /// let attention = MultiheadAttention::new(16, 4, ())?;
    /// let (x, memory) = (Tensor::ones([5, 2, 16], ())?, Tensor::ones([7, 2, 16], ())?);
    /// let y = attention.forward(&(x, memory.clone(), memory))?;
    /// assert_eq!(y.shape(), [5, 2, 16]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(
        embed_dim: usize,
        num_heads: usize,
        options: impl Into<MultiheadOptions>,
    ) -> Result<MultiheadAttention> {
        MultiheadAttention::new_with(embed_dim, num_heads, options, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// As [`MultiheadAttention::new`]; the dtype is no floating one, or the device does not exist.
    #[track_caller]
    pub fn new_with(
        embed_dim: usize,
        num_heads: usize,
        options: impl Into<MultiheadOptions>,
        tensors: impl Into<TensorOptions>,
    ) -> Result<MultiheadAttention> {
        let (options, tensors) = (options.into(), tensors.into());
        check(embed_dim, num_heads, &options)?;
        let [kdim, vdim] = [options.kdim, options.vdim].map(|size| size.unwrap_or(embed_dim));
        let is_packed = kdim == embed_dim && vdim == embed_dim;
        let weight = |is_there: bool, rows: usize, columns: usize| {
            let new = || init::xavier_uniform_(&parameter(&[rows, columns], tensors)?, 1.0);
            is_there.then(new).transpose()
        };
        let extra = |is_there: bool| {
            let new = || init::xavier_normal_(&parameter(&[1, 1, embed_dim], tensors)?, 1.0);
            is_there.then(new).transpose()
        };
        let zeros = || parameter(&[embed_dim.saturating_mul(3)], tensors);
        let out_proj = Linear::new_with(embed_dim, embed_dim, tensors)?;
        if let Some(bias) = out_proj.bias() {
            init::zeros_(bias)?;
        }
        Ok(MultiheadAttention {
            in_proj_weight: weight(is_packed, embed_dim.saturating_mul(3), embed_dim)?,
            q_proj_weight: weight(!is_packed, embed_dim, embed_dim)?,
            k_proj_weight: weight(!is_packed, embed_dim, kdim)?,
            v_proj_weight: weight(!is_packed, embed_dim, vdim)?,
            in_proj_bias: options.bias.then(zeros).transpose()?,
            bias_k: extra(options.add_bias_kv)?,
            bias_v: extra(options.add_bias_kv)?,
            out_proj: if options.bias { out_proj } else { out_proj.without_bias() },
            embed_dim,
            num_heads,
            options,
            training: true,
        })
    }

    /// The output for queries, keys and values, and the weights that were asked for.
    ///
    /// ```
    /// use nn::{AttentionMasks, AttentionWeights, MultiheadAttention};
    /// use tensor::Tensor;
    /// let attention = MultiheadAttention::new(16, 4, ())?;
    /// let x = Tensor::ones([5, 2, 16], ())?;
    /// let masks = AttentionMasks::new().causal(true);
    /// let (_, weights) = attention.attend([&x, &x, &x], &masks, AttentionWeights::Averaged)?;
    /// assert_eq!(weights.expect("they were asked for").shape(), [2, 5, 5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The inputs have sizes, dtypes or devices that do not fit each other, the layer, or the masks.
    #[track_caller]
    pub fn attend(
        &self,
        inputs: [&Tensor; 3],
        masks: &AttentionMasks,
        weights: AttentionWeights,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let is_batched = self.check_inputs(inputs)?;
        let [q, k, v] = self.projected(inputs)?;
        let [q, mut k, mut v] =
            [self.heads(&q, is_batched)?, self.heads(&k, is_batched)?, self.heads(&v, is_batched)?];
        let &[batch, heads, queries, depth] = q.shape() else {
            unreachable!("it has four dimensions")
        };
        let keys = k.shape()[2];
        if let (Some(bias_k), Some(bias_v)) = (&self.bias_k, &self.bias_v) {
            let row = |bias: &Tensor| {
                bias.reshape([1, heads, 1, depth])?.expand([batch, heads, 1, depth])
            };
            k = Tensor::cat([&k, &row(bias_k)?], 2)?;
            v = Tensor::cat([&v, &row(bias_v)?], 2)?;
        }
        if self.options.add_zero_attn {
            let zeros = Tensor::zeros([batch, heads, 1, depth], (k.dtype(), k.device()))?;
            k = Tensor::cat([&k, &zeros], 2)?;
            v = Tensor::cat([&v, &zeros], 2)?;
        }
        let more = k.shape()[2] - keys;
        let mask = masks.merged(MaskSizes { batch, heads, queries, keys, more }, &q)?;
        let (output, shares) = match weights {
            AttentionWeights::None => (self.fused([&q, &k, &v], mask)?, None),
            _ => {
                let (output, shares) = self.with_shares([&q, &k, &v], mask)?;
                let is_averaged = weights == AttentionWeights::Averaged;
                (output, Some(if is_averaged { shares.mean(1)? } else { shares }))
            }
        };
        let output = self.out_proj.forward(&self.joined(&output, is_batched)?)?;
        let unbatched = |shares: Tensor| if is_batched { Ok(shares) } else { shares.squeeze(0) };
        Ok((output, shares.map(unbatched).transpose()?))
    }

    /// Whether the inputs have batches.
    ///
    /// # Errors
    /// They have other than two or three dimensions, or not equally many.
    fn check_inputs(&self, inputs: [&Tensor; 3]) -> Result<bool> {
        let [dims, keys, values] = inputs.map(Tensor::dims);
        let [kdim, vdim] = [self.options.kdim, self.options.vdim];
        let sizes =
            [Some(self.embed_dim), kdim.or(Some(self.embed_dim)), vdim.or(Some(self.embed_dim))];
        let fit =
            inputs.iter().zip(sizes).all(|(input, size)| input.shape().last().copied() == size);
        if (2..=3).contains(&dims) && keys == dims && values == dims && fit {
            return Ok(dims == 3);
        }
        let names = ["query", "key", "value"];
        let shapes = names.into_iter().zip(inputs.map(|input| input.shape().into())).collect();
        let rule = "each must be [position, element], with batches if the others have them, and with as \
                    many elements as the layer is made for";
        Err(Error::ShapeMismatch { op: OP, shapes, rule })
    }

    /// Queries, keys and values after their projections.
    #[track_caller]
    fn projected(&self, [q, k, v]: [&Tensor; 3]) -> Result<[Tensor; 3]> {
        let (size, bias) = (self.embed_dim, self.in_proj_bias.as_ref());
        let Some(weight) = &self.in_proj_weight else {
            let weights = [&self.q_proj_weight, &self.k_proj_weight, &self.v_proj_weight];
            let mut projected = Vec::with_capacity(3);
            for (part, (input, weight)) in [q, k, v].into_iter().zip(weights).enumerate() {
                let weight = weight.as_ref().expect("there are three weights or one");
                let bias = bias.map(|bias| bias.narrow(0, part * size, size)).transpose()?;
                projected.push(input.linear(weight, bias.as_ref())?);
            }
            return Ok(projected.try_into().expect("there are three"));
        };
        let project = |input: &Tensor, first: usize, parts: usize| {
            let rows = |tensor: &Tensor| match parts {
                3 => Ok(tensor.clone()),
                _ => tensor.narrow(0, first * size, parts * size),
            };
            let all = input.linear(&rows(weight)?, bias.map(rows).transpose()?.as_ref())?;
            if parts == 1 { Ok(vec![all]) } else { all.split_with_sizes(&vec![size; parts], -1) }
        };
        // One product for inputs that are one tensor.
        let parts = match (q.id() == k.id(), k.id() == v.id()) {
            (true, true) => project(q, 0, 3)?,
            (false, true) => [project(q, 0, 1)?, project(k, 1, 2)?].concat(),
            _ => [project(q, 0, 1)?, project(k, 1, 1)?, project(v, 2, 1)?].concat(),
        };
        Ok(parts.try_into().expect("there are three"))
    }

    /// Projected elements as `[batch, head, position, element]`.
    #[track_caller]
    fn heads(&self, x: &Tensor, is_batched: bool) -> Result<Tensor> {
        let (heads, depth) = (self.num_heads, self.embed_dim / self.num_heads);
        match (is_batched, x.shape()) {
            (false, &[positions, _]) => x.reshape([1, positions, heads, depth])?.transpose(1, 2),
            (_, &[first, second, _]) => {
                let split = x.reshape([first, second, heads, depth])?;
                match self.options.batch_first {
                    true => split.transpose(1, 2),
                    false => split.permute([1, 2, 0, 3]),
                }
            }
            _ => unreachable!("it has two or three dimensions"),
        }
    }

    /// The results of heads beside each other, in the order of the inputs' dimensions.
    #[track_caller]
    fn joined(&self, x: &Tensor, is_batched: bool) -> Result<Tensor> {
        let &[batch, _, positions, _] = x.shape() else { unreachable!("it has four dimensions") };
        let size = self.embed_dim;
        match (is_batched, self.options.batch_first) {
            (false, _) => x.transpose(1, 2)?.reshape([positions, size]),
            (true, true) => x.transpose(1, 2)?.reshape([batch, positions, size]),
            (true, false) => x.permute([2, 0, 1, 3])?.reshape([positions, batch, size]),
        }
    }

    fn dropout_p(&self) -> f64 {
        if self.training { self.options.dropout } else { 0.0 }
    }

    /// The results of heads, without their shares.
    #[track_caller]
    fn fused(&self, [q, k, v]: [&Tensor; 3], mask: MergedMask) -> Result<Tensor> {
        let options = AttentionOptions::new().dropout_p(self.dropout_p());
        let options = match mask {
            MergedMask::None => options,
            MergedMask::Causal => options.is_causal(true),
            MergedMask::Of(mask) if mask.dtype() == DType::Bool => {
                options.attn_mask(mask.logical_not()?)
            }
            MergedMask::Of(mask) => options.attn_mask(added(&mask, q)?),
        };
        q.scaled_dot_product_attention(k, v, options)
    }

    /// The results of heads, and the shares of queries in values.
    #[track_caller]
    fn with_shares(&self, [q, k, v]: [&Tensor; 3], mask: MergedMask) -> Result<(Tensor, Tensor)> {
        let scale = 1.0 / (q.shape()[3] as f64).sqrt();
        let scores = q.mul(scale)?.matmul(&k.mt()?)?;
        // What is added is not kept for the gradient; a mask that fills would be.
        let scores = match mask {
            MergedMask::None => scores,
            MergedMask::Causal => {
                let all = Tensor::ones(&scores.shape()[2..], (DType::Bool, q.device()))?;
                scores.add(&added(&all.triu(1)?, q)?)?
            }
            MergedMask::Of(mask) => scores.add(&added(&mask, q)?)?,
        };
        let shares = scores.softmax(-1)?.dropout(self.dropout_p(), true)?;
        Ok((shares.matmul(v)?, shares))
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for MultiheadAttention {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (query, key, value): &(Tensor, Tensor, Tensor)) -> Result<Tensor> {
        let masks = AttentionMasks::new();
        Ok(self.attend([query, key, value], &masks, AttentionWeights::None)?.0)
    }
}

/// A parameter of zeros.
#[track_caller]
fn parameter(shape: &[usize], tensors: TensorOptions) -> Result<Tensor> {
    Tensor::zeros(shape, tensors.requires_grad(true))
}

/// # Errors
/// A size or the probability is out of its range.
fn check(embed_dim: usize, num_heads: usize, options: &MultiheadOptions) -> Result<()> {
    expect_probability(OP, options.dropout)?;
    if num_heads == 0 || embed_dim == 0 || !embed_dim.is_multiple_of(num_heads) {
        let value = format!("{num_heads} for an embed_dim of {embed_dim}");
        let why = "both must be greater than zero, and the heads must divide embed_dim";
        return Err(Error::InvalidArgument { op: OP, argument: "num_heads", value, why });
    }
    Ok(())
}
