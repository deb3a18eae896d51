//! Max pooling.

use std::panic::Location;

use cpu_kernels::pooling::Pooling;
use gpu_runtime::at_place;
use smallvec::smallvec;

use super::geometry::{SlidingWindows, check_dims, plan};
use super::options::{AdaptivePoolSize, MaxPoolOptions};
use super::{adaptive_axis, pooled_dtype};
use crate::autograd::record_outputs;
use crate::dispatch::abi::PooledWindows;
use crate::dispatch::{self, Operator, PoolCall};
use crate::host::pool as kernels;
use crate::ops::convert::dense;
use crate::{Result, Tensor, is_grad_enabled, no_grad};

static MAX_POOL: Operator<PooledWindows> = Operator::new("max_pool", kernels::MAX_POOL);
static MAX_POOL_BACKWARD: Operator<PooledWindows> =
    Operator::new("max_pool_backward", kernels::MAX_POOL_BACKWARD);

/// Makes the methods for a number of axes.
macro_rules! max_pools {
    ($($axes:literal, $dims:literal: $max:ident, $max_with:ident, $adaptive:ident, $adaptive_with:ident,
        $x:literal, $pooled:literal, $halved:literal;)+) => {
        /// Max pooling: the largest element of each window, the first of equal ones, and NaN where there
        /// is one. The gradient goes to the elements that are chosen.
        ///
        /// Indices are those of the elements in their planes, as `I64`. There are no largest truth
        /// values. On CUDA the work is enqueued.
        ///
        /// All fail if the tensor has not one or two dimensions before those of the windows, or another
        /// than the batch has size 0; those with [`MaxPoolOptions`] also if a window has no room, the
        /// padding is more than half of one, or a number is 0 or too large.
        impl Tensor {$(
            #[doc = concat!("The largest element of each window over the last ", $dims, ".")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::arange(16.0, ())?.reshape(", $x, ")?;")]
            #[doc = concat!("assert_eq!(x.", stringify!($max), "(2)?.to_vec::<f32>()?, ", $pooled, ");")]
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $max(&self, options: impl Into<MaxPoolOptions<$axes>>) -> Result<Tensor> {
                Ok(sliding(stringify!($max), self, &options.into(), false)?.0)
            }

            #[doc = concat!("[`Tensor::", stringify!($max), "`] and the indices of the elements (`return_indices=True`).")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::arange(16.0, ())?.reshape(", $x, ")?;")]
            #[doc = concat!("let (values, indices) = x.", stringify!($max_with), "(2)?;")]
            /// assert_eq!(values.to_vec::<f32>()?, indices.to(values.dtype())?.to_vec::<f32>()?);
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $max_with(
                &self,
                options: impl Into<MaxPoolOptions<$axes>>,
            ) -> Result<(Tensor, Tensor)> {
                let (values, places) = sliding(stringify!($max), self, &options.into(), true)?;
                Ok((values, places.expect("they were asked for")))
            }

            #[doc = concat!("The largest element of each of so many parts of the last ", $dims, ".")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::arange(16.0, ())?.reshape(", $x, ")?;")]
            #[doc = concat!("assert_eq!(x.", stringify!($adaptive), "(1)?.to_vec::<f32>()?, ", $halved, ");")]
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $adaptive(
                &self,
                output_size: impl Into<AdaptivePoolSize<$axes>>,
            ) -> Result<Tensor> {
                Ok(adaptive(stringify!($adaptive), self, output_size.into(), false)?.0)
            }

            #[doc = concat!("[`Tensor::", stringify!($adaptive), "`] and the indices of the elements.")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::arange(16.0, ())?.reshape(", $x, ")?;")]
            #[doc = concat!("let (values, indices) = x.", stringify!($adaptive_with), "(1)?;")]
            /// assert_eq!(values.to_vec::<f32>()?, indices.to(values.dtype())?.to_vec::<f32>()?);
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $adaptive_with(
                &self,
                output_size: impl Into<AdaptivePoolSize<$axes>>,
            ) -> Result<(Tensor, Tensor)> {
                let size = output_size.into();
                let (values, places) = adaptive(stringify!($adaptive), self, size, true)?;
                Ok((values, places.expect("they were asked for")))
            }
        )+}
    };
}

