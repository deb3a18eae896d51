//! Fractional max pooling: windows whose distances are drawn at random.

use std::panic::Location;

use gpu_runtime::at_place;

use super::geometry::{bounded, check_dims};
use super::options::{FractionalMaxPoolOptions, FractionalPoolSize};
use crate::{DType, Error, Result, Scalar, Shape, Tensor, no_grad};

/// Makes the methods for a number of axes. `$samples` is the number of the sample for each axis.
macro_rules! fractional_pools {
    ($($axes:literal, $dims:literal, $samples:tt: $pool:ident, $pool_with:ident, $x:literal;)+) => {
        /// Fractional max pooling: the largest element of each of so many windows, which overlap, and lie one
        /// or two distances apart at random, so that sizes can shrink by any factor.
        ///
        /// B. Graham: "Fractional Max-Pooling" (2014).
        ///
        /// The random numbers are those of the options, or drawn from the generator of the tensor's device.
        /// The gradient goes to the elements that are chosen. All fail if the tensor has not one or two
        /// dimensions before those of the windows, or is not of floats; if a size is 0, or so large that
        /// the windows have no room; or if the random numbers have another shape than
        /// `[batch or 1, channels, axes]`, or another dtype or device than the tensor.
        impl Tensor {$(
            #[doc = concat!("The largest element of each window over the last ", $dims, ".")]
            ///
            /// ```
            /// use tensor::{FractionalMaxPoolOptions, Tensor};
            #[doc = concat!("let x = Tensor::arange(64.0, ())?.reshape(", $x, ")?;")]
            /// let options = FractionalMaxPoolOptions::to_ratio(2, 0.8);
            #[doc = concat!("assert_eq!(x.", stringify!($pool), "(&options)?.max()?.item::<f32>()?, 63.0);")]
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $pool(&self, options: &FractionalMaxPoolOptions<$axes>) -> Result<Tensor> {
                Ok(pooled(stringify!($pool), self, options, $samples)?.0)
            }

            #[doc = concat!("[`Tensor::", stringify!($pool), "`] and the indices of the elements (`return_indices=True`).")]
            ///
            /// ```
            /// use tensor::{FractionalMaxPoolOptions, Tensor};
            #[doc = concat!("let x = Tensor::arange(64.0, ())?.reshape(", $x, ")?;")]
            /// let options = FractionalMaxPoolOptions::to_ratio(2, 0.8);
            #[doc = concat!("let (values, indices) = x.", stringify!($pool_with), "(&options)?;")]
            /// assert_eq!(values.to_vec::<f32>()?, indices.to(values.dtype())?.to_vec::<f32>()?);
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $pool_with(
                &self,
                options: &FractionalMaxPoolOptions<$axes>,
            ) -> Result<(Tensor, Tensor)> {
                pooled(stringify!($pool), self, options, $samples)
            }
        )+}
    };
}

fractional_pools! {
    2, "two dimensions", [1, 0]: fractional_max_pool2d, fractional_max_pool2d_with_indices, "[1, 8, 8]";
    3, "three dimensions", [0, 1, 2]: fractional_max_pool3d, fractional_max_pool3d_with_indices, "[1, 4, 4, 4]";
}

/// The largest elements and their places.
#[track_caller]
fn pooled<const N: usize>(
    op: &'static str,
    x: &Tensor,
    options: &FractionalMaxPoolOptions<N>,
    sample_of_axis: [usize; N],
) -> Result<(Tensor, Tensor)> {
    x.expect_floats(op)?;
    check_dims::<N>(op, x)?;
    let (leading, sizes) = x.shape().split_at(x.dims() - N);
    let axes = windows(op, sizes, options)?;
    let planes: usize = leading.iter().product();
    let elements: usize = sizes.iter().product();
    let results: usize = axes.iter().map(|axis| axis.output).product();
    let shape = leading.iter().copied().chain(axes.iter().map(|axis| axis.output));
    let shape = Shape::from_iter(shape);
    let rows = x.reshape([planes, elements])?;
    let choose = || {
        let samples = samples(op, x, options.samples.as_ref(), N)?.reshape([planes, N])?;
        let places = places(&axes, &samples, sizes, sample_of_axis)?;
        let inside = axes.iter().map(|axis| axis.kernel).product();
        let found = rows.detach().gather(1, &places.reshape([planes, results * inside])?)?;
        let (_, largest) = found.reshape([planes, results, inside])?.max_dim(-1)?;
        let places = places.reshape([planes, results, inside])?;
        places.gather(2, &largest.unsqueeze(-1)?)?.squeeze(-1)
    };
    let chosen = at_place(Location::caller(), || no_grad(choose))?;
    let values = rows.gather(1, &chosen)?.reshape(&shape)?;
    Ok((values, chosen.reshape(&shape)?))
}

/// The windows along one axis.
struct FractionalAxis {
    input: usize,
    output: usize,
    kernel: usize,
}

