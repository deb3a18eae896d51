//! Layouts: the sizes, strides and offset by which a tensor's elements lie in its storage, and the
//! layouts of its views.

mod contiguous_runs;
mod overlap;
mod problem;
mod region;
mod result;

pub(crate) use problem::NoLayout;
pub(crate) use region::LayoutRegion;
use std::iter::repeat_n;
use std::mem;

use smallvec::SmallVec;

use crate::Shape;
use crate::checked_size::CheckedSize;
use crate::per_dim::PerDim;

/// The distance between neighbours along each dimension, in elements; 0 repeats an element.
pub(crate) type Strides = PerDim<isize>;

/// A dimension, or several that lie evenly and are gone through as one: (size, stride).
pub(crate) type Run = (usize, isize);

/// The most dimensions that a tensor can have, as in PyTorch.
const MAX_DIMS: usize = 64;

/// Sizes, strides and offset of a tensor, in elements of its storage.
///
/// A layout whose numbers overflow cannot be made. These fit into `isize`: the product of the
/// sizes, where each counts as at least 1; each size times its stride; and the position of each
/// element. So code that has a layout can multiply parts of these without checks. A layout without
/// elements has the offset 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
    numel: usize,
    /// The position after the last element, in elements of the storage.
    end: usize,
    contiguous: bool,
}

impl Layout {
    /// The row-major layout that begins at the start of the storage.
    ///
    /// # Errors
    /// The product of the sizes overflows, or there are too many dimensions.
    pub(crate) fn contiguous(shape: Shape) -> Result<Layout, NoLayout> {
        check_dims(&shape)?;
        let Some((strides, most)) = row_major(&shape) else {
            return Err(NoLayout::TooLarge(shape));
        };
        let numel = if shape.contains(&0) { 0 } else { most };
        Ok(Layout { shape, strides, offset: 0, numel, end: numel, contiguous: true })
    }

    /// A layout with any strides. Whether the storage is long enough for it is checked where the
    /// two are brought together, by [`Layout::end`].
    ///
    /// # Errors
    /// The numbers overflow, there are too many dimensions, or elements lie before the storage.
    pub(crate) fn strided(
        shape: Shape,
        strides: Strides,
        offset: usize,
    ) -> Result<Layout, NoLayout> {
        let contiguous = is_row_major(&shape, &strides);
        Layout::new(shape, strides, offset, contiguous)
    }

    /// The same layout, beginning at `offset`.
    ///
    /// # Errors
    /// As [`Layout::strided`].
    pub(crate) fn at(self, offset: usize) -> Result<Layout, NoLayout> {
        Layout::new(self.shape, self.strides, offset, self.contiguous)
    }

