//! Max unpooling: the largest elements of windows back in their places.

use std::panic::Location;

use gpu_runtime::at_place;

use super::geometry::check_dims;
use super::options::MaxUnpoolOptions;
use crate::autograd::record;
use crate::checked_size::CheckedSize;
use crate::dispatch::same_device;
use crate::{DType, Error, Result, Tensor, no_grad};

/// Makes the methods for a number of axes.
macro_rules! max_unpools {
    ($($axes:literal: $unpool:ident, $max:literal, $x:literal, $unpooled:literal;)+) => {
        /// Max unpooling: a tensor of zeros with the elements at the places that max pooling gave. Where
        /// several have one place, one of them is there. The gradient goes to all.
        ///
        /// All fail if the indices have another shape than the tensor, another dtype than `I64`, or are
        /// beyond the result's planes (on CUDA that is an assertion on the device, which loses it), if a
        /// window's size or distance is 0, or if the output's size is not one that is pooled to the
        /// tensor's.
        impl Tensor {$(
            #[doc = concat!("The elements in the places that [`Tensor::", $max, "`] gave.")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::arange(", $x, ")?;")]
            #[doc = concat!("let (values, indices) = x.", $max, "(2)?;")]
            #[doc = concat!("let y = values.", stringify!($unpool), "(&indices, 2)?;")]
            #[doc = concat!("assert_eq!(y.to_vec::<f32>()?, ", $unpooled, ");")]
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $unpool(
                &self,
                indices: &Tensor,
                options: impl Into<MaxUnpoolOptions<$axes>>,
            ) -> Result<Tensor> {
                unpooled(stringify!($unpool), self, indices, &options.into())
            }
        )+}
    };
}

max_unpools! {
    1: max_unpool1d, "max_pool1d_with_indices", "4.0, ())?.reshape([1, 4]", "[0.0, 1.0, 0.0, 3.0]";
    2: max_unpool2d, "max_pool2d_with_indices", "4.0, ())?.reshape([1, 2, 2]",
        "[0.0, 0.0, 0.0, 3.0]";
    3: max_unpool3d, "max_pool3d_with_indices", "8.0, ())?.reshape([1, 2, 2, 2]",
        "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0]";
}

#[track_caller]
fn unpooled<const N: usize>(
    op: &'static str,
    x: &Tensor,
    indices: &Tensor,
    options: &MaxUnpoolOptions<N>,
) -> Result<Tensor> {
    same_device(op, &[("self", x), ("indices", indices)])?;
    check_dims::<N>(op, x)?;
    if indices.dtype() != DType::I64 {
        let arguments = vec![("indices", indices.dtype())];
        return Err(Error::DTypeMismatch { op, arguments, rule: "indices are of dtype int64" });
    }
    if indices.shape() != x.shape() {
        let shape = |x: &Tensor| x.layout().shape().clone();
        let shapes = vec![("self", shape(x)), ("indices", shape(indices))];
        return Err(Error::ShapeMismatch { op, shapes, rule: "there must be an index for each" });
    }
    let first = x.dims() - N;
    let mut shape = x.shape().to_vec();
    for axis in 0..N {
        shape[first + axis] = output_size(op, options, axis, x.shape()[first + axis])?;
    }
    let planes: usize = shape[..first].iter().product();
    let zeros = Tensor::zeros(&*shape, (x.dtype(), x.device()))?;
    let rows = [planes, x.numel().checked_div(planes).unwrap_or(0)];
    let targets = [planes, zeros.numel().checked_div(planes).unwrap_or(0)];
    let values = x.detach();
    let compute = || {
        let (places, values) = (indices.reshape(rows)?, values.reshape(rows)?);
        let placed = zeros.reshape(targets)?.scatter(1, &places, &values);
        placed.map_err(|error| named(op, error))?.reshape(&*shape)
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record(op, [x], output, |saving| {
        // As they are, which may be views: a copy would be kept, too.
        let (places, shape) = (saving.save(indices), x.layout().shape().clone());
        move |grad: &Tensor, _| {
            let places = places.get()?.reshape(rows)?;
            Ok([Some(grad.reshape(targets)?.gather(1, &places)?.reshape(&shape)?)])
        }
    }))
}

/// The size of an axis of the result.
///
/// # Errors
/// A window's size or distance is 0, or the size is not one that is pooled to `input`.
fn output_size<const N: usize>(
    op: &'static str,
    options: &MaxUnpoolOptions<N>,
    axis: usize,
    input: usize,
) -> Result<usize> {
    let [kernel, stride, padding] =
        [options.kernel_size, options.stride, options.padding].map(|numbers| numbers.each()[axis]);
    let refused =
        |argument, value: String, why| Error::InvalidArgument { op, argument, value, why };
    for (argument, numbers) in [("kernel_size", options.kernel_size), ("stride", options.stride)] {
        if numbers.each()[axis] == 0 {
            return Err(refused(argument, numbers.to_string(), "it must be at least 1"));
        }
    }
    // The smallest size, of which `padding` is left out at each end.
    let padded = CheckedSize::from(input - 1) * stride + kernel;
    let removed = padding.checked_mul(2);
    let smallest = padded
        .size()
        .zip(removed)
        .and_then(|(padded, removed)| isize::try_from(padded).ok()?.checked_sub_unsigned(removed));
    let Some(smallest) = smallest else {
        return Err(refused("stride", options.stride.to_string(), "the result is too large"));
    };
    match options.output_size {
        None if smallest > 0 => Ok(smallest as usize),
        None => Err(refused("padding", options.padding.to_string(), "the result would be empty")),
        Some(sizes) => {
            let size = sizes[axis];
            let distance = isize::try_from(size).unwrap_or(isize::MAX).saturating_sub(smallest);
            match distance.unsigned_abs() < stride && size > 0 {
                true => Ok(size),
                false => {
                    let why = "each size must be less than a stride from the smallest one";
                    Err(refused("output_size", format!("{sizes:?}"), why))
                }
            }
        }
    }
}

/// The error of an index that there is not, as one of the operation that the program called.
fn named(op: &'static str, error: Error) -> Error {
    match error {
        Error::IndexOutOfRange { position, index, size, .. } => {
            Error::IndexOutOfRange { op, position, index, size }
        }
        error => error,
    }
}
