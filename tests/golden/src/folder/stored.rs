//! Tensors as the protocol describes them.

use super::WrittenValue;

/// The description of a tensor: a part of a pool as its storage, and the layout in it.
#[derive(Clone, Debug)]
pub(crate) struct StoredTensor {
    pub(crate) dtype: String,
    /// The position of the storage in the pool, in elements.
    pub(crate) at: usize,
    /// The elements of the storage.
    pub(crate) len: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    pub(crate) offset: usize,
    /// Whether it is a leaf that requires its gradient.
    pub(crate) grad: bool,
}

impl StoredTensor {
    /// The tensor that a value describes, if it is one.
    pub(crate) fn of(value: &WrittenValue) -> Option<StoredTensor> {
        let size = |value: &WrittenValue| usize::try_from(value.integer()?).ok();
        let [dtype, at, len] = value.get("t")?.items() else { return None };
        let shape: Vec<usize> =
            value.get("shape")?.items().iter().map(size).collect::<Option<_>>()?;
        let strides = match value.get("strides") {
            Some(strides) => {
                let stride = |value: &WrittenValue| value.integer().map(|stride| stride as isize);
                strides.items().iter().map(stride).collect::<Option<_>>()?
            }
            None => row_major(&shape),
        };
        Some(StoredTensor {
            dtype: dtype.text()?.to_owned(),
            at: size(at)?,
            len: size(len)?,
            shape,
            strides,
            offset: value.get("offset").map_or(Some(0), size)?,
            grad: value.get("grad") == Some(&WrittenValue::Truth(true)),
        })
    }

    /// The positions of the elements in the storage, in row-major order.
    pub(super) fn positions(&self) -> Vec<usize> {
        let mut positions = vec![self.offset];
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            let steps = |start: &usize| {
                let start = *start;
                (0..size).map(move |at| start.wrapping_add_signed(at as isize * stride))
            };
            positions = positions.iter().flat_map(steps).collect();
        }
        positions
    }
}

/// The strides of a contiguous tensor.
fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut step = 1;
    let mut strides = vec![1; shape.len()];
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step *= size.max(1) as isize;
    }
    strides
}
