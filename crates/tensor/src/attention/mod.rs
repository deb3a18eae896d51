//! Attention.

mod composed;
mod operands;
mod options;

pub use options::AttentionOptions;

use self::composed::Composed;
use self::operands::AttentionTensors;
use crate::autograd::record;
use crate::dispatch::{
    AttentionKernels, AttentionOutcome, AttentionProblem, attention, attention_backward,
};
use crate::host::attention as kernels;
use crate::ops::autocast;
use crate::random::{RandomDraw, expect};
use crate::{DType, Result, Tensor, is_grad_enabled};

static ATTENTION: AttentionKernels = AttentionKernels::new(kernels::ATTENTION);

const OP: &str = "scaled_dot_product_attention";

/// Attention, of floats only.
impl Tensor {
    /// Attention of these queries, `[.., L, E]`, to keys `[.., S, E]` and their values, `[.., S, Ev]`:
    /// `softmax(scale * query keyᵀ + mask) value`, which is `[.., L, Ev]`. The dimensions before
    /// broadcast; the last of them is that of the heads.
    ///
    /// The scores are never all there: memory grows with `L` and `S`, not with their product, in the
    /// backward pass, too, which computes them anew from one number for each query (T. Dao et al.,
    /// "FlashAttention", 2022). What is dropped is drawn anew as well. Halves are computed in `F32`. A
    /// query that sees no key gives zeros, and gets and gives no gradient. On CUDA the work is
    /// enqueued.
    ///
    /// With a mask that requires gradients, and in a backward pass that is recorded, it is composed of
    /// other operations, and keeps the scores.
    ///
    /// ```
    /// use tensor::{AttentionOptions, tensor};
    /// let (q, k) = (tensor![[1.0], [1.0]]?, tensor![[0.0], [0.0]]?);
    /// let v = tensor![[2.0], [4.0]]?;
    /// let causal = AttentionOptions::new().is_causal(true);
    /// let y = q.scaled_dot_product_attention(&k, &v, causal)?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensors have fewer than two dimensions, sizes that do not fit, or are of different dtypes or
    /// devices, or of no floats; with `enable_gqa`, fewer than three dimensions, or a number of heads
    /// of queries that is no multiple of those of keys and of values. The mask is neither of truth
    /// values, nor of `F32` nor the dtype of the queries, does not broadcast to the scores, or is given
    /// together with `is_causal`. The probability lies outside [0, 1].
    #[track_caller]
    pub fn scaled_dot_product_attention(
        &self,
        key: &Tensor,
        value: &Tensor,
        options: impl Into<AttentionOptions>,
    ) -> Result<Tensor> {
        let options = options.into();
        let p = options.dropout_p;
        expect(OP, "dropout_p", p, (0.0..=1.0).contains(&p), "it must lie in [0, 1]")?;
        let cast = autocast(OP, [self, key, value])?;
        let tensors = AttentionTensors::new(cast.operands(), &options)?;
        let AttentionTensors { q, k, v, mask, .. } = &tensors;
        let next_draw = || RandomDraw::next(q.resolved_device());
        let depth = q.shape()[3];
        let attending = Attending {
            // Products of nothing are zero, whatever they are multiplied with.
            scale: options.scale.unwrap_or_else(|| 1.0 / (depth.max(1) as f64).sqrt()),
            is_causal: options.is_causal,
            dropout: (p > 0.0).then(next_draw).transpose()?.map(|draw| (draw, p)),
        };
        let is_recorded = is_grad_enabled() && mask.as_ref().is_some_and(Tensor::requires_grad);
        let result = if is_recorded && k.shape()[2] > 0 {
            Composed::new(&attending, [q, k, v], mask.as_ref())?.result()?.to(q.dtype())?
        } else {
            attending.fused([q, k, v], mask.as_ref().map(Tensor::detach))?
        };
        tensors.finish(&result)
    }
}

/// A call of attention without its tensors: all that its scores have in common.
#[derive(Clone)]
struct Attending {
    scale: f64,
    is_causal: bool,
    /// The draw, and the probability to be dropped.
    dropout: Option<(RandomDraw, f64)>,
}