max_pools! {
    1, "dimension": max_pool1d, max_pool1d_with_indices, adaptive_max_pool1d,
        adaptive_max_pool1d_with_indices, "[1, 16]",
        "[1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0]", "[15.0]";
    2, "two dimensions": max_pool2d, max_pool2d_with_indices, adaptive_max_pool2d,
        adaptive_max_pool2d_with_indices, "[1, 4, 4]", "[5.0, 7.0, 13.0, 15.0]", "[15.0]";
    3, "three dimensions": max_pool3d, max_pool3d_with_indices, adaptive_max_pool3d,
        adaptive_max_pool3d_with_indices, "[1, 2, 4, 2]", "[11.0, 15.0]", "[15.0]";
}

#[track_caller]
fn sliding<const N: usize>(
    op: &'static str,
    x: &Tensor,
    options: &MaxPoolOptions<N>,
    has_places: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    check_dims::<N>(op, x)?;
    let MaxPoolOptions { kernel_size, stride, padding, dilation, ceil_mode } = *options;
    let windows = SlidingWindows { kernel_size, stride, padding, dilation, ceil_mode };
    let call = plan::<N>(x, Pooling::Max, |axis, input| windows.along(op, axis, input))?;
    pooled(op, x, call, has_places)
}

#[track_caller]
fn adaptive<const N: usize>(
    op: &'static str,
    x: &Tensor,
    sizes: AdaptivePoolSize<N>,
    has_places: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    check_dims::<N>(op, x)?;
    let along = |axis: usize, input| Ok(adaptive_axis(input, sizes.each()[axis]));
    pooled(op, x, plan::<N>(x, Pooling::Max, along)?, has_places)
}

/// The largest elements, and their places if they are asked for.
#[track_caller]
fn pooled(
    op: &'static str,
    x: &Tensor,
    call: PoolCall,
    has_places: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let is_recorded = is_grad_enabled() && x.requires_grad();
    let (source, dtype) = (x.detach(), pooled_dtype(x));
    let compute = || -> Result<(Tensor, Option<Tensor>)> {
        let source = dense(&source, dtype)?;
        let (values, places) =
            dispatch::pool(&MAX_POOL, &call, &source, has_places || is_recorded)?;
        Ok((dense(&values, x.dtype())?, places))
    };
    let (values, places) = at_place(Location::caller(), || no_grad(compute))?;
    let Some(chosen) = places else { return Ok((values, None)) };
    let outputs = if has_places { vec![values, chosen.clone()] } else { vec![values] };
    let mut outputs = record_outputs(op, &[x], outputs, |saving| {
        let (chosen, source) = (saving.save(&chosen), saving.watch(x));
        move |gradients: &[Option<Tensor>], _: &[bool]| {
            source.check()?;
            let Some(grad) = &gradients[0] else { return Ok(smallvec![None]) };
            Ok(smallvec![Some(gradient(&call, grad, &chosen.get()?)?)])
        }
    });
    let places = if has_places { outputs.pop() } else { None };
    Ok((outputs.pop().expect("there are values"), places))
}

/// The gradient of the elements, in recorded operations where it is to be differentiated itself.
#[track_caller]
fn gradient(call: &PoolCall, grad: &Tensor, places: &Tensor) -> Result<Tensor> {
    if !is_grad_enabled() {
        let compute = || {
            let grad = dense(grad, grad.dtype())?;
            dispatch::pool_backward(&MAX_POOL_BACKWARD, call, &grad, Some(places))
        };
        return at_place(Location::caller(), compute);
    }
    let planes = call.windows.planes;
    let plane = |numel: usize| [planes, numel.checked_div(planes).unwrap_or(0)];
    let inputs = plane(call.input.numel());
    let outputs = plane(call.output.numel());
    let zeros = Tensor::zeros(inputs, (grad.dtype(), grad.device()))?;
    let places = places.reshape(outputs)?;
    zeros.scatter_add(1, &places, &grad.reshape(outputs)?)?.reshape(&call.input)
}
