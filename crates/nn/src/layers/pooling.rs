//! Pooling.

use tensor::{AdaptivePoolSize, AvgPoolOptions, MaxPoolOptions, MaxUnpoolOptions, PerAxis, Tensor};

use crate::{Forward, Module, Result};

/// Makes layers of max pooling.
macro_rules! max_pools {
    ($($name:ident, $axes:literal: $pool:ident, $pool_with:ident;)+) => {$(
        #[doc = concat!("[`Tensor::", stringify!($pool), "`] as a layer.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(2);")]
        #[doc = concat!(
            "assert_eq!(layer.to_string(), \"", stringify!($name),
            "(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)\");"
        )]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            options: MaxPoolOptions<$axes>,
        }

        impl $name {
            /// A layer with these options, or windows of a size that lie side by side.
            pub fn new(options: impl Into<MaxPoolOptions<$axes>>) -> $name {
                $name { options: options.into() }
            }

            /// The output, and the indices of the elements that were chosen (`return_indices=True`).
            ///
            /// # Errors
            /// As those of the operation.
            #[track_caller]
            pub fn forward_with_indices(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
                input.$pool_with(self.options)
            }

            fn described(&self) -> String {
                let MaxPoolOptions { kernel_size, stride, padding, dilation, ceil_mode, .. } =
                    self.options;
                format!(
                    "kernel_size={kernel_size}, stride={stride}, padding={padding}, \
                     dilation={dilation}, ceil_mode={}",
                    if ceil_mode { "True" } else { "False" }
                )
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$pool(self.options)
            }
        }
    )+};
}

max_pools! {
    MaxPool1d, 1: max_pool1d, max_pool1d_with_indices;
    MaxPool2d, 2: max_pool2d, max_pool2d_with_indices;
    MaxPool3d, 3: max_pool3d, max_pool3d_with_indices;
}

/// Makes layers of average pooling.
macro_rules! avg_pools {
    ($($name:ident, $axes:literal: $pool:ident, $printed:literal, $shown:path;)+) => {$(
        #[doc = concat!("[`Tensor::", stringify!($pool), "`] as a layer.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(2);")]
        #[doc = concat!("assert_eq!(layer.to_string(), \"", stringify!($name), $printed, "\");")]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            options: AvgPoolOptions<$axes>,
        }

        impl $name {
            /// A layer with these options, or windows of a size that lie side by side.
            pub fn new(options: impl Into<AvgPoolOptions<$axes>>) -> $name {
                $name { options: options.into() }
            }

            fn described(&self) -> String {
                let AvgPoolOptions { kernel_size, stride, padding, .. } = self.options;
                sizes([kernel_size, stride, padding].map($shown))
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$pool(self.options)
            }
        }
    )+};
}

avg_pools! {
    AvgPool1d, 1: avg_pool1d, "(kernel_size=(2,), stride=(2,), padding=(0,))", each;
    AvgPool2d, 2: avg_pool2d, "(kernel_size=2, stride=2, padding=0)", std::convert::identity;
    AvgPool3d, 3: avg_pool3d, "(kernel_size=2, stride=2, padding=0)", std::convert::identity;
}

/// Makes layers of adaptive pooling.
macro_rules! adaptive_pools {
    ($($name:ident, $axes:literal: $pool:ident;)+) => {$(
        #[doc = concat!("[`Tensor::", stringify!($pool), "`] as a layer.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(1);")]
        #[doc = concat!("assert_eq!(layer.to_string(), \"", stringify!($name), "(output_size=1)\");")]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            output_size: AdaptivePoolSize<$axes>,
        }

        impl $name {
            /// A layer that gives this size.
            pub fn new(output_size: impl Into<AdaptivePoolSize<$axes>>) -> $name {
                $name { output_size: output_size.into() }
            }

            fn described(&self) -> String {
                format!("output_size={}", self.output_size)
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$pool(self.output_size)
            }
        }
    )+};
}

/// Makes the methods of adaptive layers that choose elements.
macro_rules! adaptive_indices {
    ($($name:ident: $pool_with:ident;)+) => {$(
        impl $name {
            /// The output, and the indices of the elements that were chosen (`return_indices=True`).
            ///
            /// # Errors
            /// As those of the operation.
            #[track_caller]
            pub fn forward_with_indices(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
                input.$pool_with(self.output_size)
            }
        }
    )+};
}

adaptive_indices! {
    AdaptiveMaxPool1d: adaptive_max_pool1d_with_indices;
    AdaptiveMaxPool2d: adaptive_max_pool2d_with_indices;
    AdaptiveMaxPool3d: adaptive_max_pool3d_with_indices;
}

adaptive_pools! {
    AdaptiveMaxPool1d, 1: adaptive_max_pool1d;
    AdaptiveMaxPool2d, 2: adaptive_max_pool2d;
    AdaptiveMaxPool3d, 3: adaptive_max_pool3d;
    AdaptiveAvgPool1d, 1: adaptive_avg_pool1d;
    AdaptiveAvgPool2d, 2: adaptive_avg_pool2d;
    AdaptiveAvgPool3d, 3: adaptive_avg_pool3d;
}

/// Makes layers of max unpooling.
macro_rules! max_unpools {
    ($($name:ident, $axes:literal: $unpool:ident, $printed:literal;)+) => {$(
        #[doc = concat!("[`Tensor::", stringify!($unpool), "`] as a layer, of values and their indices.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(2);")]
        #[doc = concat!("assert_eq!(layer.to_string(), \"", stringify!($name), $printed, "\");")]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            options: MaxUnpoolOptions<$axes>,
        }

        impl $name {
            /// A layer with these options, or windows of a size that lie side by side.
            pub fn new(options: impl Into<MaxUnpoolOptions<$axes>>) -> $name {
                $name { options: options.into() }
            }

            fn described(&self) -> String {
                let MaxUnpoolOptions { kernel_size, stride, padding, .. } = self.options;
                sizes([kernel_size, stride, padding].map(each))
            }
        }

        impl Forward<(Tensor, Tensor)> for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, (input, indices): &(Tensor, Tensor)) -> Result<Tensor> {
                input.$unpool(indices, self.options)
            }
        }
    )+};
}

max_unpools! {
    MaxUnpool1d, 1: max_unpool1d, "(kernel_size=(2,), stride=(2,), padding=(0,))";
    MaxUnpool2d, 2: max_unpool2d, "(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))";
    MaxUnpool3d, 3: max_unpool3d, "(kernel_size=(2, 2, 2), stride=(2, 2, 2), padding=(0, 0, 0))";
}

/// The numbers of each axis, which is how some layers print one for all.
fn each<const N: usize>(numbers: PerAxis<N>) -> PerAxis<N> {
    PerAxis::Each(numbers.each())
}

fn sizes<const N: usize>([kernel_size, stride, padding]: [PerAxis<N>; 3]) -> String {
    format!("kernel_size={kernel_size}, stride={stride}, padding={padding}")
}
