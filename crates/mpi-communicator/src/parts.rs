//! Parts of the elements of a tensor, one for each rank.

use std::ops::Range;

use tensor::Tensor;

/// Elements that lie one after the other, in parts of nearly the same size.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    numel: usize,
    count: usize,
    element_size: usize,
}

impl Parts {
    /// So many parts of a tensor. There may be more of them than elements.
    pub(crate) fn of(tensor: &Tensor, count: usize) -> Parts {
        Parts { numel: tensor.numel(), count, element_size: tensor.dtype().size() }
    }

    /// The elements of a part.
    pub(crate) fn elements(self, part: usize) -> Range<usize> {
        // The first parts have the elements that are left over.
        let start =
            |part: usize| self.numel / self.count * part + part.min(self.numel % self.count);
        start(part)..start(part + 1)
    }

    /// The bytes of a part, from the first byte of all.
    pub(crate) fn bytes(self, part: usize) -> Range<usize> {
        let Range { start, end } = self.elements(part);
        start * self.element_size..end * self.element_size
    }
}
