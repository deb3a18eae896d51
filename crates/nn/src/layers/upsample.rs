//! Images of other sizes, and pixels and channels in another order.

use tensor::{Interpolation, Tensor};

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
