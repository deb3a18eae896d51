//! Dropout of channels, and alpha dropout.

use tensor::{Error, Tensor};

use crate::{Forward, Module, Result};

macro_rules! dropouts {
    ($($(#[$doc:meta])* $name:ident: $function:ident, $shape:tt;)*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("```\nuse nn::{Forward, Module, ", stringify!($name), "};\nuse tensor::Tensor;")]
        #[doc = concat!("let mut layer = ", stringify!($name), "::new(0.5)?;")]
        #[doc = concat!("let x = Tensor::ones(", stringify!($shape), ", ())?;")]
        /// assert!(!layer.forward(&x)?.equal(&x)?);
        /// layer.eval();
        /// assert!(layer.forward(&x)?.equal(&x)?);
        /// # Ok::<(), tensor::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::probability)]
        pub struct $name {
            p: f64,
            #[module(training)]
            training: bool,
        }

        impl $name {
            /// A layer in training mode.
            ///
            /// # Errors
            /// `p` is no probability: it does not lie in `[0, 1]`.
            pub fn new(p: f64) -> Result<$name> {
                expect_probability(stringify!($name), p)?;
                Ok($name { p, training: true })
            }

            fn probability(&self) -> String {
                format!("p={:?}, inplace=False", self.p)
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$function(self.p, self.training)
            }
        }
    )*};
}

dropouts! {
    /// Dropout of channels of sequences, `[batch, channels, length]` (`nn.Dropout1d`): see
    /// [`Tensor::dropout1d`].
    Dropout1d: dropout1d, [8, 8, 2];
    /// Dropout of channels of images, `[batch, channels, height, width]` (`nn.Dropout2d`): see
    /// [`Tensor::dropout2d`].
    Dropout2d: dropout2d, [8, 8, 2, 2];
    /// Dropout of channels of volumes, `[batch, channels, depth, height, width]` (`nn.Dropout3d`):
    /// see [`Tensor::dropout3d`].
    Dropout3d: dropout3d, [8, 8, 2, 2, 2];
    /// Dropout that keeps mean and variance, for networks of [`SELU`](crate::SELU)
    /// (`nn.AlphaDropout`): see [`Tensor::alpha_dropout`].
    AlphaDropout: alpha_dropout, [100];
    /// [`AlphaDropout`] of whole channels of `[batch, channels, ..]` (`nn.FeatureAlphaDropout`).
    FeatureAlphaDropout: feature_alpha_dropout, [8, 8, 2];
}

/// # Errors
/// It does not lie in `[0, 1]`.
pub(super) fn expect_probability(op: &'static str, p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    let why = "it is a probability, and must lie in [0, 1]";
    Err(Error::InvalidArgument { op, argument: "p", value: p.to_string(), why })
}
