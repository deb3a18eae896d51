//! Pooling: the largest element, or the average, of each window.

mod average;
mod fractional;
mod geometry;
mod largest;
mod options;
mod power;
mod unpool;

pub(super) use geometry::bounded;
pub use options::{
    AdaptivePoolSize, AvgPoolOptions, FractionalMaxPoolOptions, FractionalPoolSize, LPPoolOptions,
    MaxPoolOptions, MaxUnpoolOptions, PerAxis, PerAxisRatio,
};

use cpu_kernels::pooling::{WindowAxis, Windows};

use crate::{DType, Tensor};

/// The dtype that a tensor is pooled in: on CUDA, integers have kernels for `I64` alone.
fn pooled_dtype(x: &Tensor) -> DType {
    match x.is_cuda() && x.dtype().is_integer() {
        true => DType::I64,
        false => x.dtype(),
    }
}

/// Windows that divide an axis into parts: as many as are asked for, or as there are elements.
fn adaptive_axis(input: usize, output: Option<usize>) -> WindowAxis {
    WindowAxis { input, output: output.unwrap_or(input), windows: Windows::Adaptive }
}
