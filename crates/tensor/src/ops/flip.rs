//! Copies of the elements in another order along dimensions: flipped, rotated, rolled, repeated.

use super::convert::convert;
use crate::autograd::record;
use crate::dims::{Dims, resolve_dim, resolve_dims};
use crate::{Error, Result, Shape, Tensor};

/// Copies in another order; gradients flow through.
impl Tensor {
    /// The elements in reverse order along the dimensions: a copy.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, 2.0, 3.0]?.flip(0)?.to_vec::<f32>()?, [3.0, 2.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or one is given twice.
    #[track_caller]
    pub fn flip(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        let dims = dims.into();
        if dims.is_empty() {
            return self.clone_data();
        }
        let reversed = resolve_dims("flip", &dims, self.dims())?;
        let view = self.alias(self.layout().reversed(&reversed))?;
        let copy = convert(&view, self.dtype())?;
        Ok(record("flip", [self], copy, |_| {
            move |grad: &Tensor, _| Ok([Some(grad.flip(dims.clone())?)])
        }))
    }

    /// The columns in reverse order: [`Tensor::flip`] of dimension 1.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.fliplr()?.to_vec::<f32>()?, [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer dimensions than two.
    #[track_caller]
    pub fn fliplr(&self) -> Result<Tensor> {
        self.at_least("fliplr", 2)?;
        self.flip(1)
    }

    /// The rows in reverse order: [`Tensor::flip`] of dimension 0.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.flipud()?.to_vec::<f32>()?, [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no dimension.
    #[track_caller]
    pub fn flipud(&self) -> Result<Tensor> {
        self.at_least("flipud", 1)?;
        self.flip(0)
    }

    /// The tensor turned by `turns` right angles in the plane of two dimensions, from the first
    /// towards the second.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.rot90(1, [0, 1])?.to_vec::<f32>()?, [2.0, 4.0, 1.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or both are the same.
    #[track_caller]
    pub fn rot90(&self, turns: isize, dims: [isize; 2]) -> Result<Tensor> {
        const OP: &str = "rot90";
        self.at_least(OP, 2)?;
        resolve_dims(OP, &dims, self.dims())?;
        let [first, second] = dims;
        match turns.rem_euclid(4) {
            1 => self.flip(second)?.transpose(first, second),
            2 => self.flip(dims),
            3 => self.flip(first)?.transpose(first, second),
            _ => self.clone_data(),
        }
    }

    /// The elements moved by `shifts` along `dims`; those that leave at the end come back at the
    /// start. Without dimensions the tensor is rolled as if it were flat.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, 2.0, 3.0]?.roll(1, 0)?.to_vec::<f32>()?, [3.0, 1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is not one shift for each dimension, or there is no such dimension.
    #[track_caller]
    pub fn roll(&self, shifts: impl Into<Dims>, dims: impl Into<Dims>) -> Result<Tensor> {
        let (shifts, dims) = (shifts.into(), dims.into());
        if let (&[shift], []) = (&*shifts, &*dims) {
            return self.flatten()?.roll(shift, 0)?.reshape(self.layout().shape());
        }
        if shifts.is_empty() || shifts.len() != dims.len() {
            return Err(Error::InvalidArgument {
                op: "roll",
                argument: "shifts",
                value: format!("{:?} for the dimensions {:?}", &*shifts, &*dims),
                why: "there must be one for each dimension",
            });
        }
        let mut rolled = self.clone();
        for (&shift, &dim) in shifts.iter().zip(&*dims) {
            let size = self.size(dim)?;
            if size == 0 || self.dims() == 0 {
                continue;
            }
            let moved = shift.rem_euclid(size as isize) as usize;
            let parts =
                [rolled.narrow(dim, size - moved, moved)?, rolled.narrow(dim, 0, size - moved)?];
            rolled = Tensor::cat([&parts[0], &parts[1]], dim)?;
        }
        rolled.copied_from(self)
    }

