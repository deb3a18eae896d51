//! Attention of recorded operations: for the gradient of a mask, and for gradients of gradients.

use crate::dims::keepdim;
use crate::random::dropout_factors;
use crate::{DType, Result, Shape, Tensor};

use super::Attending;
use super::operands::in_dtype_of_scores;

/// An attention of recorded operations, whose tensors are of four dimensions and the dtype that they
/// are computed in. Heads of queries that share keys are in a dimension of their own.
pub(super) struct Composed<'a> {
    attending: &'a Attending,
    /// `[batch, kv_heads, group, queries, depth]`
    q: Tensor,
    /// `[batch, kv_heads, 1, keys, depth]`
    k: Tensor,
    /// `[batch, kv_heads, 1, keys, columns]`
    v: Tensor,
    /// The share of each query in each value.
    shares: Tensor,
    /// The factors of dropout.
    factors: Option<Tensor>,
}

impl<'a> Composed<'a> {
    #[track_caller]
    pub(super) fn new(
        attending: &'a Attending,
        [q, k, v]: [&Tensor; 3],
        mask: Option<&Tensor>,
    ) -> Result<Composed<'a>> {
        let heads = k.shape()[1];
        let (q, k, v) = (
            in_groups(&in_dtype_of_scores(q)?, heads)?,
            in_groups(&in_dtype_of_scores(k)?, heads)?,
            in_groups(&in_dtype_of_scores(v)?, heads)?,
        );
        let mut scores = q.matmul(&k.mt()?)?.mul(attending.scale)?;
        let hidden = |scores: &Tensor, seen: &Tensor| {
            scores.masked_fill(&seen.logical_not()?, f64::NEG_INFINITY)
        };
        let sizes = scores.shape().to_vec();
        if attending.is_causal {
            let all = Tensor::ones(Shape::from(&sizes[3..]), (DType::Bool, q.device()))?;
            scores = hidden(&scores, &all.tril(0)?)?;
        }
        if let Some(mask) = mask {
            let mask = in_groups(mask, heads)?;
            scores = match mask.dtype() {
                DType::Bool => hidden(&scores, &mask)?,
                _ => scores.add(&mask)?,
            };
        }
        let factors = |(draw, p): &(_, f64)| {
            // Whole blocks of random words for each query, as the kernels have them.
            let keys = sizes[4].next_multiple_of(4);
            let shape = Shape::from([sizes[0], sizes[1], sizes[2], sizes[3], keys]);
            dropout_factors(shape, &scores, *p, draw)?.narrow(-1, 0, sizes[4])
        };
        let factors = attending.dropout.as_ref().map(factors).transpose()?;
        let shares = shares(&scores)?;
        Ok(Composed { attending, q, k, v, shares, factors })
    }

    /// The results, `[batch, heads, queries, columns]`.
    #[track_caller]
    pub(super) fn result(&self) -> Result<Tensor> {
        let result = self.dropped(&self.shares)?.matmul(&self.v)?;
        result.flatten_dims(1, 2)
    }

    /// The gradients of queries, keys and values that are needed.
    #[track_caller]
    pub(super) fn gradients(
        &self,
        grad: &Tensor,
        [of_q, of_k, of_v]: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let grad = in_groups(&in_dtype_of_scores(grad)?, self.k.shape()[1])?;
        let of_shared = |gradient: Tensor| gradient.sum(2);
        let of_values = || of_shared(self.dropped(&self.shares)?.mt()?.matmul(&grad)?);
        let v = of_v.then(of_values).transpose()?;
        if !of_q && !of_k {
            return Ok([None, None, v]);
        }
        let of_shares = self.dropped(&grad.matmul(&self.v.mt()?)?)?;
        let mean = of_shares.mul(&self.shares)?.sum(keepdim(-1))?;
        let slopes = of_shares.sub(&mean)?.mul(&self.shares)?.mul(self.attending.scale)?;
        let of_queries = || slopes.matmul(&self.k)?.flatten_dims(1, 2);
        let q = of_q.then(of_queries).transpose()?;
        let k = of_k.then(|| of_shared(slopes.mt()?.matmul(&self.q)?)).transpose()?;
        Ok([q, k, v])
    }

    /// Shares less what is dropped.
    #[track_caller]
    fn dropped(&self, shares: &Tensor) -> Result<Tensor> {
        self.factors.as_ref().map_or_else(|| Ok(shares.clone()), |factors| shares.mul(factors))
    }
}

/// `[batch, heads, ..]` as `[batch, groups, heads / groups, ..]`.
#[track_caller]
fn in_groups(x: &Tensor, groups: usize) -> Result<Tensor> {
    let &[batch, heads, rows, columns] = x.shape() else { unreachable!("it has four dimensions") };
    x.reshape([batch, groups, heads / groups.max(1), rows, columns])
}

/// Softmax of scores, but zeros for a query that sees no key.
#[track_caller]
fn shares(scores: &Tensor) -> Result<Tensor> {
    let sees_nothing = scores.detach().amax(keepdim(-1))?.eq(f64::NEG_INFINITY)?;
    scores.masked_fill(&sees_nothing, 0.0)?.softmax(-1)?.masked_fill(&sees_nothing, 0.0)
}
