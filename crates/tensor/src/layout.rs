//! How a tensor's elements lie in its storage: sizes, strides and offset, and the views of them.

mod rows;

use smallvec::SmallVec;

use crate::Shape;

/// Distances between neighbours along each dimension, in elements; 0 repeats an element.
pub(crate) type Strides = SmallVec<[isize; 4]>;

/// Sizes, strides and offset of a tensor, in elements of its storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
    contiguous: bool,
}

impl Layout {
    /// Row-major, from the start of the storage.
    pub(crate) fn contiguous(shape: Shape) -> Layout {
        let strides = row_major(&shape);
        Layout { shape, strides, offset: 0, contiguous: true }
    }

    /// Any view; the caller answers for it lying inside the storage.
    pub(crate) fn strided(shape: Shape, strides: Strides, offset: usize) -> Layout {
        let contiguous = is_row_major(&shape, &strides);
        Layout { shape, strides, offset, contiguous }
    }

    /// The same view, beginning at `offset`.
    pub(crate) fn at(self, offset: usize) -> Layout {
        Layout { offset, ..self }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Where the first element lies.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn numel(&self) -> usize {
        self.shape.numel()
    }

    /// Whether the elements lie side by side in row-major order, wherever they begin.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether two elements of the view are the same element of the storage.
    pub(crate) fn overlaps_itself(&self) -> bool {
        // Views made by this crate repeat elements only through a stride of zero.
        self.shape.iter().zip(&self.strides).any(|(&size, &stride)| size > 1 && stride == 0)
    }

    /// Dimension `i` of the result is dimension `order[i]`.
    pub(crate) fn permute(&self, order: &[usize]) -> Layout {
        let shape = order.iter().map(|&dim| self.shape[dim]).collect();
        let strides = order.iter().map(|&dim| self.strides[dim]).collect();
        Layout::strided(shape, strides, self.offset)
    }

    pub(crate) fn transpose(&self, first: usize, second: usize) -> Layout {
        let mut order: SmallVec<[usize; 4]> = (0..self.shape.len()).collect();
        order.swap(first, second);
        self.permute(&order)
    }

    /// Every `step`th element of `start..` along `dim`, `len` of them.
    pub(crate) fn slice(&self, dim: usize, start: usize, len: usize, step: usize) -> Layout {
        let mut strides = self.strides.clone();
        strides[dim] *= step as isize;
        let moved = if len == 0 { 0 } else { start as isize * self.strides[dim] };
        Layout::strided(self.shape.with(dim, len), strides, self.offset.wrapping_add_signed(moved))
    }

    /// The view at `index` of `dim`, without that dimension.
    pub(crate) fn select(&self, dim: usize, index: usize) -> Layout {
        let at = self.slice(dim, index, 1, 1);
        at.without_dims(|candidate, _| candidate == dim)
    }

    /// The view without the dimensions for which `gone(dim, size)` holds; they must have size 1.
    pub(crate) fn without_dims(&self, gone: impl Fn(usize, usize) -> bool) -> Layout {
        let kept = || (0..self.shape.len()).filter(|&dim| !gone(dim, self.shape[dim]));
        let shape = kept().map(|dim| self.shape[dim]).collect();
        let strides = kept().map(|dim| self.strides[dim]).collect();
        Layout::strided(shape, strides, self.offset)
    }

    /// The view with a dimension of size 1 at `dim`.
    pub(crate) fn unsqueeze(&self, dim: usize) -> Layout {
        let inner = match self.shape.get(dim) {
            Some(&size) => size as isize * self.strides[dim],
            None => 1,
        };
        let mut strides = self.strides.clone();
        strides.insert(dim, inner);
        let mut shape: SmallVec<[usize; 4]> = SmallVec::from_slice(&self.shape);
        shape.insert(dim, 1);
        Layout::strided(shape.into_iter().collect(), strides, self.offset)
    }

    /// The view with sizes of 1 repeated to `shape`, or `None` where the shapes do not fit.
    pub(crate) fn expand(&self, shape: &Shape) -> Option<Layout> {
        let added = shape.len().checked_sub(self.shape.len())?;
        let mut strides: Strides = SmallVec::from_elem(0, added);
        for ((&own, &stride), &wanted) in self.shape.iter().zip(&self.strides).zip(&shape[added..])
        {
            strides.push(match own {
                _ if own == wanted => stride,
                1 => 0,
                _ => return None,
            });
        }
        Some(Layout::strided(shape.clone(), strides, self.offset))
    }

    /// The same elements in the same order under other sizes, or `None` where that needs a copy.
    /// The number of elements must be equal.
    pub(crate) fn view(&self, shape: &Shape) -> Option<Layout> {
        if self.contiguous || self.numel() == 0 {
            let strides = row_major(shape);
            return Some(Layout::strided(shape.clone(), strides, self.offset));
        }
        let runs = self.runs();
        let mut strides: Strides = SmallVec::from_elem(1, shape.len());
        let mut next = shape.len();
        for &(size, stride) in runs.iter().rev() {
            let mut covered = 1;
            while next > 0 && (covered < size || shape[next - 1] == 1) {
                next -= 1;
                strides[next] = stride * covered as isize;
                covered *= shape[next];
            }
            if covered != size {
                return None;
            }
        }
        Some(Layout::strided(shape.clone(), strides, self.offset))
    }

    /// The dimensions merged into the longest runs of evenly spaced elements, outermost first.
    fn runs(&self) -> SmallVec<[(usize, isize); 4]> {
        let mut runs: SmallVec<[(usize, isize); 4]> = SmallVec::new();
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            match runs.last_mut() {
                _ if size == 1 => {}
                Some(last) if last.1 == stride * size as isize => *last = (last.0 * size, stride),
                _ => runs.push((size, stride)),
            }
        }
        runs
    }
}

/// The strides of row-major order.
fn row_major(shape: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(1, shape.len());
    let mut step = 1isize;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size.max(1) as isize);
    }
    strides
}

fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    let mut step = 1isize;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size == 0 {
            return true;
        }
        if size != 1 && stride != step {
            return shape.contains(&0);
        }
        step = step.saturating_mul(size as isize);
    }
    true
}
