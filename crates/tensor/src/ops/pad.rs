//! Padding: more elements around a tensor, or fewer.

use std::panic::Location;

use cpu_kernels::resample::{ResampleAxis, ResampleRule};
use gpu_runtime::at_place;
use smallvec::SmallVec;

use super::convert::copy_into;
use super::resample::resampled;
use crate::autograd::record;
use crate::dims::Dims;
use crate::{Error, Result, Scalar, Shape, Tensor, no_grad};

/// The elements that [`Tensor::pad`] puts around a tensor.
///
/// ```
/// use tensor::{PadMode, tensor};
/// let x = tensor![[1.0, 2.0, 3.0]]?;
/// assert_eq!(x.pad((1, 2), PadMode::Reflect)?.to_vec::<f32>()?, [2.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// One number. PyTorch's default is 0.
    Constant(Scalar),
    /// The elements beside the first and the last one, mirrored.
    Reflect,
    /// The first and the last element.
    Replicate,
    /// The elements of the other end.
    Circular,
}

/// Padding. It is given from the last dimension on: before and after its elements, before and after
/// those of the dimension before it, and so on. Negative numbers leave elements out.
impl Tensor {
    /// The tensor with elements around it (`torch.nn.functional.pad`). Of the modes that repeat elements
    /// each pads the last one to three dimensions, all but the first one or two.
    ///
    /// The gradient of an element is the sum of those of its repetitions, in a fixed order. On CUDA the
    /// work is enqueued.
    ///
    /// ```
    /// use tensor::{PadMode, tensor};
    /// let x = tensor![[1.0, 2.0, 3.0]]?;
    /// let circular = x.pad((1, 2), PadMode::Circular)?;
    /// assert_eq!(circular.to_vec::<f32>()?, [3.0, 1.0, 2.0, 3.0, 1.0, 2.0]);
    /// assert_eq!(x.pad((1, -1), PadMode::Constant(0.0.into()))?.to_vec::<f32>()?, [0.0, 1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The padding has an odd number of entries, or too many, or leaves a negative size; of the modes
    /// that repeat elements also if there are not one or two other dimensions, if nothing is left, if a
    /// reflection is as long as the dimension, or if a dimension would be repeated more than once.
    #[track_caller]
    pub fn pad(&self, padding: impl Into<Dims>, mode: PadMode) -> Result<Tensor> {
        let padding = padding.into();
        match mode {
            PadMode::Constant(value) => padded("pad", self, &padding, value),
            _ => repeated(self, &padding, mode),
        }
    }

    /// The tensor with `value`, converted to its dtype, around it, in any number of dimensions.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0]]?.constant_pad_nd((1, 0, 0, 1), 9.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [9.0, 1.0, 2.0, 9.0, 9.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The padding has an odd number of entries, or more than two for each dimension, or leaves out more
    /// elements than there are.
    #[track_caller]
    pub fn constant_pad_nd(
        &self,
        padding: impl Into<Dims>,
        value: impl Into<Scalar>,
    ) -> Result<Tensor> {
        padded("constant_pad_nd", self, &padding.into(), value.into())
    }
}

/// A dimension with its padding.
struct PaddedDim {
    size: usize,
    before: isize,
    after: isize,
}

impl PaddedDim {
    /// The size with the padding, or `None` if it is negative or too large.
    fn padded(&self) -> Option<usize> {
        let size = isize::try_from(self.size).ok()?;
        let padded = size.checked_add(self.before)?.checked_add(self.after)?;
        usize::try_from(padded).ok()
    }

    /// The elements that stay, the index of their first one, and where it goes; `None` if the two sides
    /// leave out more than there are.
    fn kept(&self) -> Option<[usize; 3]> {
        let start = self.before.min(0).unsigned_abs();
        let left_out = start.checked_add(self.after.min(0).unsigned_abs())?;
        Some([self.size.checked_sub(left_out)?, start, self.before.max(0) as usize])
    }
}

/// The last dimensions with their padding, the outermost first.
///
/// # Errors
/// The padding has an odd number of entries, or too many.
fn last_dims(op: &'static str, x: &Tensor, padding: &[isize]) -> Result<SmallVec<[PaddedDim; 4]>> {
    let count = padding.len() / 2;
    if padding.len() % 2 == 1 || count > x.dims() {
        let why = "it must have two entries for each of the last dimensions that it pads";
        return Err(refused(op, padding, why));
    }
    let sizes = x.shape()[x.dims() - count..].iter();
    let of =
        |(&size, sides): (&usize, &[isize])| PaddedDim { size, before: sides[0], after: sides[1] };
    Ok(sizes.zip(padding.chunks(2).rev()).map(of).collect())
}

