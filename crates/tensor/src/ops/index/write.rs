//! Writes to the elements and slices that indices choose.

use std::panic::Location;

use gpu_runtime::at_place;
use smallvec::smallvec;

use super::call::{
    IndexedCall, apart, check_elements, check_selected, check_slices, check_source, cut,
};
use crate::autograd::{InPlace, SavedTensor, Saving, WatchedTensor, record_many};
use crate::dims::resolve_dim;
use crate::dispatch::abi::Index;
use crate::dispatch::{HostKernels, Operator, working_dtype};
use crate::host::index as kernels;
use crate::layout::{Layout, LayoutRegion, NoLayout};
use crate::ops::convert::{convert, copy_into, dense};
use crate::tensor::Gradients;
use crate::{DType, Result, Shape, Tensor};

pub(super) static SCATTER: IndexWrite = IndexWrite {
    operator: Operator::per_element("scatter", kernels::SCATTER),
    mode: WriteMode::Replace,
    chosen: Chosen::Elements,
};
pub(super) static SCATTER_ADD: IndexWrite = IndexWrite {
    operator: Operator::per_element("scatter_add", kernels::SCATTER_ADD),
    mode: WriteMode::Add,
    chosen: Chosen::Elements,
};
pub(in crate::ops) static INDEX_COPY: IndexWrite = IndexWrite {
    operator: Operator::per_slice("index_copy", kernels::INDEX_COPY),
    mode: WriteMode::Replace,
    chosen: Chosen::Slices,
};
pub(in crate::ops) static INDEX_ADD: IndexWrite = IndexWrite {
    operator: Operator::per_slice("index_add", kernels::INDEX_ADD),
    mode: WriteMode::Add,
    chosen: Chosen::Slices,
};

pub(super) static SCATTER_PROD: IndexWrite = folding("scatter_prod", kernels::SCATTER_PROD);
pub(super) static SCATTER_AMAX: IndexWrite = folding("scatter_amax", kernels::SCATTER_AMAX);
pub(super) static SCATTER_AMIN: IndexWrite = folding("scatter_amin", kernels::SCATTER_AMIN);

const fn folding(name: &'static str, kernels: HostKernels<Index>) -> IndexWrite {
    IndexWrite {
        operator: Operator::per_element(name, kernels),
        mode: WriteMode::Fold,
        chosen: Chosen::Elements,
    }
}

/// An operation that writes a source to where indices choose.
pub(in crate::ops) struct IndexWrite {
    operator: Operator<Index>,
    mode: WriteMode,
    chosen: Chosen,
}

/// The elements that indices choose, as a write leaves them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    /// The source's.
    Replace,
    /// Their sum with the source's.
    Add,
    /// Another function of them and the source's, whose gradients are in `reduce.rs`.
    Fold,
}

/// The parts that there is an index for.
#[derive(Clone, Copy)]
enum Chosen {
    Elements,
    Slices,
}

impl IndexWrite {
    /// A copy of `x` with the source written to it, recorded as `op`.
    #[track_caller]
    pub(super) fn apply(
        &'static self,
        op: &'static str,
        x: &Tensor,
        dim: isize,
        [index, source]: [&Tensor; 2],
    ) -> Result<Tensor> {
        let output = convert(x, x.dtype())?;
        self.write(op, &output, dim, [index, source])?;
        Ok(record_many(op, &[x, source], output, |saving| {
            let picked = Picked::new(self, saving, dim, [index, source]);
            move |grad: &Tensor, needs: &[bool]| picked.gradients(grad, needs)
        }))
    }

    /// Writes the source to `x`, recorded as `op`, and gives the same handle.
    #[track_caller]
    pub(super) fn apply_in_place(
        &'static self,
        op: &'static str,
        x: &Tensor,
        dim: isize,
        [index, source]: [&Tensor; 2],
    ) -> Result<Tensor> {
        let write = InPlace::begin(op, x, &[source])?;
        self.write(op, x, dim, [index, source])?;
        Ok(write.finish(|saving| {
            let picked = Picked::new(self, saving, dim, [index, source]);
            move |grad: &Tensor, needs: &[bool]| picked.gradients(grad, needs)
        }))
    }

    /// Writes the source to `target` without a record of it.
    #[track_caller]
    pub(in crate::ops) fn write(
        &'static self,
        op: &'static str,
        target: &Tensor,
        dim: isize,
        sides: [&Tensor; 2],
    ) -> Result<()> {
        match self.chosen {
            Chosen::Elements => self.write_elements(op, target, dim, sides),
            Chosen::Slices => self.write_slices(op, target, dim, sides),
        }
    }

    /// `target[..][index][..] = source`, element by element of the index.
    #[track_caller]
    fn write_elements(
        &'static self,
        op: &'static str,
        target: &Tensor,
        dim: isize,
        [index, source]: [&Tensor; 2],
    ) -> Result<()> {
        // As in PyTorch, no index chooses nothing, of whatever shape and dtype.
        if index.numel() == 0 {
            return resolve_dim(op, dim, target.dims()).map(|_| ());
        }
        let own = check_elements(op, target, dim, index)?;
        check_source(op, target, source)?;
        let part = cut(op, source, index, usize::MAX)?;
        let covered = cut(op, target, index, own)?;
        let index = &apart(target, index)?;
        let count = index.shape().get(own).copied().unwrap_or(1);
        self.write_dense(&covered, &part, |output, source| {
            IndexedCall { output, source, index, large: covered.shape(), dim: own }
                .run(&self.operator, count)
        })
    }

