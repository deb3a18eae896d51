//! Shapes: the sizes of tensors.

use std::fmt;
use std::ops::Deref;

use crate::checked_size::CheckedSize;
use crate::per_dim::PerDim;

/// The sizes of a tensor, outermost first (`torch.Size`). It derefs to `[usize]`, and is made of
/// arrays, slices and vectors.
///
/// ```
/// use tensor::Shape;
/// let shape = Shape::from([2, 1, 3]);
/// assert_eq!((shape.len(), shape.numel(), shape[2]), (3, 6, 3));
/// assert_eq!(shape.broadcast(&[4, 1]), Some(Shape::from([2, 4, 3])));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(PerDim<usize>);

impl Shape {
    /// The number of elements; 1 for a shape without dimensions. It is `usize::MAX`, which no
    /// tensor has, if the number does not fit into `isize`.
    ///
    /// ```
    /// use tensor::Shape;
    /// assert_eq!(Shape::from([2, 3]).numel(), 6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn numel(&self) -> usize {
        self.checked_numel().unwrap_or(usize::MAX)
    }

    /// The number of elements, or `None` if it does not fit into `isize`.
    pub fn checked_numel(&self) -> Option<usize> {
        if self.contains(&0) {
            return Some(0);
        }
        self.iter().copied().product::<CheckedSize>().size()
    }

    /// The shape that `self` and `other` broadcast to (`torch.broadcast_shapes`), or `None` if they
    /// do not fit: sizes are aligned at the innermost dimension, and must be equal, or one of them
    /// 1 or missing.
    ///
    /// ```
    /// use tensor::Shape;
    /// assert_eq!(Shape::from([2, 1]).broadcast(&[3]), Some(Shape::from([2, 3])));
    /// assert_eq!(Shape::from([2]).broadcast(&[3]), None);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn broadcast(&self, other: &[usize]) -> Option<Shape> {
        let dims = self.len().max(other.len());
        let size = |shape: &[usize], dim: usize| {
            (dim + shape.len()).checked_sub(dims).map_or(1, |own| shape[own])
        };
        (0..dims)
            .map(|dim| match (size(self, dim), size(other, dim)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect()
    }

    /// The shape without dimension `dim`, which must exist.
    pub(crate) fn without(&self, dim: usize) -> Shape {
        self.iter().enumerate().filter(|(d, _)| *d != dim).map(|(_, &size)| size).collect()
    }

    /// Exchanges two dimensions, which must exist.
    pub(crate) fn swap(&mut self, first: usize, second: usize) {
        self.0.swap(first, second);
    }

    /// The shape with a dimension more, of that size, at `dim`.
    pub(crate) fn inserted(&self, dim: usize, size: usize) -> Shape {
        Shape(self.0.inserted(dim, size))
    }

    /// The shape with the size along `dim`, which must exist, replaced.
    #[inline]
    pub(crate) fn with(&self, dim: usize, size: usize) -> Shape {
        let mut shape = self.clone();
        shape.sizes_mut()[dim] = size;
        shape
    }

    /// The sizes, to be changed.
    #[inline]
    pub(crate) fn sizes_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

impl Deref for Shape {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Written as `[2, 3]`, on one line.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Shape {
        Shape(sizes.into_iter().collect())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(sizes: [usize; N]) -> Shape {
        Shape(sizes.into_iter().collect())
    }
}

impl From<&[usize]> for Shape {
    fn from(sizes: &[usize]) -> Shape {
        Shape(PerDim::from(sizes))
    }
}

impl From<&Vec<usize>> for Shape {
    fn from(sizes: &Vec<usize>) -> Shape {
        Shape(PerDim::from(sizes.as_slice()))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(sizes: Vec<usize>) -> Shape {
        Shape(sizes.into())
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Shape {
        shape.clone()
    }
}

/// One dimension of the given size.
impl From<usize> for Shape {
    fn from(size: usize) -> Shape {
        Shape::from([size])
    }
}

/// No dimensions: a single element.
impl From<()> for Shape {
    fn from((): ()) -> Shape {
        Shape::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_innermost_dimension() {
        let broadcast = |a: &[usize], b: &[usize]| Shape::from(a).broadcast(b);
        assert_eq!(broadcast(&[2, 1, 3], &[4, 1]), Some([2, 4, 3].into()));
        assert_eq!(broadcast(&[], &[5]), Some([5].into()));
        assert_eq!(broadcast(&[0], &[1]), Some([0].into()));
        assert_eq!(broadcast(&[2], &[3]), None);
    }

    #[test]
    fn a_shape_with_a_zero_is_empty_whatever_its_other_sizes() {
        assert_eq!(Shape::from([usize::MAX, 0, 2]).checked_numel(), Some(0));
        assert_eq!(Shape::from([usize::MAX, 2]).checked_numel(), None);
        assert_eq!(Shape::from([1 << 32, 1 << 31]).checked_numel(), None);
        assert_eq!(Shape::from([1 << 32, 1 << 31]).numel(), usize::MAX);
    }
}
