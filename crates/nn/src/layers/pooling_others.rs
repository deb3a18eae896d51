//! Power-average and fractional max pooling.

use tensor::{FractionalMaxPoolOptions, LPPoolOptions, Tensor};

use crate::{Forward, Module, Result};

/// Makes layers of power-average pooling.
macro_rules! lp_pools {
    ($($name:ident, $axes:literal: $pool:ident;)+) => {$(
        #[doc = concat!("[`Tensor::", stringify!($pool), "`] as a layer.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(2, 3);")]
        #[doc = concat!(
            "assert_eq!(layer.to_string(), \"", stringify!($name),
            "(norm_type=2.0, kernel_size=3, stride=None, ceil_mode=False)\");"
        )]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            norm_type: f64,
            #[module(skip)]
            options: LPPoolOptions<$axes>,
        }

        impl $name {
            /// A layer of this norm with these options, or windows of a size that lie side by side.
            pub fn new(norm_type: impl Into<f64>, options: impl Into<LPPoolOptions<$axes>>) -> $name {
                $name { norm_type: norm_type.into(), options: options.into() }
            }

            fn described(&self) -> String {
                let LPPoolOptions { kernel_size, stride, ceil_mode, .. } = self.options;
                let stride = stride.map_or_else(|| "None".to_owned(), |stride| stride.to_string());
                format!(
                    "norm_type={:?}, kernel_size={kernel_size}, stride={stride}, ceil_mode={}",
                    self.norm_type,
                    if ceil_mode { "True" } else { "False" }
                )
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$pool(self.norm_type, self.options)
            }
        }
    )+};
}

lp_pools! {
    LPPool1d, 1: lp_pool1d;
    LPPool2d, 2: lp_pool2d;
    LPPool3d, 3: lp_pool3d;
}

/// Makes layers of fractional max pooling.
macro_rules! fractional_pools {
    ($($name:ident, $axes:literal: $pool:ident, $pool_with:ident;)+) => {$(
        #[doc = concat!("[`Tensor::", stringify!($pool), "`] as a layer.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        /// use tensor::FractionalMaxPoolOptions;
        #[doc = concat!("let layer = ", stringify!($name), "::new(FractionalMaxPoolOptions::to_ratio(2, 0.5));")]
        #[doc = concat!("assert_eq!(layer.to_string(), \"", stringify!($name), "()\");")]
        /// ```
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            #[module(buffer, rename = "_random_samples")]
            samples: Option<Tensor>,
            #[module(skip)]
            options: FractionalMaxPoolOptions<$axes>,
        }

        impl $name {
            /// A layer with these options. Its random numbers, if there are any, are a buffer.
            pub fn new(mut options: FractionalMaxPoolOptions<$axes>) -> $name {
                $name { samples: options.samples.take(), options }
            }

            /// The output, and the indices of the elements that were chosen (`return_indices=True`).
            ///
            /// # Errors
            /// As those of the operation.
            #[track_caller]
            pub fn forward_with_indices(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
                input.$pool_with(&self.options.clone().samples(self.samples.clone()))
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$pool(&self.options.clone().samples(self.samples.clone()))
            }
        }
    )+};
}

fractional_pools! {
    FractionalMaxPool2d, 2: fractional_max_pool2d, fractional_max_pool2d_with_indices;
    FractionalMaxPool3d, 3: fractional_max_pool3d, fractional_max_pool3d_with_indices;
}
