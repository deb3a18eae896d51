//! Quantiles, groups, searches, counts and reductions to indices.

use tensor::{MatrixNorm, QuantileInterpolation, ScatterReduction, UniqueElements};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::Tensor::quantile", "tensor::Tensor::nanquantile" => |d| {
        let (tensor, q, dims) = (d.tensor()?, d.operand()?, d.reduce_dims()?);
        let interpolation = match d.rng().below(5) {
            0 => QuantileInterpolation::Linear,
            1 => QuantileInterpolation::Lower,
            2 => QuantileInterpolation::Higher,
            3 => QuantileInterpolation::Nearest,
            _ => QuantileInterpolation::Midpoint,
        };
        d.look(tensor.quantile(q.get(), dims.clone(), interpolation).ok());
        d.look(tensor.nanquantile(q.get(), dims, interpolation).ok());
        Some(())
    };
    "tensor::Tensor::unique", "tensor::Tensor::unique_consecutive" => |d| {
        let (tensor, dim) = (d.tensor()?, d.maybe_dim()?);
        let found = if d.flag()? { tensor.unique(dim) } else { tensor.unique_consecutive(dim) };
        let UniqueElements { values, inverse, counts } = found.ok()?;
        [values, inverse, counts].into_iter().for_each(|part| d.look(Some(part)));
        Some(())
    };
    "tensor::Tensor::searchsorted" => |d| {
        let (tensor, values, right) = (d.tensor()?, d.operand()?, d.flag()?);
        let sorter = if d.flag()? { tensor.argsort(-1, false).ok() } else { None };
        d.look(tensor.searchsorted(values.get(), right, sorter.as_ref()).ok());
        Some(())
    };
    "tensor::Tensor::bincount" => |d| {
        let (tensor, weights, minlength) = (d.tensor()?, d.tensor()?, d.size()?);
        let weights = d.flag()?.then_some(&weights);
        d.look(tensor.bincount(weights, minlength).ok());
        Some(())
    };
    "tensor::Tensor::diff_with" => |d| {
        let (tensor, n, dim) = (d.tensor()?, d.size()?, d.dim()?);
        let (before, behind) = (d.tensor()?, d.tensor()?);
        let (before, behind) = (d.flag()?.then_some(&before), d.flag()?.then_some(&behind));
        d.look(tensor.diff_with(n, dim, before, behind).ok());
        Some(())
    };
    "tensor::Tensor::repeat_interleave", "tensor::Tensor::repeat_interleave_by" => |d| {
        let (tensor, repeats, dim) = (d.tensor()?, d.tensor()?, d.maybe_dim()?);
        let count = d.size()?;
        d.look(tensor.repeat_interleave(count, dim).ok());
        d.look(tensor.repeat_interleave_by(&repeats, dim).ok());
        Some(())
    };
    "tensor::Tensor::matrix_norm" => |d| {
        let (tensor, dims, keepdim) = (d.tensor()?, [d.dim()?, d.dim()?], d.flag()?);
        let order = match d.rng().below(5) {
            0 => MatrixNorm::Fro,
            1 => MatrixNorm::One,
            2 => MatrixNorm::NegOne,
            3 => MatrixNorm::Inf,
            _ => MatrixNorm::NegInf,
        };
        d.look(tensor.matrix_norm(order, dims, keepdim).ok());
        Some(())
    };
    "tensor::Tensor::scatter_reduce", "tensor::Tensor::scatter_reduce_" => |d| {
        let (tensor, dim, index, source) = (d.tensor()?, d.dim()?, d.index()?, d.tensor()?);
        let (reduction, own) = (reduction(d), d.flag()?);
        d.look(tensor.scatter_reduce(dim, &index, &source, reduction, own).ok());
        d.look(tensor.scatter_reduce_(dim, &index, &source, reduction, own).ok());
        Some(())
    };
    "tensor::Tensor::index_reduce", "tensor::Tensor::index_reduce_" => |d| {
        let (tensor, dim, index, source) = (d.tensor()?, d.dim()?, d.index()?, d.tensor()?);
        let (reduction, own) = (reduction(d), d.flag()?);
        d.look(tensor.index_reduce(dim, &index, &source, reduction, own).ok());
        d.look(tensor.index_reduce_(dim, &index, &source, reduction, own).ok());
        Some(())
    };
};

fn reduction(d: &mut Draw) -> ScatterReduction {
    match d.rng().below(5) {
        0 => ScatterReduction::Sum,
        1 => ScatterReduction::Prod,
        2 => ScatterReduction::Mean,
        3 => ScatterReduction::Amax,
        _ => ScatterReduction::Amin,
    }
}
