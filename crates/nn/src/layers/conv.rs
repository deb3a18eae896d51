//! The layers of convolutions and transposed convolutions.

use tensor::{
    ConvOptions, ConvPadding, ConvTransposeOptions, Error, PadMode, PerAxis, Scalar, Tensor,
    TensorOptions,
};

use crate::error::LayerError;
use crate::fields::{ExtraRepr, Field};
use crate::{Forward, Module, Result, init};

/// The options of a convolution in `N` dimensions, as far as a layer needs to know them.
trait LayerOptions<const N: usize>: Sized {
    fn groups(&self) -> usize;

    /// The channels of the weight, from those of the layer's input and output in a group.
    fn weight_channels(&self, in_channels: usize, out_channels: usize) -> [usize; 2];

    /// The channels of the layer's input and output, from those of the weight.
    fn channels(&self, weight: [usize; 2]) -> [usize; 2];

    /// Adds what differs from the defaults to the printed form.
    fn describe_others(&self, extra: &mut ExtraRepr);

    fn stride(&self) -> [usize; N];

    /// The input with what `mode` puts around it, and the options of a convolution of that; `None` if the
    /// convolution itself pads it with zeros.
    ///
    /// # Errors
    /// The input cannot be padded so.
    fn padded(
        &self,
        input: &Tensor,
        kernel: &[usize],
        mode: PadMode,
    ) -> Result<Option<(Tensor, Self)>>;
}

impl<const N: usize> LayerOptions<N> for ConvOptions<N> {
    fn groups(&self) -> usize {
        self.groups
    }

    fn weight_channels(&self, in_channels: usize, out_channels: usize) -> [usize; 2] {
        [out_channels, in_channels / self.groups]
    }

    fn channels(&self, [rows, columns]: [usize; 2]) -> [usize; 2] {
        [columns * self.groups, rows]
    }

    fn describe_others(&self, extra: &mut ExtraRepr) {
        match self.padding {
            ConvPadding::Explicit(padding) if padding == [0; N] => {}
            ConvPadding::Explicit(padding) => padding.describe("padding", extra),
            ConvPadding::Same => "same".describe("padding", extra),
            ConvPadding::Valid => "valid".describe("padding", extra),
        }
        describe_unless(self.dilation, 1, "dilation", extra);
    }

    fn stride(&self) -> [usize; N] {
        self.stride
    }

    #[track_caller]
    fn padded(
        &self,
        input: &Tensor,
        kernel: &[usize],
        mode: PadMode,
    ) -> Result<Option<(Tensor, Self)>> {
        if let PadMode::Constant(_) = mode {
            return Ok(None);
        }
        // From the last axis on, as `pad` takes them.
        let mut sides = Vec::with_capacity(2 * N);
        for axis in (0..N).rev() {
            let all = match self.padding {
                ConvPadding::Explicit(padding) => padding[axis].saturating_mul(2),
                ConvPadding::Same => self.dilation[axis].saturating_mul(kernel[axis] - 1),
                ConvPadding::Valid => 0,
            };
            let side = |size: usize| isize::try_from(size).unwrap_or(isize::MAX);
            sides.extend([side(all / 2), side(all - all / 2)]);
        }
        Ok(Some((input.pad(&sides, mode)?, self.padding([0; N]))))
    }
}

impl<const N: usize> LayerOptions<N> for ConvTransposeOptions<N> {
    fn groups(&self) -> usize {
        self.groups
    }

    fn weight_channels(&self, in_channels: usize, out_channels: usize) -> [usize; 2] {
        [in_channels, out_channels / self.groups]
    }

    fn channels(&self, [rows, columns]: [usize; 2]) -> [usize; 2] {
        [rows, columns * self.groups]
    }

    fn describe_others(&self, extra: &mut ExtraRepr) {
        describe_unless(self.padding, 0, "padding", extra);
        describe_unless(self.dilation, 1, "dilation", extra);
        describe_unless(self.output_padding, 0, "output_padding", extra);
    }

    fn stride(&self) -> [usize; N] {
        self.stride
    }

    /// No padded input: a transposed convolution leaves elements out, for which there are no modes.
    fn padded(&self, _: &Tensor, _: &[usize], _: PadMode) -> Result<Option<(Tensor, Self)>> {
        Ok(None)
    }
}

