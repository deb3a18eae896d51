//! Power-average pooling.

use super::options::{AvgPoolOptions, LPPoolOptions};
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Tensor};

/// The root of a sum that is given as an average. Where it is 0, it has no gradient.
static ROOT: Pointwise<3> =
    Pointwise::common("lp_pool", |[mean, count, power]| (mean * count).pow(power))
        .of(Kinds::FLOATS)
        .promoted_by_first(1)
        .with_gradient(|g, [mean, count, power], _| {
            let zero = g.constant(0.0);
            let slope = power * count * (mean * count).pow(power - power.constant(1.0));
            [mean.eq(0.0).select(zero, g * slope), zero, zero]
        });

/// Makes the methods for a number of axes.
macro_rules! lp_pools {
    ($($axes:literal, $dims:literal: $pool:ident, $avg:ident, $x:literal;)+) => {
        /// Power-average pooling: the `norm_type`-norm of each window, with the powers as they are, of which
        /// sums may be negative. On CUDA the work is enqueued.
        ///
        /// All fail as average pooling does, and if the norm is 0 or no number.
        impl Tensor {$(
            #[doc = concat!("The norm of each window over the last ", $dims, ".")]
            ///
            /// ```
            /// use tensor::Tensor;
            #[doc = concat!("let x = Tensor::full(", $x, ", 3.0, ())?;")]
            #[doc = concat!("let norms = x.", stringify!($pool), "(1, 2)?;")]
            /// assert_eq!(norms.to_vec::<f32>()?[0], 3.0 * x.numel() as f32);
            /// # Ok::<(), tensor::Error>(())
            /// ```
            #[track_caller]
            pub fn $pool(
                &self,
                norm_type: impl Into<f64>,
                options: impl Into<LPPoolOptions<$axes>>,
            ) -> Result<Tensor> {
                let (norm, options) = (norm_type.into(), options.into());
                expect_norm(stringify!($pool), norm)?;
                let count: usize = options.kernel_size.each().iter().product();
                let means = self.pow(norm)?.$avg(averages(options))?;
                ROOT.apply([(&means).into(), (count as f64).into(), norm.recip().into()])
            }
        )+}
    };
}

lp_pools! {
    1, "dimension": lp_pool1d, avg_pool1d, "[1, 2]";
    2, "two dimensions": lp_pool2d, avg_pool2d, "[1, 2, 2]";
    3, "three dimensions": lp_pool3d, avg_pool3d, "[1, 2, 2, 2]";
}

/// The averages of the same windows.
fn averages<const N: usize>(options: LPPoolOptions<N>) -> AvgPoolOptions<N> {
    AvgPoolOptions::new(options.kernel_size)
        .stride(options.stride.unwrap_or(options.kernel_size))
        .ceil_mode(options.ceil_mode)
}

/// # Errors
/// It is 0 or no number.
fn expect_norm(op: &'static str, norm: f64) -> Result<()> {
    if norm != 0.0 && !norm.is_nan() {
        return Ok(());
    }
    let why = "there is no such root";
    Err(Error::InvalidArgument { op, argument: "norm_type", value: norm.to_string(), why })
}