/// # Errors
/// A size is 0, or the windows have no room.
fn windows<const N: usize>(
    op: &'static str,
    sizes: &[usize],
    options: &FractionalMaxPoolOptions<N>,
) -> Result<Vec<FractionalAxis>> {
    let kernels = bounded(op, "kernel_size", options.kernel_size, 1)?;
    let outputs = match options.output {
        FractionalPoolSize::Size(outputs) => outputs.each(),
        // Cut towards zero; NaN and negative ones become 0.
        FractionalPoolSize::Ratio(ratios) => {
            std::array::from_fn(|axis| (sizes[axis] as f64 * ratios[axis]) as usize)
        }
    };
    let mut axes = Vec::with_capacity(N);
    for ((&input, kernel), output) in sizes.iter().zip(kernels).zip(outputs) {
        if output == 0 || output.saturating_add(kernel - 1) > input {
            let value = format!("{outputs:?} of {sizes:?} by windows of {kernels:?}");
            let why = "there must be a result along each axis, and room for different windows";
            return Err(Error::InvalidArgument { op, argument: "output_size", value, why });
        }
        axes.push(FractionalAxis { input, output, kernel });
    }
    Ok(axes)
}

/// The random numbers of each plane, one for each axis.
#[track_caller]
fn samples(op: &'static str, x: &Tensor, given: Option<&Tensor>, axes: usize) -> Result<Tensor> {
    let leading = &x.shape()[..x.dims() - axes];
    let shape = match *leading {
        [channels] => [1, channels, axes],
        [batch, channels, ..] => [batch, channels, axes],
        [] => [1, 1, axes],
    };
    let Some(given) = given else {
        return Tensor::rand(shape, (x.dtype(), x.device()));
    };
    crate::dispatch::same_device(op, &[("self", x), ("samples", given)])?;
    crate::dispatch::same_dtype(op, &[("self", x), ("samples", given)])?;
    // Those of a larger batch will do: the first ones are taken.
    match *given.shape() {
        [batch, channels, of_axes] if batch >= shape[0] && [channels, of_axes] == shape[1..] => {
            given.detach().narrow(0, 0, shape[0])
        }
        _ => {
            let [own, theirs] = [x, given].map(|tensor| tensor.layout().shape().clone());
            let rule = "`samples` must be [batch or 1, channels, axes]";
            let shapes = vec![("self", own), ("samples", theirs)];
            Err(Error::ShapeMismatch { op, shapes, rule })
        }
    }
}

/// The places in their plane of the elements of all windows: `[planes, results.., elements..]`, with a
/// size for each axis of both.
#[track_caller]
fn places(
    axes: &[FractionalAxis],
    samples: &Tensor,
    sizes: &[usize],
    sample_of_axis: impl AsRef<[usize]>,
) -> Result<Tensor> {
    let (planes, long) = (samples.shape()[0], (DType::I64, samples.device()));
    let mut sum: Option<Tensor> = None;
    for (at, axis) in axes.iter().enumerate() {
        let sample = samples.narrow(1, sample_of_axis.as_ref()[at], 1)?;
        let inside = Tensor::arange(0..axis.kernel as i64, long)?;
        let stride: usize = sizes[at + 1..].iter().product();
        let along = starts(axis, &sample)?.unsqueeze(-1)?.add(&inside)?.mul(stride as i64)?;
        let mut shape = vec![1; 1 + 2 * axes.len()];
        (shape[0], shape[1 + at], shape[1 + axes.len() + at]) = (planes, axis.output, axis.kernel);
        let along = along.reshape(shape)?;
        sum = Some(match sum {
            Some(sum) => sum.add(&along)?,
            None => along,
        });
    }
    Ok(sum.expect("there are axes"))
}

/// The first elements of the windows along an axis, `[planes, results]`. The last window ends with the
/// axis; of the others each lies its share of the way there, rounded down, from a random place on. The
/// share is computed in the tensor's dtype, as PyTorch has it.
#[track_caller]
fn starts(axis: &FractionalAxis, sample: &Tensor) -> Result<Tensor> {
    let (planes, dtype, device) = (sample.shape()[0], sample.dtype(), sample.device());
    let room = axis.input - axis.kernel;
    let last = Tensor::full([planes, 1], room as i64, (DType::I64, device))?;
    if axis.output == 1 {
        return Ok(last);
    }
    let share = Scalar::Float(room as f64 / (axis.output - 1) as f64);
    let share = Scalar::from_bits(share.bits(dtype), dtype);
    let numbers = Tensor::arange(0..(axis.output - 1) as i64, (DType::I64, device))?;
    let rounded = |place: Tensor| place.mul(share)?.to(DType::I64);
    let ends = rounded(sample.add(&numbers.to(dtype)?)?)?;
    Tensor::cat([&ends.sub(&rounded(sample.clone())?)?, &last], 1)
}