fn describe_unless<const N: usize>(
    values: [usize; N],
    default: usize,
    name: &str,
    extra: &mut ExtraRepr,
) {
    if values != [default; N] {
        values.describe(name, extra);
    }
}

/// A weight and a bias with PyTorch's initial values.
///
/// # Errors
/// The channels cannot be cut into the groups; the errors of [`init::fan_in_uniform`].
#[track_caller]
fn parameters<const N: usize>(
    op: &'static str,
    [in_channels, out_channels]: [usize; 2],
    kernel_size: [usize; N],
    conv: &impl LayerOptions<N>,
    options: TensorOptions,
) -> Result<(Tensor, Tensor)> {
    let groups = conv.groups();
    for (argument, channels) in [("in_channels", in_channels), ("out_channels", out_channels)] {
        if groups == 0 || !channels.is_multiple_of(groups) {
            let value = format!("{channels} in {groups} groups");
            let why = "it must be a multiple of the groups, of which there is one at least";
            return Err(Error::InvalidArgument { op, argument, value, why });
        }
    }
    let channels = conv.weight_channels(in_channels, out_channels);
    let shape: Vec<usize> = channels.into_iter().chain(kernel_size).collect();
    let fan_in = shape[1..].iter().fold(1usize, |product, &size| product.saturating_mul(size));
    let weight = init::fan_in_uniform(&shape, fan_in, options)?;
    Ok((weight, init::fan_in_uniform(&[out_channels], fan_in, options)?))
}

/// # Errors
/// The weight has another number of dimensions, or the bias not a number for each channel of the
/// output.
fn check_parameters<const N: usize>(
    op: &'static str,
    weight: &Tensor,
    bias: Option<&Tensor>,
    conv: &impl LayerOptions<N>,
) -> Result<()> {
    let refused = |argument, tensor: &Tensor, why| {
        let value = format!("a tensor of shape {:?}", tensor.shape());
        Err(Error::InvalidArgument { op, argument, value, why })
    };
    if weight.dims() != N + 2 {
        let why = "it must have two dimensions of channels before those of the kernel";
        return refused("weight", weight, why);
    }
    let [_, out_channels] = channels(weight, conv);
    match bias {
        Some(bias) if bias.shape() != [out_channels] => {
            refused("bias", bias, "it must have a number for each channel of the output")
        }
        _ => Ok(()),
    }
}

/// The channels of the layer's input and output.
fn channels<const N: usize>(weight: &Tensor, conv: &impl LayerOptions<N>) -> [usize; 2] {
    let rows_and_columns = weight.shape().first_chunk();
    conv.channels(*rows_and_columns.expect("the weight was checked"))
}

/// The words of a layer's printed form.
fn described<const N: usize>(
    weight: &Tensor,
    has_bias: bool,
    conv: &impl LayerOptions<N>,
) -> String {
    let mut extra = ExtraRepr::new();
    for channels in channels(weight, conv) {
        channels.describe("0", &mut extra);
    }
    weight.shape()[2..].to_vec().describe("kernel_size", &mut extra);
    conv.stride().describe("stride", &mut extra);
    conv.describe_others(&mut extra);
    if conv.groups() != 1 {
        conv.groups().describe("groups", &mut extra);
    }
    if !has_bias {
        false.describe("bias", &mut extra);
    }
    extra.to_string()
}

/// The padding of a layer that has no other.
const ZEROS: PadMode = PadMode::Constant(Scalar::Int(0));

