//! Batch and instance normalisation, whose modules keep running statistics.

use tensor::{DType, Error, Tensor, TensorOptions, no_grad};

use crate::error::LayerError;
use crate::fields::{ExtraRepr, Field};
use crate::{Forward, Module, Result};

/// Makes the modules for inputs of some numbers of dimensions.
macro_rules! channel_norms {
    ($($(#[$doc:meta])* $name:ident($function:ident, [$($dims:literal),*], $affine:literal, $tracked:literal, $of_input:literal);)*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("```\nuse nn::{Forward, ", stringify!($name), "};\nuse tensor::Tensor;")]
        #[doc = concat!("let shape = &[2, 3, 4, 4, 4][..[", stringify!($($dims),*), "][0]];")]
        #[doc = concat!("let y = ", stringify!($name), "::new(3)?.forward(&Tensor::rand(shape, ())?)?;")]
        /// assert!(y.mean(())?.item::<f32>()?.abs() < 1e-5);
        /// # Ok::<(), tensor::Error>(())
        /// ```
        #[derive(Clone, Debug, Module)]
        #[module(extra_repr = $name::options)]
        pub struct $name {
            weight: Option<Tensor>,
            bias: Option<Tensor>,
            #[module(buffer)]
            running_mean: Option<Tensor>,
            #[module(buffer)]
            running_var: Option<Tensor>,
            #[module(buffer)]
            num_batches_tracked: Option<Tensor>,
            #[module(skip)]
            num_features: usize,
            #[module(skip)]
            eps: f64,
            #[module(skip)]
            momentum: Option<f64>,
            #[module(training)]
            training: bool,
        }

        impl $name {
            /// A layer for inputs with so many channels on the default device, with the default
            /// dtype, an `eps` of 1e-5 and a momentum of 0.1.
            ///
            /// # Errors
            /// Memory is short.
            #[track_caller]
            pub fn new(num_features: usize) -> Result<$name> {
                $name::new_with(num_features, ())
            }

            /// A layer on the given device, with the given dtype.
            ///
            /// # Errors
            /// The dtype is no floating one, the device does not exist, or its memory is short.
            #[track_caller]
            pub fn new_with(
                num_features: usize,
                options: impl Into<TensorOptions>,
            ) -> Result<$name> {
                let layer = $name {
                    weight: None,
                    bias: None,
                    running_mean: None,
                    running_var: None,
                    num_batches_tracked: None,
                    num_features,
                    eps: 1e-5,
                    momentum: Some(0.1),
                    training: true,
                };
                let options = options.into();
                let layer = if $affine { layer.with_affine(options)? } else { layer };
                if $tracked { layer.with_running_stats(options) } else { Ok(layer) }
            }

            /// The layer with another `eps`, which is added to variances.
            pub fn with_eps(mut self, eps: f64) -> $name {
                self.eps = eps;
                self
            }

            /// The layer with another share by which running statistics move towards those of an
            /// input; without one (`None`) they are the mean over all inputs so far.
            pub fn with_momentum(mut self, momentum: impl Into<Option<f64>>) -> $name {
                self.momentum = momentum.into();
                self
            }

            /// The layer with a weight and a bias, which begin as ones and zeros.
            ///
            /// # Errors
            /// As [`Self::new_with`].
            #[track_caller]
            pub fn with_affine(mut self, options: impl Into<TensorOptions>) -> Result<$name> {
                let options = options.into().requires_grad(true);
                self.weight = Some(Tensor::ones([self.num_features], options)?);
                self.bias = Some(Tensor::zeros([self.num_features], options)?);
                Ok(self)
            }

            /// The layer with running statistics, which evaluation uses.
            ///
            /// # Errors
            /// As [`Self::new_with`].
            #[track_caller]
            pub fn with_running_stats(mut self, options: impl Into<TensorOptions>) -> Result<$name> {
                let options = options.into();
                self.running_mean = Some(Tensor::zeros([self.num_features], options)?);
                self.running_var = Some(Tensor::ones([self.num_features], options)?);
                self.num_batches_tracked = Some(Tensor::zeros((), options.dtype(DType::I64))?);
                Ok(self)
            }

            /// The layer without weight and bias.
            pub fn without_affine(mut self) -> $name {
                (self.weight, self.bias) = (None, None);
                self
            }

            /// The layer without its bias.
            pub fn without_bias(mut self) -> $name {
                self.bias = None;
                self
            }

            /// The layer without running statistics: in evaluation, too, it uses those of the input.
            pub fn without_running_stats(mut self) -> $name {
                (self.running_mean, self.running_var) = (None, None);
                self.num_batches_tracked = None;
                self
            }

            /// The factors of the channels.
            pub fn weight(&self) -> Option<&Tensor> {
                self.weight.as_ref()
            }

            /// The numbers that are added to the channels.
            pub fn bias(&self) -> Option<&Tensor> {
                self.bias.as_ref()
            }

            /// The running means of the channels.
            pub fn running_mean(&self) -> Option<&Tensor> {
                self.running_mean.as_ref()
            }

            /// The running variances of the channels.
            pub fn running_var(&self) -> Option<&Tensor> {
                self.running_var.as_ref()
            }

            fn options(&self) -> String {
                let mut extra = ExtraRepr::new();
                self.num_features.describe("0", &mut extra);
                self.eps.describe("eps", &mut extra);
                self.momentum.describe("momentum", &mut extra);
                self.weight.is_some().describe("affine", &mut extra);
                self.running_mean.is_some().describe("track_running_stats", &mut extra);
                extra.to_string()
            }

            fn apply(&self, input: &Tensor) -> Result<Tensor> {
                let momentum = match (self.training, self.num_batches_tracked.as_ref()) {
                    (true, Some(count)) => momentum_of(count, self.momentum, $of_input)?,
                    _ => self.momentum.unwrap_or(0.0),
                };
                let running = self.running_mean.as_ref().zip(self.running_var.as_ref());
                let of_input = self.training || running.is_none();
                let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
                input.$function(running, weight, bias, of_input, momentum, self.eps)
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                let dims = [$($dims),*];
                if !dims.contains(&input.dims()) {
                    let shape = input.shape().into();
                    let error = Error::WrongDims { op: stringify!($function), shape, expected: dims[0] };
                    let problem = format!("expected {dims:?} dimensions, got {:?}", input.shape());
                    return Err(LayerError::of(self.to_string(), problem, error));
                }
                // One sample, of which instance normalisation makes a batch.
                let is_alone = $of_input && input.dims() < dims[0];
                let input = if is_alone { &input.unsqueeze(0)? } else { input };
                let output = match self.apply(input) {
                    Ok(output) => output,
                    Err(error) => {
                        let expected = format!("{} channels", self.num_features);
                        let own = self.weight.as_ref().or(self.running_mean.as_ref());
                        let Some(own) = own else { return Err(error) };
                        let layer = || self.to_string();
                        return Err(LayerError::explain(error, layer, own, input, Some(expected)));
                    }
                };
                if is_alone { output.squeeze(0) } else { Ok(output) }
            }
        }
    )*};
}

channel_norms! {
    /// Batch normalisation of `[batch, channels]` or `[batch, channels, length]`
    /// (`nn.BatchNorm1d`): see [`Tensor::batch_norm`].
    ///
    /// In training it uses mean and variance of the batch, and moves running ones towards them; in
    /// evaluation it uses these. S. Ioffe, C. Szegedy, "Batch Normalization" (ICML 2015).
    BatchNorm1d(batch_norm, [3, 2], true, true, false);
    /// Batch normalisation of images, `[batch, channels, height, width]` (`nn.BatchNorm2d`): see
    /// [`BatchNorm1d`].
    BatchNorm2d(batch_norm, [4], true, true, false);
    /// Batch normalisation of volumes, `[batch, channels, depth, height, width]`
    /// (`nn.BatchNorm3d`): see [`BatchNorm1d`].
    BatchNorm3d(batch_norm, [5], true, true, false);
    /// Instance normalisation of `[batch, channels, length]`, or without the batch
    /// (`nn.InstanceNorm1d`): see [`Tensor::instance_norm`]. It begins without weight, bias and
    /// running statistics.
    InstanceNorm1d(instance_norm, [3, 2], false, false, true);
    /// Instance normalisation of images, `[batch, channels, height, width]`, or without the batch
    /// (`nn.InstanceNorm2d`): see [`InstanceNorm1d`].
    InstanceNorm2d(instance_norm, [4, 3], false, false, true);
    /// Instance normalisation of volumes, `[batch, channels, depth, height, width]`, or without the
    /// batch (`nn.InstanceNorm3d`): see [`InstanceNorm1d`].
    InstanceNorm3d(instance_norm, [5, 4], false, false, true);
}

/// The share by which running statistics move, after one batch more. As in PyTorch, instance
/// normalisation does not count.
#[track_caller]
fn momentum_of(count: &Tensor, momentum: Option<f64>, is_uncounted: bool) -> Result<f64> {
    if is_uncounted {
        return Ok(momentum.unwrap_or(0.0));
    }
    no_grad(|| count.add_(1))?;
    match momentum {
        Some(momentum) => Ok(momentum),
        None => Ok(1.0 / count.item::<i64>()? as f64),
    }
}