#[cold]
fn refused(op: &'static str, padding: &[isize], why: &'static str) -> Error {
    Error::InvalidArgument { op, argument: "padding", value: format!("{padding:?}"), why }
}

#[track_caller]
fn padded(op: &'static str, x: &Tensor, padding: &[isize], value: Scalar) -> Result<Tensor> {
    let last = last_dims(op, x, padding)?;
    let first = x.dims() - last.len();
    let mut shape = x.shape().to_vec();
    let mut parts: SmallVec<[[usize; 3]; 4]> = SmallVec::new();
    for (at, dim) in last.iter().enumerate() {
        let why = "it leaves out more elements than there are, or is too large";
        let fits = dim.padded().zip(dim.kept());
        let (size, part) = fits.ok_or_else(|| refused(op, padding, why))?;
        shape[first + at] = size;
        parts.push(part);
    }
    let source = x.detach();
    let compute = || -> Result<Tensor> {
        let shape = Shape::from(shape);
        let output = match padding.iter().any(|&side| side > 0) {
            true => source.new_full(shape, value, ())?,
            false => Tensor::uninit(shape, source.dtype(), source.resolved_device())?,
        };
        let (mut from, mut to) = (source, output.clone());
        for (at, [len, start, target]) in parts.into_iter().enumerate() {
            let dim = (first + at) as isize;
            (from, to) = (from.narrow(dim, start, len)?, to.narrow(dim, target, len)?);
        }
        copy_into(&to, &from)?;
        Ok(output)
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record(op, [x], output, |_| {
        let opposite: SmallVec<[isize; 8]> = padding.iter().map(|side| -side).collect();
        move |grad: &Tensor, _| Ok([Some(padded(op, grad, &opposite, 0.into())?)])
    }))
}

/// Padding with elements of the tensor itself.
#[track_caller]
fn repeated(x: &Tensor, padding: &[isize], mode: PadMode) -> Result<Tensor> {
    const OP: &str = "pad";
    let last = last_dims(OP, x, padding)?;
    let others = x.dims() - last.len();
    if !(1..=3).contains(&last.len()) || !(1..=2).contains(&others) {
        let rule = "elements are repeated along the last one to three dimensions, all but the first \
                    one or two";
        return Err(Error::ShapeMismatch {
            op: OP,
            shapes: vec![("self", x.layout().shape().clone())],
            rule,
        });
    }
    if x.shape()[others - 1..].contains(&0) {
        return Err(refused(OP, padding, "only the batch may be empty"));
    }
    let mut kept = x.clone();
    let mut axes: SmallVec<[ResampleAxis; 3]> = SmallVec::new();
    for (at, mut dim) in last.into_iter().enumerate() {
        if mode == PadMode::Circular {
            // What is left out is not repeated either.
            let why = "it leaves out more elements than there are";
            let [len, start, _] = dim.kept().ok_or_else(|| refused(OP, padding, why))?;
            kept = kept.narrow((others + at) as isize, start, len)?;
            dim = PaddedDim { size: len, before: dim.before.max(0), after: dim.after.max(0) };
        }
        axes.push(axis(&dim, mode).map_err(|why| refused(OP, padding, why))?);
    }
    resampled(OP, &kept, &axes)
}

/// The rule of a dimension that is padded with its own elements, or the reason why there is none.
fn axis(dim: &PaddedDim, mode: PadMode) -> Result<ResampleAxis, &'static str> {
    let &PaddedDim { size, before, after } = dim;
    let longest = isize::try_from(size).map_err(|_| "the dimension is too large")?;
    let output = dim.padded().filter(|&output| output > 0).ok_or("nothing would be left")?;
    let rule = match mode {
        PadMode::Reflect if before.max(after) < longest => ResampleRule::Reflect { before },
        PadMode::Reflect => return Err("a reflection must be shorter than the dimension"),
        PadMode::Circular if before.max(after) <= longest => ResampleRule::Circular { before },
        PadMode::Circular => return Err("a dimension is repeated no more than once at each side"),
        PadMode::Replicate | PadMode::Constant(_) => ResampleRule::Replicate { before },
    };
    Ok(ResampleAxis { input: size, output, rule })
}