impl Attending {
    /// The results of tensors with four dimensions, `[batch, heads, queries, columns]`.
    #[track_caller]
    fn fused(&self, [q, k, v]: [&Tensor; 3], mask: Option<Tensor>) -> Result<Tensor> {
        let [output, log_sum] = {
            let [q, k, v] = [computable(q)?, computable(k)?, computable(v)?];
            attention(&ATTENTION, &self.problem([&q, &k, &v], mask.as_ref()))?
        };
        let output = by_position(&output, |x| x.to(q.dtype()))?;
        Ok(record(OP, [q, k, v], output, |saving| {
            let attending = self.clone();
            let operands = [q, k, v].map(|tensor| saving.save(tensor));
            let (output, log_sum) = (saving.save_output(), saving.save(&log_sum));
            let mask = mask.map(|mask| saving.save(&mask));
            move |grad: &Tensor, needs| {
                let [q, k, v] = &operands;
                let operands = [&q.get()?, &k.get()?, &v.get()?];
                let mask = mask.as_ref().map(|mask| mask.get()).transpose()?;
                if is_grad_enabled() && operands[1].numel() > 0 {
                    let composed = Composed::new(&attending, operands, mask.as_ref())?;
                    return composed.gradients(grad, needs);
                }
                let outcome = [&output.get()?, grad, &log_sum.get()?];
                attending.gradients(operands, mask.as_ref(), outcome, needs)
            }
        }))
    }

    /// The gradients that are needed, from the result, its gradient, and the logarithms of sums.
    #[track_caller]
    fn gradients(
        &self,
        operands: [&Tensor; 3],
        mask: Option<&Tensor>,
        [out, grad, log_sum]: [&Tensor; 3],
        needs: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let [q, k, v] = operands;
        if [q, k, v, out].iter().any(|tensor| tensor.numel() == 0) {
            let mut gradients = [const { None }; 3];
            for ((slot, tensor), needs) in gradients.iter_mut().zip(operands).zip(needs) {
                let zeros = || Tensor::zeros(tensor.shape(), (tensor.dtype(), tensor.device()));
                *slot = needs.then(zeros).transpose()?;
            }
            return Ok(gradients);
        }
        let [q, k, v] = [computable(q)?, computable(k)?, computable(v)?];
        let (out, grad) = (by_position(out, computable)?, computable(grad)?);
        let outcome = AttentionOutcome { out: &out, grad: &grad, log_sum };
        attention_backward(&ATTENTION, &self.problem([&q, &k, &v], mask), outcome, needs)
    }

    fn problem<'a>(
        &'a self,
        [q, k, v]: [&'a Tensor; 3],
        mask: Option<&'a Tensor>,
    ) -> AttentionProblem<'a> {
        let dropout = self.dropout.as_ref().map(|(draw, p)| draw.of_attention(1.0 - p));
        let Attending { scale, is_causal, .. } = *self;
        AttentionProblem { q, k, v, mask, dropout, scale, is_causal }
    }
}

/// A tensor as kernels take it, without history: the elements of its rows are neighbours, and halves
/// are singles on the CPU.
#[track_caller]
fn computable(x: &Tensor) -> Result<Tensor> {
    let is_half = matches!(x.dtype(), DType::F16 | DType::BF16);
    let x = x.detach();
    if is_half && !x.is_cuda() {
        return x.to(DType::F32)?.contiguous_rows();
    }
    x.contiguous_rows()
}

/// A result, converted so that it lies as `[batch, position, head, element]`, as kernels have it.
#[track_caller]
fn by_position(x: &Tensor, convert: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let swapped = |x: &Tensor| x.alias(Ok(x.layout().transpose(1, 2)));
    swapped(&convert(&swapped(x)?)?.contiguous()?)
}

impl Tensor {
    /// The tensor itself if the elements of its last dimension are neighbours, else a copy.
    #[track_caller]
    fn contiguous_rows(&self) -> Result<Tensor> {
        let last = self.dims() - 1;
        let is_dense = self.strides()[last] == 1 || self.shape()[last] <= 1;
        if is_dense { Ok(self.clone()) } else { self.contiguous() }
    }
}
