//! Images of other sizes, and pixels and channels in another order.

use tensor::{Interpolation, InterpolationMode, ScaleFactors, Shape, Tensor};

use crate::{Forward, Module, Result};

/// [`Tensor::interpolate`] as a layer.
///
/// ```
/// use nn::{Forward, Upsample};
/// use tensor::{Interpolation, InterpolationMode, Tensor};
/// let options = Interpolation::scale_factor(2.0).mode(InterpolationMode::Bilinear);
/// let layer = Upsample::new(options);
/// assert_eq!(layer.to_string(), "Upsample(scale_factor=2.0, mode='bilinear')");
/// assert_eq!(layer.forward(&Tensor::ones([1, 3, 4, 5], ())?)?.shape(), [1, 3, 8, 10]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
#[module(extra_repr = Upsample::described)]
pub struct Upsample {
    #[module(skip)]
    options: Interpolation,
}

impl Upsample {
    /// A layer with these options.
    pub fn new(options: Interpolation) -> Upsample {
        Upsample { options }
    }

    fn described(&self) -> String {
        self.options.to_string()
    }
}

impl Forward for Upsample {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.interpolate(&self.options)
    }
}

/// Makes layers that are [`Upsample`] in one mode.
macro_rules! upsamplings {
    ($($(#[$doc:meta])* $name:ident: $mode:expr;)+) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use nn::{Forward, ", stringify!($name), "};")]
        /// use tensor::Tensor;
        /// let x = Tensor::ones([1, 3, 4, 5], ())?;
        #[doc = concat!("let layer = ", stringify!($name), "::scale_factor(2.0);")]
        /// assert_eq!(layer.forward(&x)?.shape(), [1, 3, 8, 10]);
        #[doc = concat!("let layer = ", stringify!($name), "::size([6, 6]);")]
        /// assert_eq!(layer.forward(&x)?.shape(), [1, 3, 6, 6]);
        /// # Ok::<(), tensor::Error>(())
        /// ```
        #[derive(Clone, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            options: Interpolation,
        }

        impl $name {
            /// A layer whose results have this size: one number for both dimensions, or one for each.
            pub fn size(size: impl Into<Shape>) -> $name {
                $name { options: ($mode)(Interpolation::size(size)) }
            }

            /// A layer whose results are larger by a factor: one for both dimensions, or one for each.
            pub fn scale_factor(factors: impl Into<ScaleFactors>) -> $name {
                $name { options: ($mode)(Interpolation::scale_factor(factors)) }
            }

            fn described(&self) -> String {
                self.options.to_string()
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.interpolate(&self.options)
            }
        }
    )+};
}

upsamplings! {
    /// [`Upsample`] of images to the nearest elements (`nn.UpsamplingNearest2d`).
    UpsamplingNearest2d: |options: Interpolation| options.mode(InterpolationMode::Nearest);
    /// [`Upsample`] of images between four elements, the first and the last of which stay where they are
    /// (`nn.UpsamplingBilinear2d`, whose `align_corners` is `True`).
    UpsamplingBilinear2d: |options: Interpolation| {
        options.mode(InterpolationMode::Bilinear).align_corners(true)
    };
}

/// Makes layers with one number.
macro_rules! shuffles {
    ($($name:ident: $shuffle:ident, $number:ident;)+) => {$(
        #[doc = concat!("[`Tensor::", stringify!($shuffle), "`] as a layer.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(2);")]
        #[doc = concat!(
            "assert_eq!(layer.to_string(), \"", stringify!($name), "(", stringify!($number), "=2)\");"
        )]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {
            $number: usize,
        }

        impl $name {
            /// A layer with this number.
            pub fn new($number: usize) -> $name {
                $name { $number }
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$shuffle(self.$number)
            }
        }
    )+};
}

shuffles! {
    PixelShuffle: pixel_shuffle, upscale_factor;
    PixelUnshuffle: pixel_unshuffle, downscale_factor;
    ChannelShuffle: channel_shuffle, groups;
}