    /// `target[..][index][..] = source`, slice by slice.
    #[track_caller]
    fn write_slices(
        &'static self,
        op: &'static str,
        target: &Tensor,
        dim: isize,
        [index, source]: [&Tensor; 2],
    ) -> Result<()> {
        let own = check_slices(op, target, dim, index)?;
        check_source(op, target, source)?;
        check_selected(op, target, own, index, source)?;
        let index = &apart(target, index)?;
        self.write_dense(target, source, |output, source| {
            IndexedCall { output, source, index, large: target.shape(), dim: own }
                .run(&self.operator, index.numel())
        })
    }

    /// Runs `write` on a dense target and source: on the target itself if it is dense, else on a
    /// copy that is copied back.
    #[track_caller]
    fn write_dense(
        &self,
        target: &Tensor,
        source: &Tensor,
        write: impl FnOnce(&Tensor, &Tensor) -> Result<()>,
    ) -> Result<()> {
        let dtype = self.working_dtype(target);
        let source = dense(&apart(target, source)?, dtype)?;
        let whole = dense(target, dtype)?;
        at_place(Location::caller(), || write(&whole, &source))?;
        if !whole.shares_memory_with(target) {
            copy_into(target, &whole)?;
        }
        Ok(())
    }

    /// The dtype that a target is written in.
    fn working_dtype(&self, target: &Tensor) -> DType {
        match (self.mode, working_dtype(target, target.dtype())) {
            // What only moves elements goes by their size.
            (WriteMode::Replace, _) => target.dtype(),
            // There are no CUDA kernels that add them.
            (WriteMode::Add, DType::U8 | DType::Bool) if target.is_cuda() => DType::I64,
            (WriteMode::Add, dtype) => dtype,
            (WriteMode::Fold, _) if !target.is_cuda() => target.dtype(),
            (WriteMode::Fold, DType::F16) => DType::F32,
            (WriteMode::Fold, DType::U8 | DType::Bool) => DType::I64,
            (WriteMode::Fold, dtype) => dtype,
        }
    }
}

/// A write at indices, for the gradients: where the indices choose, the output's is the source's, and
/// not the target's if that was replaced.
struct Picked {
    write: &'static IndexWrite,
    dim: isize,
    /// If a gradient depends on it.
    index: Option<SavedTensor>,
    /// Slices are watched, since PyTorch's formula has a use for them.
    source: Option<WatchedTensor>,
    /// The source's.
    shape: Shape,
}

impl Picked {
    fn new(
        write: &'static IndexWrite,
        saving: &Saving<'_>,
        dim: isize,
        [index, source]: [&Tensor; 2],
    ) -> Picked {
        let is_used = saving.needs(1) || (saving.needs(0) && write.mode == WriteMode::Replace);
        Picked {
            write,
            dim,
            index: is_used.then(|| saving.save(index)),
            source: matches!(write.chosen, Chosen::Slices).then(|| saving.watch(source)),
            shape: source.layout().shape().clone(),
        }
    }

    #[track_caller]
    fn gradients(&self, grad: &Tensor, needs: &[bool]) -> Result<Gradients> {
        let Some(index) = &self.index else { return Ok(smallvec![Some(grad.clone()), None]) };
        let index = index.get()?;
        let of_target = needs[0].then(|| self.of_target(grad, &index)).transpose()?;
        let of_source = needs[1].then(|| self.of_source(grad, &index)).transpose()?;
        Ok(smallvec![of_target, of_source])
    }

    #[track_caller]
    fn of_target(&self, grad: &Tensor, index: &Tensor) -> Result<Tensor> {
        match (self.write.mode, self.write.chosen) {
            (WriteMode::Add | WriteMode::Fold, _) => Ok(grad.clone()),
            (WriteMode::Replace, Chosen::Elements) => grad.scatter(self.dim, index, 0),
            (WriteMode::Replace, Chosen::Slices) => grad.index_fill(self.dim, index, 0),
        }
    }

    #[track_caller]
    fn of_source(&self, grad: &Tensor, index: &Tensor) -> Result<Tensor> {
        if let Some(source) = &self.source {
            source.check()?;
            return grad.index_select(self.dim, index);
        }
        // Without indices nothing of the source was written.
        if index.numel() == 0 {
            return Tensor::zeros(&self.shape, (grad.dtype(), grad.device()));
        }
        let part = grad.gather(self.dim, index)?;
        if *part.shape() == *self.shape {
            return Ok(part);
        }
        // The elements that the index covers lie in the corner where all indices begin, the others
        // have no gradient.
        let error = |problem: NoLayout| problem.of(part.dtype());
        let whole = Layout::contiguous(self.shape.clone()).map_err(error)?;
        let corner = whole.corner(part.layout().shape()).map_err(error)?;
        part.spread(&LayoutRegion::new(whole, corner))
    }
}