    /// The elements rolled by half of each dimension, or of all (`()`), so that the first one comes to
    /// the middle (`torch.fft.fftshift`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![0, 1, 2, -2, -1]?;
    /// assert_eq!(x.fftshift(())?.to_vec::<i64>()?, [-2, -1, 0, 1, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension.
    #[track_caller]
    pub fn fftshift(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        rolled_by("fftshift", self, &dims.into(), |size| size / 2)
    }

    /// The elements rolled back by half of each dimension, or of all (`()`), which undoes
    /// [`Tensor::fftshift`] (`torch.fft.ifftshift`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![-2, -1, 0, 1, 2]?;
    /// assert_eq!(x.ifftshift(())?.to_vec::<i64>()?, [0, 1, 2, -2, -1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension.
    #[track_caller]
    pub fn ifftshift(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        rolled_by("ifftshift", self, &dims.into(), |size| size.div_ceil(2))
    }

    /// The tensor repeated along each dimension, as often as `repeats` says; further ones in front
    /// are new dimensions. It is a copy.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?.repeat([2, 2])?;
    /// assert_eq!((x.shape(), x.to_vec::<f32>()?), (&[2, 4][..], [1.0, 2.0].repeat(4)));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer numbers than dimensions; memory is short.
    #[track_caller]
    pub fn repeat(&self, repeats: impl Into<Shape>) -> Result<Tensor> {
        let repeats = repeats.into();
        let Some(added) = repeats.len().checked_sub(self.dims()) else {
            return Err(Error::InvalidArgument {
                op: "repeat",
                argument: "repeats",
                value: format!("{repeats} for the shape {}", self.layout().shape()),
                why: "there must be one for each dimension",
            });
        };
        let mut view = self.clone();
        let (mut expanded, mut merged) = (Vec::new(), Vec::new());
        for (position, &times) in repeats.iter().enumerate() {
            match position.checked_sub(added) {
                None => {
                    expanded.push(times);
                    merged.push(times);
                }
                Some(own) => {
                    view = view.unsqueeze(2 * own as isize)?;
                    expanded.extend([times, self.shape()[own]]);
                    merged.push(times.saturating_mul(self.shape()[own]));
                }
            }
        }
        view.expand(expanded)?.reshape(Shape::from(merged))?.copied_from(self)
    }

    /// [`Tensor::repeat`], where missing numbers in front are 1.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1, 2]?.tile([2])?.to_vec::<i64>()?, [1, 2, 1, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub fn tile(&self, repeats: impl Into<Shape>) -> Result<Tensor> {
        let repeats = repeats.into();
        let missing = self.dims().saturating_sub(repeats.len());
        let all: Vec<usize> =
            std::iter::repeat_n(1, missing).chain(repeats.iter().copied()).collect();
        self.repeat(all)
    }

    /// The tensor itself, or a copy where it shares the memory of `source`.
    #[track_caller]
    pub(super) fn copied_from(self, source: &Tensor) -> Result<Tensor> {
        if self.shares_memory_with(source) { self.clone_data() } else { Ok(self) }
    }
}

/// The elements rolled along the dimensions, or all, by as much as each one's size says.
#[track_caller]
fn rolled_by(
    op: &'static str,
    x: &Tensor,
    dims: &Dims,
    shift: fn(usize) -> usize,
) -> Result<Tensor> {
    let mut rolled: Vec<isize> = (0..x.dims() as isize).collect();
    if !dims.is_empty() {
        let resolved = dims.iter().map(|&dim| resolve_dim(op, dim, x.dims()));
        rolled = resolved.map(|dim| dim.map(|dim| dim as isize)).collect::<Result<_>>()?;
    }
    if rolled.is_empty() || x.dims() == 0 {
        return x.clone_data();
    }
    let shifts: Vec<usize> = rolled.iter().map(|&dim| shift(x.shape()[dim as usize])).collect();
    x.roll(&shifts, &rolled)
}
