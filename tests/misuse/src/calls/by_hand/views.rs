//! Parts, grids, indices and equations.

use tensor::{GridIndexing, IndexRange, SplitPoints, Tensor, TensorIndex, TensorIndices};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::Tensor::tensor_split", "tensor::Tensor::hsplit", "tensor::Tensor::vsplit",
    "tensor::Tensor::dsplit" => |d| {
        let (tensor, dim, indices) = (d.tensor()?, d.dim()?, d.dims()?);
        let points = match d.flag()? {
            true => SplitPoints::Sections(d.size()?),
            false => SplitPoints::Indices(&indices),
        };
        let parts = match d.rng().below(4) {
            0 => tensor.tensor_split(points, dim),
            1 => tensor.hsplit(points),
            2 => tensor.vsplit(points),
            _ => tensor.dsplit(points),
        };
        look(d, parts.ok()?)
    };
    "tensor::Tensor::split_with_sizes" => |d| {
        let (tensor, sizes, dim) = (d.tensor()?, d.sizes()?, d.dim()?);
        look(d, tensor.split_with_sizes(&sizes, dim).ok()?)
    };
    "tensor::Tensor::meshgrid" => |d| {
        let tensors = d.owned_tensors()?;
        let indexing = if d.flag()? { GridIndexing::Ij } else { GridIndexing::Xy };
        let grids = Tensor::meshgrid(&tensors, indexing);
        look(d, grids.ok()?)
    };
    "tensor::Tensor::rot90" => |d| {
        let (tensor, turns, dims) = (d.tensor()?, d.dim()?, [d.dim()?, d.dim()?]);
        d.look(tensor.rot90(turns, dims).ok());
        Some(())
    };
    "tensor::Tensor::unsqueeze_", "tensor::Tensor::squeeze_", "tensor::Tensor::squeeze_all_",
    "tensor::Tensor::squeeze_dims_", "tensor::Tensor::t_", "tensor::Tensor::transpose_",
    "tensor::Tensor::as_strided_" => |d| {
        let (mut tensor, first, second, dims) = (d.tensor()?, d.dim()?, d.dim()?, d.dims()?);
        let (sizes, offset) = (d.sizes()?, d.size()?);
        let seen = match d.rng().below(7) {
            0 => tensor.unsqueeze_(first),
            1 => tensor.squeeze_(first),
            2 => tensor.squeeze_all_(),
            3 => tensor.squeeze_dims_(&dims),
            4 => tensor.t_(),
            5 => tensor.transpose_(first, second),
            _ => tensor.as_strided_(sizes, &dims, offset),
        };
        d.look(seen.ok());
        d.look(Some(tensor));
        Some(())
    };
    "tensor::Tensor::i", "tensor::IndexRange::step" => |d| {
        let (tensor, indices) = (d.tensor()?, indices(d)?);
        d.look(tensor.i(indices).ok());
        Some(())
    };
    "tensor::Tensor::set_i", "tensor::Tensor::index_put", "tensor::Tensor::index_put_" => |d| {
        let (tensor, indices) = (d.tensor()?, indices(d)?);
        let (value, accumulate) = (d.operand()?, d.flag()?);
        let written = match d.rng().below(3) {
            0 => tensor.set_i(indices, value.get()),
            1 => tensor.index_put(indices, value.get(), accumulate),
            _ => tensor.index_put_(indices, value.get(), accumulate),
        };
        d.look(written.ok());
        Some(())
    };
    "tensor::Tensor::einsum" => |d| {
        const EQUATIONS: [&str; 8] =
            ["ij,jk->ik", "ii", "ii->i", "...ij,...jk->...ik", "i,j", "ijk->kji", "a...,a...", "->,"];
        let tensors = d.owned_tensors()?;
        let equation = EQUATIONS[d.rng().below(EQUATIONS.len())];
        let drawn = d.text()?;
        let equation = if d.rng().one_in(4) { &*drawn } else { equation };
        d.look(Tensor::einsum(equation, tensors.iter().collect::<Vec<_>>()).ok());
        Some(())
    };
};

/// Indices of all kinds, most of them for another tensor.
fn indices(d: &mut Draw) -> Option<TensorIndices> {
    let mut indices = Vec::new();
    for _ in 0..d.rng().below(4) {
        indices.push(match d.rng().below(8) {
            0 => TensorIndex::Integer(d.dim()?),
            1 => TensorIndex::Slice { begin: d.maybe_dim()?, end: d.maybe_dim()?, step: d.size()? },
            2 => TensorIndex::Ellipsis,
            3 => TensorIndex::NewAxis,
            4 => TensorIndex::Truth(d.flag()?),
            5 => TensorIndex::from(d.dims()?),
            6 => (d.dim()?..=d.dim()?).step(d.size()?),
            _ => TensorIndex::Tensor(d.tensor()?),
        });
    }
    Some(indices.into())
}

fn look(d: &mut Draw, tensors: Vec<Tensor>) -> Option<()> {
    for tensor in tensors.into_iter().take(8) {
        d.look(Some(tensor));
    }
    Some(())
}