    // Inlined, since a layout has more than a hundred bytes, which a call would copy.
    #[inline]
    fn new(
        shape: Shape,
        strides: Strides,
        offset: usize,
        contiguous: bool,
    ) -> Result<Layout, NoLayout> {
        check_dims(&shape)?;
        let product: CheckedSize = shape.iter().map(|&size| size.max(1)).product();
        let (mut first, mut last) = (CheckedSize::from(offset), CheckedSize::from(offset));
        let mut steps_fit = true;
        for (&size, &stride) in shape.iter().zip(&strides) {
            steps_fit &= (CheckedSize::from(stride) * size).distance().is_some();
            let way = CheckedSize::from(stride) * size.saturating_sub(1);
            if stride < 0 { first = first + way } else { last = last + way }
        }
        let (Some(most), Some(end), true) = (product.size(), (last + 1usize).size(), steps_fit)
        else {
            return Err(NoLayout::TooLarge(shape));
        };
        if shape.contains(&0) {
            return Ok(Layout { shape, strides, offset: 0, numel: 0, end: 0, contiguous });
        }
        match first.size() {
            Some(_) => Ok(Layout { shape, strides, offset, numel: most, end, contiguous }),
            None => Err(NoLayout::Outside(shape)),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The position of the first element, in elements of the storage.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn numel(&self) -> usize {
        self.numel
    }

    /// The number of elements that a storage must have for this layout to lie inside of it.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Whether the elements lie side by side in row-major order, at any offset.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether two elements are the same element of the storage.
    pub(crate) fn overlaps_itself(&self) -> bool {
        !self.contiguous && self.numel > 0 && overlap::overlaps(&self.shape, &self.strides)
    }

    /// Whether `other` has the same sizes and strides, and none of the elements.
    pub(crate) fn lies_apart_from(&self, other: &Layout) -> bool {
        let is_shifted = self.shape == other.shape && self.strides == other.strides;
        let way = self.offset.wrapping_sub(other.offset).cast_signed();
        is_shifted && (self.numel == 0 || !overlap::leads_over(way, &self.shape, &self.strides))
    }

    /// The layout with each element once: the dimensions that repeat have size 1.
    ///
    /// # Errors
    /// As [`Layout::strided`].
    pub(crate) fn without_repetitions(&self) -> Result<Layout, NoLayout> {
        let size = |dim| if self.repeats(dim) { 1 } else { self.shape[dim] };
        let sizes: PerDim<usize> = (0..self.shape.len()).map(size).collect();
        self.corner(&sizes)
    }

    /// Whether the elements along a dimension are all the same element of the storage. Windows
    /// ([`Layout::unfold`]) and `as_strided` have elements several times in other ways too.
    pub(crate) fn repeats(&self, dim: usize) -> bool {
        self.shape[dim] > 1 && self.strides[dim] == 0
    }

    /// Whether the elements are different ones, and lie side by side in the order of some
    /// dimensions ("non-overlapping and dense" in PyTorch).
    pub(crate) fn is_dense(&self) -> bool {
        if self.contiguous {
            return true;
        }
        let mut runs: SmallVec<[Run; 4]> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).collect();
        runs.sort_unstable_by_key(|&(_, stride)| stride);
        let mut expected: isize = 1;
        runs.iter().filter(|(size, _)| *size != 1).all(|&(size, stride)| {
            let fits = stride == expected;
            expected = expected.saturating_mul(size as isize);
            fits
        })
    }

    /// The position of the first element of the storage that the layout has, in elements.
    pub(crate) fn start(&self) -> usize {
        let back = |(&size, &stride): (&usize, &isize)| match stride {
            ..0 => stride.unsigned_abs() * size.saturating_sub(1),
            _ => 0,
        };
        // A layout that begins before its storage cannot be made.
        let before: usize = self.shape.iter().zip(&self.strides).map(back).sum();
        self.offset.saturating_sub(before)
    }

    /// The layout whose dimension `i` is dimension `order[i]` of this one; each must stand in
    /// `order` once. The elements are the same, so `numel` and `end` are as well.
    pub(crate) fn permute(&self, order: &[usize]) -> Layout {
        let shape: Shape = order.iter().map(|&dim| self.shape[dim]).collect();
        let strides: Strides = order.iter().map(|&dim| self.strides[dim]).collect();
        let contiguous = is_row_major(&shape, &strides);
        Layout { shape, strides, contiguous, ..*self }
    }

    /// The layout with two dimensions exchanged.
    pub(crate) fn transpose(&self, first: usize, second: usize) -> Layout {
        let mut transposed = self.clone();
        transposed.exchange(first, second);
        transposed
    }

    /// Makes this the layout with two dimensions exchanged.
    #[inline]
    pub(crate) fn exchange(&mut self, first: usize, second: usize) {
        self.shape.swap(first, second);
        self.strides.swap(first, second);
        self.contiguous = is_row_major(&self.shape, &self.strides);
    }

    /// Every `step`th element of `start..` along `dim`, `len` of them, all of which must be there.
    #[inline]
    pub(crate) fn slice(
        &self,
        dim: usize,
        start: usize,
        len: usize,
        step: usize,
    ) -> Result<Layout, NoLayout> {
        if step == 1 && self.has_part(len) {
            let mut part = self.clone();
            part.narrow(dim, start, len);
            Ok(part)
        } else {
            self.stepped(dim, start, len, step)
        }
    }

    /// [`Layout::slice`] for any length and step.
    fn stepped(
        &self,
        dim: usize,
        start: usize,
        len: usize,
        step: usize,
    ) -> Result<Layout, NoLayout> {
        let shape = self.shape.with(dim, len);
        // A longer step leads to no second element, so it can be shortened, and does not overflow.
        let step = step.min(self.shape[dim].max(1));
        let stride = CheckedSize::from(self.strides[dim]);
        let start = if len == 0 { 0 } else { start };
        let (Some(step), Some(offset)) =
            ((stride * step).distance(), (stride * start + self.offset).size())
        else {
            return Err(NoLayout::TooLarge(shape));
        };
        let mut strides = self.strides.clone();
        strides[dim] = step;
        Layout::strided(shape, strides, offset)
    }

    /// Whether a part of that length along a dimension has elements, as [`Layout::narrow`] needs.
    #[inline]
    pub(crate) fn has_part(&self, len: usize) -> bool {
        len > 0 && self.numel > 0
    }

    /// Makes this the layout of the `len` indices of `dim` from `start` on, which must be there and have
    /// elements. They are elements of the layout as it was, so no number can overflow, and nothing is
    /// checked.
    #[inline]
    pub(crate) fn narrow(&mut self, dim: usize, start: usize, len: usize) {
        let (sizes, stride) = (self.shape.sizes_mut(), self.strides[dim]);
        let size = mem::replace(&mut sizes[dim], len);
        let (before, behind) = (start as isize * stride, (size - start - len) as isize * stride);
        // The part that is cut off on the side of the highest address.
        let cut = if stride < 0 { -before } else { behind };
        self.numel = sizes.iter().product();
        self.contiguous = match self.contiguous {
            // Less than a whole row of the dimension lies side by side only if there is one row.
            true => len == size || sizes[..dim].iter().all(|&outer| outer == 1),
            false => is_row_major(sizes, &self.strides),
        };
        self.offset = self.offset.wrapping_add_signed(before);
        self.end = self.end.wrapping_add_signed(-cut);
    }

    /// The part of these sizes, none of which is larger than its own, where all indices begin.
    ///
    /// # Errors
    /// As [`Layout::strided`].
    pub(crate) fn corner(&self, sizes: &[usize]) -> Result<Layout, NoLayout> {
        let mut layout = self.clone();
        for (dim, &size) in sizes.iter().enumerate() {
            if size != layout.shape[dim] {
                layout = layout.slice(dim, 0, size, 1)?;
            }
        }
        Ok(layout)
    }

    /// The layout at `index` of `dim`, which must exist, without that dimension.
    pub(crate) fn select(&self, dim: usize, index: usize) -> Result<Layout, NoLayout> {
        let at = self.slice(dim, index, 1, 1)?;
        at.without_dims(|candidate, _| candidate == dim)
    }

    /// The diagonal of two dimensions as a new last one, `offset` above the main one.
    ///
    /// # Errors
    /// The numbers overflow.
    pub(crate) fn diagonal(
        &self,
        offset: isize,
        row: usize,
        column: usize,
    ) -> Result<Layout, NoLayout> {
        let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0) as usize);
        let (rows, columns) = (self.shape[row], self.shape[column]);
        let length = rows.saturating_sub(down).min(columns.saturating_sub(right));
        let kept = || (0..self.shape.len()).filter(|&dim| dim != row && dim != column);
        let shape: Shape = kept().map(|dim| self.shape[dim]).chain([length]).collect();
        let step = CheckedSize::from(self.strides[row]) + CheckedSize::from(self.strides[column]);
        let start = match length {
            0 => CheckedSize::from(self.offset),
            _ => {
                CheckedSize::from(self.strides[row]) * down
                    + CheckedSize::from(self.strides[column]) * right
                    + self.offset
            }
        };
        let (Some(step), Some(start)) = (step.distance(), start.size()) else {
            return Err(NoLayout::TooLarge(shape));
        };
        let strides = kept().map(|dim| self.strides[dim]).chain([step]).collect();
        Layout::strided(shape, strides, start)
    }

    /// Windows of `size` neighbours along `dim`, every `step`th of them, as a new last dimension; one
    /// must fit, and `step` is not 0.
    ///
    /// # Errors
    /// As [`Layout::strided`].
    pub(crate) fn unfold(&self, dim: usize, size: usize, step: usize) -> Result<Layout, NoLayout> {
        let windows = (self.shape[dim] - size) / step + 1;
        // One more than there are elements, if the windows are empty.
        let starts = self.stepped(dim, 0, windows, step)?;
        let last = self.shape.len();
        let shape = starts.shape.inserted(last, size);
        let strides = starts.strides.inserted(last, self.strides[dim]);
        Layout::strided(shape, strides, starts.offset)
    }

    /// The layout with the elements along some dimensions in reverse order.
    ///
    /// # Errors
    /// The numbers overflow.
    pub(crate) fn reversed(&self, dims: &[usize]) -> Result<Layout, NoLayout> {
        let (mut strides, mut offset) = (self.strides.clone(), CheckedSize::from(self.offset));
        for &dim in dims {
            offset =
                offset + CheckedSize::from(self.strides[dim]) * self.shape[dim].saturating_sub(1);
            strides[dim] = -strides[dim];
        }
        match offset.size() {
            Some(offset) => Layout::strided(self.shape.clone(), strides, offset),
            None => Err(NoLayout::TooLarge(self.shape.clone())),
        }
    }

    /// The layout without the dimensions for which `gone(dim, size)` holds; they must have size 1.
    pub(crate) fn without_dims(
        &self,
        gone: impl Fn(usize, usize) -> bool,
    ) -> Result<Layout, NoLayout> {
        let kept = || (0..self.shape.len()).filter(|&dim| !gone(dim, self.shape[dim]));
        let shape = kept().map(|dim| self.shape[dim]).collect();
        let strides = kept().map(|dim| self.strides[dim]).collect();
        Layout::strided(shape, strides, self.offset)
    }

    /// The layout with a new dimension of size 1 at `dim`.
    pub(crate) fn unsqueeze(&self, dim: usize) -> Result<Layout, NoLayout> {
        let inner = match self.shape.get(dim) {
            Some(&size) => size as isize * self.strides[dim],
            None => 1,
        };
        let shape = self.shape.inserted(dim, 1);
        Layout::strided(shape, self.strides.inserted(dim, inner), self.offset)
    }

    /// The layout with dimensions of size 1 repeated to `shape`, or `None` if the shapes do not
    /// fit.
    pub(crate) fn expand(&self, shape: &Shape) -> Result<Option<Layout>, NoLayout> {
        let Some(added) = shape.len().checked_sub(self.shape.len()) else { return Ok(None) };
        let mut strides = Strides::zeros(shape.len());
        let own = self.shape.iter().zip(&self.strides);
        let new = shape[added..].iter().zip(&mut strides[added..]);
        for ((&own, &stride), (&wanted, new)) in own.zip(new) {
            *new = match own {
                _ if own == wanted => stride,
                1 => 0,
                _ => return Ok(None),
            };
        }
        // A new dimension of size 1 has the stride that a row-major tensor's would have, as in
        // PyTorch, except before a single number.
        let padded = if self.shape.is_empty() { 0 } else { added };
        for dim in (0..padded).rev().filter(|&dim| shape[dim] == 1) {
            let step = CheckedSize::from(strides[dim + 1]) * shape[dim + 1];
            strides[dim] = step.distance().unwrap_or(0);
        }
        Layout::strided(shape.clone(), strides, self.offset).map(Some)
    }

    /// The same elements in the same order under other sizes, or `None` if that needs a copy. The
    /// number of elements must be equal.
    ///
    /// As in PyTorch (`at::detail::computeStride`): neighbouring dimensions that lie evenly are
    /// merged first, and then the new sizes, from the innermost on, must fill each merged dimension
    /// exactly. A new size that would go across two of them would need two strides.
    pub(crate) fn view(&self, shape: &Shape) -> Result<Option<Layout>, NoLayout> {
        if self.contiguous || self.numel == 0 {
            return Layout::contiguous(shape.clone())?.at(self.offset).map(Some);
        }
        let runs = self.runs(|_| true);
        let mut strides: Strides = repeat_n(1, shape.len()).collect();
        let mut next = shape.len();
        for &(size, stride) in runs.iter().rev() {
            let mut covered = 1;
            while next > 0 && (covered < size || shape[next - 1] == 1) {
                next -= 1;
                strides[next] = stride * covered as isize;
                covered *= shape[next];
            }
            if covered != size {
                return Ok(None);
            }
        }
        Layout::strided(shape.clone(), strides, self.offset).map(Some)
    }

    /// The dimensions for which `chosen` holds as (size, stride), outermost first, with neighbours
    /// merged where one step of the outer one is as far as a full run of the inner one.
    pub(crate) fn runs(&self, chosen: impl Fn(usize) -> bool) -> SmallVec<[Run; 4]> {
        let mut runs: SmallVec<[Run; 4]> = SmallVec::new();
        for (dim, (&size, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            match runs.last_mut() {
                _ if size == 1 || !chosen(dim) => {}
                Some(last) if last.1 == stride * size as isize => *last = (last.0 * size, stride),
                _ => runs.push((size, stride)),
            }
        }
        runs
    }
}

fn check_dims(shape: &Shape) -> Result<(), NoLayout> {
    match shape.len() {
        0..=MAX_DIMS => Ok(()),
        dims => Err(NoLayout::TooManyDims { dims, most: MAX_DIMS }),
    }
}

/// The strides of row-major order, and the product of the sizes, where each counts as at least 1;
/// `None` if it overflows.
fn row_major(shape: &Shape) -> Option<(Strides, usize)> {
    let mut strides = Strides::zeros(shape.len());
    let mut step = CheckedSize::from(1usize);
    for (stride, &size) in strides.iter_mut().zip(&**shape).rev() {
        *stride = step.distance()?;
        step = step * size.max(1);
    }
    Some((strides, step.size()?))
}

/// Whether the strides are those of row-major order. The answer means nothing if the product of the
/// sizes overflows, in which case no layout is made.
fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    let mut step = 1isize;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size == 0 {
            return true;
        }
        if size != 1 && stride != step {
            return shape.contains(&0);
        }
        step = step.wrapping_mul(size.cast_signed());
    }
    true
}

#[cfg(test)]
mod tests;
