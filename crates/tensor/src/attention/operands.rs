//! The operands of an attention, brought to four dimensions.

use super::{AttentionOptions, OP};
use crate::{DType, Error, Result, Shape, Tensor, dispatch};

/// Queries, keys and values of `[batch, heads, position, element]`, with as many heads of keys as of
/// values, and a mask of `[batch, heads, queries, keys]`, of truth values or the dtype that the scores
/// are computed in.
pub(super) struct AttentionTensors {
    pub(super) q: Tensor,
    pub(super) k: Tensor,
    pub(super) v: Tensor,
    pub(super) mask: Option<Tensor>,
    /// The shape of the result.
    shape: Shape,
}

impl AttentionTensors {
    /// # Errors
    /// The tensors do not fit together.
    #[track_caller]
    pub(super) fn new(
        tensors: [&Tensor; 3],
        options: &AttentionOptions,
    ) -> Result<AttentionTensors> {
        check(tensors, options)?;
        let [q, k, v] = tensors;
        let kept = if options.enable_gqa { 3 } else { 2 };
        let heads = |tensor: &Tensor| tensor.shape()[tensor.dims() - 3];
        let repeated = |tensor: &Tensor| match options.enable_gqa && heads(k) != heads(v) {
            true => tensor.repeat_interleave(heads(q) / heads(tensor), Some(-3)),
            false => Ok(tensor.clone()),
        };
        let (k, v) = (repeated(k)?, repeated(v)?);
        let outer = |tensor: &Tensor| Shape::from(&tensor.shape()[..tensor.dims() - kept]);
        let batch = outer(q).broadcast(&outer(&k)).and_then(|both| both.broadcast(&outer(&v)));
        let batch = batch.ok_or_else(|| {
            mismatch(tensors, "the dimensions before the last two must broadcast; see enable_gqa")
        })?;
        let full = |tensor: &Tensor| -> Result<Tensor> {
            let own = &tensor.shape()[tensor.dims() - kept..];
            let shape: Shape = batch.iter().chain(own).copied().collect();
            four_dimensions(&expanded(tensor, shape)?)
        };
        let (query_rows, columns) = (q.shape()[q.dims() - 2], v.shape()[v.dims() - 1]);
        let mut shape = batch.to_vec();
        if options.enable_gqa {
            shape.push(heads(q));
        }
        let mask = options.attn_mask.as_ref().map(|mask| {
            let sizes = [query_rows, k.shape()[k.dims() - 2]];
            let shape = shape.iter().copied().chain(sizes).collect();
            four_dimensions(&expanded(&mask_for(mask, q)?, shape)?)
        });
        shape.extend([query_rows, columns]);
        Ok(AttentionTensors {
            q: full(q)?,
            k: full(&k)?,
            v: full(&v)?,
            mask: mask.transpose()?,
            shape: shape.into(),
        })
    }

    /// A result of four dimensions in the shape that is asked for.
    #[track_caller]
    pub(super) fn finish(&self, result: &Tensor) -> Result<Tensor> {
        if result.shape() == &self.shape[..] {
            return Ok(result.clone());
        }
        result.reshape(self.shape.clone())
    }
}

/// # Errors
/// The tensors and options do not fit together.
fn check(tensors: [&Tensor; 3], options: &AttentionOptions) -> Result<()> {
    let [q, k, v] = tensors;
    let named = [("query", q), ("key", k), ("value", v)];
    dispatch::same_device(OP, &named)?;
    dispatch::same_dtype(OP, &named)?;
    q.expect_floats(OP)?;
    let least = if options.enable_gqa { 3 } else { 2 };
    if tensors.iter().any(|tensor| tensor.dims() < least) {
        return Err(mismatch(
            tensors,
            match options.enable_gqa {
                true => "with enable_gqa each must be [.., heads, position, element]",
                false => "each must be [.., position, element]",
            },
        ));
    }
    let size = |tensor: &Tensor, from_end: usize| tensor.shape()[tensor.dims() - from_end];
    if size(q, 1) != size(k, 1) {
        return Err(mismatch(tensors, "queries and keys must have equally many elements"));
    }
    if size(k, 2) != size(v, 2) {
        return Err(mismatch(tensors, "there must be as many keys as values"));
    }
    let divides = |heads: usize| heads > 0 && size(q, 3).is_multiple_of(heads);
    if options.enable_gqa && !(divides(size(k, 3)) && divides(size(v, 3))) {
        let rule = "the heads of keys and of values must divide those of queries";
        return Err(mismatch(tensors, rule));
    }
    check_mask(q, options)
}

/// # Errors
/// The mask is of another device or dtype than it may, or stands beside `is_causal`.
fn check_mask(q: &Tensor, options: &AttentionOptions) -> Result<()> {
    let Some(mask) = &options.attn_mask else { return Ok(()) };
    dispatch::same_device(OP, &[("query", q), ("attn_mask", mask)])?;
    if options.is_causal {
        let value = format!("a tensor of shape {:?}", mask.shape());
        let why = "there is none beside is_causal; a mask can have that, too";
        return Err(Error::InvalidArgument { op: OP, argument: "attn_mask", value, why });
    }
    if ![DType::Bool, DType::F32, q.dtype()].contains(&mask.dtype()) {
        let arguments = vec![("query", q.dtype()), ("attn_mask", mask.dtype())];
        let rule = "the mask must be of Bool, F32 or the dtype of the queries";
        return Err(Error::DTypeMismatch { op: OP, arguments, rule });
    }
    Ok(())
}

/// Floats in the dtype that their scores are computed in.
#[track_caller]
pub(super) fn in_dtype_of_scores(x: &Tensor) -> Result<Tensor> {
    x.to(if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 })
}

/// A mask of truth values as it is, one of floats in the dtype that the scores of `q` are computed in.
#[track_caller]
fn mask_for(mask: &Tensor, q: &Tensor) -> Result<Tensor> {
    match (mask.dtype(), q.dtype()) {
        (DType::Bool, _) => Ok(mask.clone()),
        (_, DType::F64) => mask.to(DType::F64),
        _ => mask.to(DType::F32),
    }
}

#[track_caller]
fn expanded(tensor: &Tensor, shape: Shape) -> Result<Tensor> {
    if tensor.shape() == &shape[..] { Ok(tensor.clone()) } else { tensor.expand(shape) }
}

/// `[.., head, position, element]` as `[batch, head, position, element]`.
#[track_caller]
fn four_dimensions(tensor: &Tensor) -> Result<Tensor> {
    let sizes = tensor.shape();
    match sizes.len() {
        4 => Ok(tensor.clone()),
        2 => tensor.unsqueeze(0)?.unsqueeze(0),
        3 => tensor.unsqueeze(0),
        dims => {
            let (outer, last) = sizes.split_at(dims - 3);
            tensor.reshape([outer.iter().product(), last[0], last[1], last[2]])
        }
    }
}

fn mismatch(tensors: [&Tensor; 3], rule: &'static str) -> Error {
    let names = ["query", "key", "value"];
    let shape = |tensor: &Tensor| tensor.layout().shape().clone();
    let shapes = names.into_iter().zip(tensors.map(shape)).collect();
    Error::ShapeMismatch { op: OP, shapes, rule }
}
