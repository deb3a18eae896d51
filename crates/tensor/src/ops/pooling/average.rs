//! Average pooling.

use std::panic::Location;

use cpu_kernels::pooling::Pooling;
use gpu_runtime::at_place;

use super::geometry::{SlidingWindows, check_dims, plan};
use super::options::{AdaptivePoolSize, AvgPoolOptions, PerAxis};
use super::{adaptive_axis, pooled_dtype};
use crate::autograd::record;
use crate::dims::keepdim;
use crate::dispatch::abi::PooledWindows;
use crate::dispatch::{self, Operator, PoolCall};
use crate::host::pool as kernels;
use crate::ops::convert::dense;
use crate::{DType, Error, Result, Tensor, no_grad};

static AVG_POOL: Operator<PooledWindows> = Operator::new("avg_pool", kernels::AVG_POOL);
static AVG_POOL_BACKWARD: Operator<PooledWindows> =
    Operator::new("avg_pool_backward", kernels::AVG_POOL_BACKWARD);

/// Makes the methods for a number of axes.
macro_rules! avg_pools {
    ($($axes:literal, $dims:literal: $avg:ident, $adaptive:ident, $x:literal, $pooled:literal;)+) => {
        /// Average pooling: the average of each window. Halves are added in `F32`; averages of `I64` are
        /// cut towards zero, and other integers have none. On CUDA the work is enqueued.
        ///
        /// All fail as max pooling does ([`Tensor::max_pool2d`]), those with [`AvgPoolOptions`] also if
        /// the divisor is 0. The adaptive ones are of floats only.
        impl Tensor {$(
            #[doc = concat!("The average of each window over the last ", $dims, ".")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::arange(8.0, ())?.reshape(", $x, ")?;")]
            #[doc = concat!("assert_eq!(x.", stringify!($avg), "(2)?.to_vec::<f32>()?, ", $pooled, ");")]
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $avg(&self, options: impl Into<AvgPoolOptions<$axes>>) -> Result<Tensor> {
                sliding(stringify!($avg), self, &options.into())
            }

            #[doc = concat!("The average of each of so many parts of the last ", $dims, ".")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::arange(8.0, ())?.reshape(", $x, ")?;")]
            #[doc = concat!("assert_eq!(x.", stringify!($adaptive), "(1)?.to_vec::<f32>()?, [3.5]);")]
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $adaptive(
                &self,
                output_size: impl Into<AdaptivePoolSize<$axes>>,
            ) -> Result<Tensor> {
                adaptive(stringify!($adaptive), self, output_size.into())
            }
        )+}
    };
}

avg_pools! {
    1, "dimension": avg_pool1d, adaptive_avg_pool1d, "[1, 8]", "[0.5, 2.5, 4.5, 6.5]";
    2, "two dimensions": avg_pool2d, adaptive_avg_pool2d, "[1, 2, 4]", "[2.5, 4.5]";
    3, "three dimensions": avg_pool3d, adaptive_avg_pool3d, "[1, 2, 2, 2]", "[3.5]";
}

#[track_caller]
fn sliding<const N: usize>(
    op: &'static str,
    x: &Tensor,
    options: &AvgPoolOptions<N>,
) -> Result<Tensor> {
    check_dims::<N>(op, x)?;
    let AvgPoolOptions { kernel_size, stride, padding, ceil_mode, .. } = *options;
    let dilation = PerAxis::All(1);
    let windows = SlidingWindows { kernel_size, stride, padding, dilation, ceil_mode };
    let magnitude = options.divisor_override.map(i64::checked_abs);
    if matches!(magnitude, Some(None | Some(0))) {
        let value = options.divisor_override.unwrap_or_default().to_string();
        let why = "sums cannot be divided by it";
        return Err(Error::InvalidArgument { op, argument: "divisor_override", value, why });
    }
    let divisor = magnitude.flatten().map(|divisor| divisor as usize);
    let counts_padding = options.count_include_pad;
    let pooling = Pooling::Average { divisor, counts_padding };
    let call = plan::<N>(x, pooling, |axis, input| windows.along(op, axis, input))?;
    let averages = averaged(op, x, call)?;
    match options.divisor_override {
        Some(..0) => averages.neg(),
        _ => Ok(averages),
    }
}

#[track_caller]
fn adaptive<const N: usize>(
    op: &'static str,
    x: &Tensor,
    sizes: AdaptivePoolSize<N>,
) -> Result<Tensor> {
    x.expect_floats(op)?;
    check_dims::<N>(op, x)?;
    if sizes.each() == [Some(1); N] {
        let all: Vec<isize> = (1..=N as isize).map(|dim| -dim).collect();
        return x.mean(keepdim(&all));
    }
    let pooling = Pooling::Average { divisor: None, counts_padding: false };
    let along = |axis: usize, input| Ok(adaptive_axis(input, sizes.each()[axis]));
    averaged(op, x, plan::<N>(x, pooling, along)?)
}

/// The averages of windows. The gradient is the function below, whose gradient is this one.
#[track_caller]
fn averaged(op: &'static str, x: &Tensor, call: PoolCall) -> Result<Tensor> {
    if x.dtype() != DType::I64 {
        x.expect_floats(op)?;
    }
    let (source, dtype) = (x.detach(), pooled_dtype(x));
    let compute = || -> Result<Tensor> {
        Ok(dispatch::pool(&AVG_POOL, &call, &dense(&source, dtype)?, false)?.0)
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record(op, [x], output, |_| {
        move |grad: &Tensor, _| Ok([Some(shared_out(op, grad, &call)?)])
    }))
}

/// The sums of the elements' shares of what windows have.
#[track_caller]
fn shared_out(op: &'static str, grad: &Tensor, call: &PoolCall) -> Result<Tensor> {
    let source = grad.detach();
    let compute = || {
        let source = dense(&source, source.dtype())?;
        dispatch::pool_backward(&AVG_POOL_BACKWARD, call, &source, None)
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record(op, [grad], output, |_| {
        let call = call.clone();
        move |grad: &Tensor, _| Ok([Some(averaged(op, grad, call.clone())?)])
    }))
}
