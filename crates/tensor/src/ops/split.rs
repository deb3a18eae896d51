//! Views of the parts of a tensor along a dimension.

use crate::dims::resolve_dim;
use crate::{Error, Result, Tensor};

/// The points at which [`Tensor::tensor_split`] and its like cut: a number of parts, or indices.
#[derive(Clone, Debug)]
pub enum SplitPoints<'a> {
    /// So many parts, the first of which are larger by one where the size does not divide.
    Sections(usize),
    /// Cuts before these indices, which count from the end where they are negative.
    Indices(&'a [isize]),
}

/// The most parts without elements that a number of sections may ask for. Each is a tensor, so a
/// number that is large by mistake would take the memory of the process.
const MAX_EMPTY_PARTS: usize = 1 << 16;
/// The most parts of a dimension, which may be long without memory where it repeats its elements.
const MAX_SECTIONS: usize = 1 << 24;

/// Views of parts.
impl Tensor {
    /// Parts of the given sizes along `dim`.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let parts = Tensor::zeros([5], ())?.split_with_sizes(&[2, 3], 0)?;
    /// assert_eq!((parts[0].shape(), parts[1].shape()), (&[2][..], &[3][..]));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or the sizes do not add up to its size.
    #[track_caller]
    pub fn split_with_sizes(&self, sizes: &[usize], dim: isize) -> Result<Vec<Tensor>> {
        const OP: &str = "split_with_sizes";
        self.at_least(OP, 1)?;
        let own = resolve_dim(OP, dim, self.dims())?;
        let sum = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if sum != Some(self.shape()[own]) {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "sizes",
                value: format!("{sizes:?} for a dimension of {}", self.shape()[own]),
                why: "they must add up to the size of the dimension",
            });
        }
        self.parts(OP, own, sizes)
    }

    /// Parts along `dim`, cut at the points; a part may be empty.
    ///
    /// ```
    /// use tensor::{SplitPoints, Tensor};
    /// let x = Tensor::zeros([7], ())?;
    /// let sizes = |points| -> tensor::Result<Vec<usize>> {
    ///     Ok(x.tensor_split(points, 0)?.iter().map(|part| part.numel()).collect())
    /// };
    /// assert_eq!(sizes(SplitPoints::Sections(3))?, [3, 2, 2]);
    /// assert_eq!(sizes(SplitPoints::Indices(&[1, -2]))?, [1, 4, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; no part is asked for, or 65,536 more than there are elements
    /// along the dimension.
    #[track_caller]
    pub fn tensor_split(&self, points: SplitPoints<'_>, dim: isize) -> Result<Vec<Tensor>> {
        const OP: &str = "tensor_split";
        self.at_least(OP, 1)?;
        let own = resolve_dim(OP, dim, self.dims())?;
        let size = self.shape()[own];
        match points {
            SplitPoints::Sections(0) => Err(no_sections(OP, 0, size)),
            SplitPoints::Sections(count) if count > size.saturating_add(MAX_EMPTY_PARTS) => {
                Err(Error::InvalidArgument {
                    op: OP,
                    argument: "sections",
                    value: format!("{count} for a dimension of {size}"),
                    why: "at most 65,536 parts can be empty",
                })
            }
            SplitPoints::Sections(count) if count > MAX_SECTIONS => Err(Error::InvalidArgument {
                op: OP,
                argument: "sections",
                value: count.to_string(),
                why: "at most 16,777,216",
            }),
            SplitPoints::Sections(count) => {
                let (least, larger) = (size / count, size % count);
                let sizes: Vec<usize> =
                    (0..count).map(|part| least + usize::from(part < larger)).collect();
                self.parts(OP, own, &sizes)
            }
            SplitPoints::Indices(indices) => {
                let ends = indices.iter().copied().chain([isize::MAX]);
                let starts = [0].into_iter().chain(indices.iter().copied());
                let mut parts = Vec::with_capacity(indices.len() + 1);
                // A loop, since in a closure the caller's place would be lost.
                for (start, end) in starts.zip(ends) {
                    parts.push(self.slice(own as isize, start, end, 1)?);
                }
                Ok(parts)
            }
        }
    }

    /// [`Tensor::tensor_split`] of the columns: of dimension 1, or of a vector's only one. A number
    /// of sections must divide the size.
    ///
    /// ```
    /// use tensor::{SplitPoints, Tensor};
    /// let x = Tensor::zeros([2, 4], ())?;
    /// assert_eq!(x.hsplit(SplitPoints::Sections(2))?[0].shape(), [2, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no dimension, or the number of sections does not divide its size.
    #[track_caller]
    pub fn hsplit(&self, points: SplitPoints<'_>) -> Result<Vec<Tensor>> {
        self.at_least("hsplit", 1)?;
        self.split_evenly("hsplit", points, usize::from(self.dims() > 1))
    }

    /// [`Tensor::tensor_split`] of the rows. A number of sections must divide the size.
    ///
    /// ```
    /// use tensor::{SplitPoints, Tensor};
    /// let x = Tensor::zeros([4, 2], ())?;
    /// assert_eq!(x.vsplit(SplitPoints::Sections(2))?[0].shape(), [2, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer dimensions than two, or the number of sections does not divide the size.
    #[track_caller]
    pub fn vsplit(&self, points: SplitPoints<'_>) -> Result<Vec<Tensor>> {
        self.at_least("vsplit", 2)?;
        self.split_evenly("vsplit", points, 0)
    }

    /// [`Tensor::tensor_split`] of the third dimension. A number of sections must divide the size.
    ///
    /// ```
    /// use tensor::{SplitPoints, Tensor};
    /// let x = Tensor::zeros([1, 2, 4], ())?;
    /// assert_eq!(x.dsplit(SplitPoints::Sections(2))?[0].shape(), [1, 2, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer dimensions than three, or the number of sections does not divide the size.
    #[track_caller]
    pub fn dsplit(&self, points: SplitPoints<'_>) -> Result<Vec<Tensor>> {
        self.at_least("dsplit", 3)?;
        self.split_evenly("dsplit", points, 2)
    }

    #[track_caller]
    fn split_evenly(
        &self,
        op: &'static str,
        points: SplitPoints<'_>,
        dim: usize,
    ) -> Result<Vec<Tensor>> {
        let size = self.shape()[dim];
        match points {
            SplitPoints::Sections(count) if count == 0 || !size.is_multiple_of(count) => {
                Err(no_sections(op, count, size))
            }
            points => self.tensor_split(points, dim as isize),
        }
    }
}

fn no_sections(op: &'static str, count: usize, size: usize) -> Error {
    Error::InvalidArgument {
        op,
        argument: "sections",
        value: format!("{count} for a dimension of {size}"),
        why: "there must be at least one, and hsplit, vsplit and dsplit cut into equal parts",
    }
}