macro_rules! convolution_layers {
    ($(
        $(#[$doc:meta])*
        $name:ident: $options:ident<$dims:literal>, $operation:ident;
    )+) => {$(
        $(#[$doc])*
        ///
        /// The initial values are uniform in `±1/sqrt(f)`, where `f` is the number of weights of an
        /// element in the second dimension of the weight and the kernel, as PyTorch has it.
        /// `forward` fails if the input does not fit, in its shape, dtype or device.
        #[derive(Clone, Debug, Module)]
        #[module(extra_repr = $name::sizes)]
        pub struct $name {
            weight: Tensor,
            bias: Option<Tensor>,
            #[module(skip)]
            conv: $options<$dims>,
            #[module(skip)]
            padding_mode: PadMode,
        }

        impl $name {
            /// A layer on the default device, with the default dtype. The size of the kernel is one
            /// number for all dimensions, or an array; the options may be `()`.
            ///
            /// # Errors
            /// The channels cannot be cut into the groups of the options; memory is short.
            #[track_caller]
            pub fn new(
                in_channels: usize,
                out_channels: usize,
                kernel_size: impl Into<PerAxis<$dims>>,
                conv: impl Into<$options<$dims>>,
            ) -> Result<$name> {
                $name::new_with(in_channels, out_channels, kernel_size, conv, ())
            }

            /// A layer on the given device, with the given dtype.
            ///
            /// # Errors
            /// The channels cannot be cut into the groups; the dtype is no floating one, the device
            /// does not exist, or its memory is short.
            #[track_caller]
            pub fn new_with(
                in_channels: usize,
                out_channels: usize,
                kernel_size: impl Into<PerAxis<$dims>>,
                conv: impl Into<$options<$dims>>,
                options: impl Into<TensorOptions>,
            ) -> Result<$name> {
                let (kernel_size, conv) = (kernel_size.into().each(), conv.into());
                let channels = [in_channels, out_channels];
                let (weight, bias) = parameters(
                    stringify!($name), channels, kernel_size, &conv, options.into(),
                )?;
                Ok($name { weight, bias: Some(bias), conv, padding_mode: ZEROS })
            }

            /// A layer of given parameters, like the weight of another layer, which the two then
            /// share.
            ///
            /// # Errors
            /// The weight has another number of dimensions, or the bias not a number for each channel
            /// of the output.
            pub fn from_parameters(
                weight: Tensor,
                bias: Option<Tensor>,
                conv: impl Into<$options<$dims>>,
            ) -> Result<$name> {
                let conv = conv.into();
                check_parameters(stringify!($name), &weight, bias.as_ref(), &conv)?;
                Ok($name { weight, bias, conv, padding_mode: ZEROS })
            }

            /// The layer without its bias.
            pub fn without_bias(mut self) -> $name {
                self.bias = None;
                self
            }

            /// The weight: the channels, and the sizes of the kernel.
            pub fn weight(&self) -> &Tensor {
                &self.weight
            }

            /// The bias, `[out_channels]`.
            pub fn bias(&self) -> Option<&Tensor> {
                self.bias.as_ref()
            }

            /// The options of the convolution.
            pub fn options(&self) -> $options<$dims> {
                self.conv
            }

            fn sizes(&self) -> String {
                let own = described(&self.weight, self.bias.is_some(), &self.conv);
                own + match self.padding_mode {
                    PadMode::Constant(_) => "",
                    PadMode::Reflect => ", padding_mode=reflect",
                    PadMode::Replicate => ", padding_mode=replicate",
                    PadMode::Circular => ", padding_mode=circular",
                }
            }

            /// The error as one of this layer, if its input is what does not fit.
            fn explain(&self, error: Error, input: &Tensor) -> Error {
                let layer = || format!("{}({})", stringify!($name), self.sizes());
                let [in_channels, _] = channels(&self.weight, &self.conv);
                let at = input.dims().checked_sub($dims + 1);
                let has_channels = at.is_some_and(|at| at < 2 && input.shape()[at] == in_channels);
                let expected = format!(
                    "{in_channels} channels before {} dimensions, and a batch or none", $dims,
                );
                let expected = (!has_channels).then_some(expected);
                LayerError::explain(error, layer, &self.weight, input, expected)
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                let kernel = &self.weight.shape()[2..];
                let output = match self.conv.padded(input, kernel, self.padding_mode) {
                    Ok(None) => input.$operation(&self.weight, self.bias.as_ref(), self.conv),
                    Ok(Some((padded, conv))) => {
                        padded.$operation(&self.weight, self.bias.as_ref(), conv)
                    }
                    Err(error) => Err(error),
                };
                output.map_err(|error| self.explain(error, input))
            }
        }
    )+};
}

convolution_layers! {
    /// A convolution of `[batch, in_channels, length]`, or without the batch (`nn.Conv1d`): see
    /// [`Tensor::conv1d`].
    ///
    /// ```
    /// use nn::{Conv1d, Forward};
    /// use tensor::Tensor;
    /// let layer = Conv1d::new(2, 4, 3, ())?;
    /// assert_eq!(layer.forward(&Tensor::ones([5, 2, 8], ())?)?.shape(), [5, 4, 6]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Conv1d: ConvOptions<1>, conv1d;
    /// A convolution of `[batch, in_channels, height, width]`, or without the batch (`nn.Conv2d`):
    /// see [`Tensor::conv2d`].
    ///
    /// ```
    /// use nn::{Conv2d, Forward};
    /// use tensor::{ConvOptions, Tensor};
    /// let layer = Conv2d::new(3, 16, [3, 5], ConvOptions::new().padding([1, 2]))?;
    /// assert_eq!(layer.forward(&Tensor::ones([1, 3, 8, 8], ())?)?.shape(), [1, 16, 8, 8]);
    /// let text = "Conv2d(3, 16, kernel_size=(3, 5), stride=(1, 1), padding=(1, 2))";
    /// assert_eq!(layer.to_string(), text);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Conv2d: ConvOptions<2>, conv2d;
    /// A convolution of `[batch, in_channels, depth, height, width]`, or without the batch
    /// (`nn.Conv3d`): see [`Tensor::conv3d`].
    ///
    /// ```
    /// use nn::{Conv3d, Forward};
    /// use tensor::Tensor;
    /// let layer = Conv3d::new(1, 2, 3, ())?;
    /// assert_eq!(layer.forward(&Tensor::ones([1, 5, 5, 5], ())?)?.shape(), [2, 3, 3, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Conv3d: ConvOptions<3>, conv3d;
    /// A transposed convolution of `[batch, in_channels, length]`, or without the batch
    /// (`nn.ConvTranspose1d`): see [`Tensor::conv_transpose1d`].
    ///
    /// ```
    /// use nn::{ConvTranspose1d, Forward};
    /// use tensor::Tensor;
    /// let layer = ConvTranspose1d::new(2, 4, 3, ())?;
    /// assert_eq!(layer.forward(&Tensor::ones([5, 2, 8], ())?)?.shape(), [5, 4, 10]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ConvTranspose1d: ConvTransposeOptions<1>, conv_transpose1d;
    /// A transposed convolution of `[batch, in_channels, height, width]`, or without the batch
    /// (`nn.ConvTranspose2d`): see [`Tensor::conv_transpose2d`].
    ///
    /// ```
    /// use nn::{ConvTranspose2d, Forward};
    /// use tensor::{ConvTransposeOptions, Tensor};
    /// let layer = ConvTranspose2d::new(8, 3, 2, ConvTransposeOptions::new().stride(2))?;
    /// assert_eq!(layer.forward(&Tensor::ones([1, 8, 7, 7], ())?)?.shape(), [1, 3, 14, 14]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ConvTranspose2d: ConvTransposeOptions<2>, conv_transpose2d;
    /// A transposed convolution of `[batch, in_channels, depth, height, width]`, or without the batch
    /// (`nn.ConvTranspose3d`): see [`Tensor::conv_transpose3d`].
    ///
    /// ```
    /// use nn::{ConvTranspose3d, Forward};
    /// use tensor::Tensor;
    /// let layer = ConvTranspose3d::new(2, 1, 2, ())?.without_bias();
    /// assert_eq!(layer.forward(&Tensor::ones([2, 3, 3, 3], ())?)?.shape(), [1, 4, 4, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ConvTranspose3d: ConvTransposeOptions<3>, conv_transpose3d;
}

/// Makes the methods that set how a layer is padded.
macro_rules! padding_modes {
    ($($name:ident)+) => {$(
        impl $name {
            /// The layer with other elements than zeros around its input (`padding_mode`), as many as the
            /// options say.
            ///
            /// ```
            #[doc = concat!("use nn::", stringify!($name), ";")]
            /// use tensor::{ConvOptions, PadMode};
            #[doc = concat!("let layer = ", stringify!($name), "::new(1, 1, 3, ConvOptions::new().padding(1))?;")]
            /// let layer = layer.with_padding_mode(PadMode::Circular);
            /// assert!(layer.to_string().ends_with("padding_mode=circular)"));
            /// # Ok::<(), tensor::Error>(())
            /// ```
            pub fn with_padding_mode(mut self, mode: PadMode) -> $name {
                self.padding_mode = match mode {
                    PadMode::Constant(_) => ZEROS,
                    mode => mode,
                };
                self
            }
        }
    )+};
}

padding_modes!(Conv1d Conv2d Conv3d);
