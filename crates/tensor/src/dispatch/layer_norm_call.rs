//! What a normalisation of rows is called with.

use crate::{DType, Tensor};

/// The operands of a layer normalisation: dense tensors of one device.
pub(crate) struct LayerNormCall<'a> {
    pub(crate) x: &'a Tensor,
    /// The parameters, of the shape of the dimensions that are normalised together.
    pub(crate) weight: Option<&'a Tensor>,
    pub(crate) bias: Option<&'a Tensor>,
    /// The dtype of the parameters, which is computed in the same type as the rows.
    pub(crate) parameters: DType,
    /// The number of dimensions, the last ones, that are normalised together.
    pub(crate) dims: usize,
    pub(crate) epsilon: f64,
    /// Whether means are subtracted; else rows are divided by the root of the mean square, for which
    /// there are kernels on CUDA only.
    pub(crate) is_centered: bool,
}

impl LayerNormCall<'_> {
    /// The number of rows, and of elements of a row.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let cols = self.normalized_shape().iter().product();
        (self.x.numel().checked_div(cols).unwrap_or(0), cols)
    }

    /// Whether the parameters are `F32` beside halves, as CUDA's kernels take it.
    pub(super) fn is_wide(&self) -> bool {
        self.parameters != self.x.dtype()
    }

    /// The sizes of the dimensions that are normalised together.
    pub(super) fn normalized_shape(&self) -> &[usize] {
        &self.x.shape()[self.x.dims() - self.dims..]
    }
}
