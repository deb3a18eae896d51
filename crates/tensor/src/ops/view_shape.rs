//! The shapes of views, of which one size may be left open.

use std::fmt;

use smallvec::SmallVec;

use crate::integer::{Integer, from_integer_lists, from_integer_tuples};
use crate::{Error, Result, Shape};

/// The sizes of a view. -1 stands for the size that follows from the others (in `view` and
/// `reshape`) or for the size that the tensor has (in `expand`). It is made from one integer, from
/// arrays, slices and vectors of integers, from tuples of integers of different types, and from a
/// [`Shape`]. An unsigned number is never -1.
///
/// ```
/// use tensor::Tensor;
/// let (batch, rest) = (2usize, 6);
/// let x = Tensor::zeros([batch, 3, 2], ())?;
/// assert_eq!(x.reshape((batch, -1))?.shape(), [2, 6]);
/// assert_eq!(x.view((batch, rest))?.shape(), [2, 6]);
/// assert_eq!(x.view(-1)?.shape(), [12]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ViewShape(SmallVec<[Size; 4]>);

/// One size of a view as it was given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Known(usize),
    /// -1
    Open,
    /// A negative number other than -1, which is refused.
    Negative(i128),
}

impl Size {
    fn of(size: impl Integer) -> Size {
        match size.widened() {
            -1 => Size::Open,
            size if size < 0 => Size::Negative(size),
            size => Size::Known(usize::try_from(size).unwrap_or(usize::MAX)),
        }
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Known(size) => size.fmt(f),
            Size::Open => f.write_str("-1"),
            Size::Negative(size) => size.fmt(f),
        }
    }
}

impl ViewShape {
    /// The shape of a view of `numel` elements.
    ///
    /// # Errors
    /// More than one size is open; they do not multiply to `numel`.
    pub(super) fn resolve(&self, op: &'static str, numel: usize) -> Result<Shape> {
        let refuse = |why| {
            let value = format!("{:?} of {numel} elements", self.0.as_slice());
            Error::InvalidArgument { op, argument: "shape", value, why }
        };
        if self.0.iter().any(|size| matches!(size, Size::Negative(_))) {
            return Err(refuse("sizes are 0 or more, or -1 for one left open"));
        }
        let open = self.0.iter().filter(|&&size| size == Size::Open).count();
        // A size left open is 1 here.
        let rest = match (open, self.with_open(1).checked_numel()) {
            (0, Some(product)) if product == numel => 0,
            (1, Some(product)) if product > 0 && numel.is_multiple_of(product) => numel / product,
            (1, Some(0)) if numel == 0 => {
                return Err(refuse("the size left open could be any, since there are no elements"));
            }
            (2.., _) => return Err(refuse("only one size may be left open")),
            (1, _) => return Err(refuse("the sizes that are known do not divide the elements")),
            _ => return Err(Error::WrongNumel { op, numel, shape: self.with_open(1) }),
        };
        Ok(self.with_open(rest))
    }

    /// The shape that `shape` is expanded to, where open sizes stay as they are.
    ///
    /// # Errors
    /// There are fewer sizes than in `shape`; an open or negative one has no size to keep.
    pub(super) fn expand(&self, op: &'static str, shape: &[usize]) -> Result<Shape> {
        let refuse = || Error::InvalidArgument {
            op,
            argument: "shape",
            value: format!("{:?}", self.0.as_slice()),
            why: "-1 keeps a size that the tensor has; the others are 0 or more",
        };
        let added = self.0.len().saturating_sub(shape.len());
        let size = |(dim, &size): (usize, &Size)| match size {
            Size::Known(size) => Some(size),
            Size::Open => dim.checked_sub(added).and_then(|own| shape.get(own)).copied(),
            Size::Negative(_) => None,
        };
        self.0.iter().enumerate().map(size).collect::<Option<Shape>>().ok_or_else(refuse)
    }

    /// The sizes, none of which is negative, with one in place of what is left open.
    fn with_open(&self, open: usize) -> Shape {
        let size = |&size: &Size| if let Size::Known(size) = size { size } else { open };
        self.0.iter().map(size).collect()
    }
}

impl<I: Integer> From<&[I]> for ViewShape {
    fn from(sizes: &[I]) -> ViewShape {
        ViewShape(sizes.iter().copied().map(Size::of).collect())
    }
}

/// One dimension of the given size.
impl<I: Integer> From<I> for ViewShape {
    fn from(size: I) -> ViewShape {
        [size].into()
    }
}

from_integer_lists!(ViewShape);
from_integer_tuples!(ViewShape);

impl From<Shape> for ViewShape {
    fn from(shape: Shape) -> ViewShape {
        (&*shape).into()
    }
}

impl From<&Shape> for ViewShape {
    fn from(shape: &Shape) -> ViewShape {
        (&**shape).into()
    }
}

/// No dimensions: a single element.
impl From<()> for ViewShape {
    fn from((): ()) -> ViewShape {
        ViewShape(SmallVec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_size_takes_what_is_left() {
        assert_eq!(ViewShape::from([2, -1]).resolve("view", 6).unwrap(), [2, 3].into());
        assert_eq!(ViewShape::from([-1]).resolve("view", 0).unwrap(), [0].into());
        assert!(ViewShape::from([4, -1]).resolve("view", 6).is_err());
        assert!(ViewShape::from([-1, -1]).resolve("view", 6).is_err());
        assert!(ViewShape::from([0, -1]).resolve("view", 0).is_err(), "it could be any size");
        assert!(ViewShape::from([-2, -3]).resolve("view", 6).is_err());
        assert!(ViewShape::from([usize::MAX]).resolve("view", 6).is_err());
        assert!(ViewShape::from([1usize << 32, 1 << 32]).resolve("view", 0).is_err());
    }

    #[test]
    fn expand_keeps_open_sizes() {
        let expanded = ViewShape::from([2, -1, 4]).expand("expand", &[3, 1]).unwrap();
        assert_eq!(expanded, [2, 3, 4].into());
        assert!(ViewShape::from([-1, 3]).expand("expand", &[3]).is_err());
    }
}
