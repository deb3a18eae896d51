//! The sizes of convolutions, from the shapes of their operands and their options.

use super::options::{ConvOptions, ConvPadding, ConvTransposeOptions};
use crate::checked_size::CheckedSize;
use crate::dispatch::ConvGeometry;
use crate::{Error, Result, Shape, Tensor};

/// The operands of a convolution, the first of which has a batch.
#[derive(Clone, Copy)]
pub(super) struct ConvArguments<'a> {
    pub(super) op: &'static str,
    pub(super) x: &'a Tensor,
    pub(super) weight: &'a Tensor,
    pub(super) bias: Option<&'a Tensor>,
}

impl ConvArguments<'_> {
    /// The geometry of these tensors but for the sizes along the `N` dimensions, which are 1.
    ///
    /// # Errors
    /// The weight has no channels for each of the groups.
    fn of_ones<const N: usize>(&self, groups: usize) -> Result<ConvGeometry> {
        let (x, weight) = (self.x.shape(), self.weight.shape());
        if weight[0] == 0 || !weight[0].is_multiple_of(groups) {
            return Err(self.mismatch("the weight must have channels for each of the groups"));
        }
        Ok(ConvGeometry {
            dims: N,
            batch: x[0],
            groups,
            in_channels: weight[1],
            out_channels: weight[0] / groups,
            input: [1; 3],
            kernel: [1; 3],
            output: [1; 3],
            stride: [1; 3],
            padding: [0; 3],
            dilation: [1; 3],
        })
    }

    /// The geometry of a convolution in `N` dimensions.
    ///
    /// # Errors
    /// Shapes or options do not fit.
    pub(super) fn convolution<const N: usize>(
        &self,
        options: &ConvOptions<N>,
    ) -> Result<ConvGeometry> {
        let ConvOptions { stride, padding, dilation, groups } = *options;
        self.check(N, [stride, dilation], groups)?;
        let (x, weight) = (self.x.shape(), self.weight.shape());
        let mut geometry = self.of_ones::<N>(groups)?;
        if Some(x[1]) != weight[1].checked_mul(groups) {
            let rule = "`self` must have as many channels as the weight in all groups together";
            return Err(self.mismatch(rule));
        }
        self.check_bias(weight[0])?;
        for dim in 0..N {
            let (input, kernel, at) = (x[2 + dim], weight[2 + dim], 3 - N + dim);
            let extent = CheckedSize::from(kernel - 1) * dilation[dim];
            let (before, zeros) = match padding {
                ConvPadding::Explicit(sizes) => {
                    (sizes[dim], CheckedSize::from(sizes[dim]) * 2usize)
                }
                ConvPadding::Valid => (0, 0usize.into()),
                ConvPadding::Same if stride[dim] == 1 => {
                    (extent.size().map_or(0, |extent| extent / 2), extent)
                }
                ConvPadding::Same => {
                    let value = format!("{stride:?} with ConvPadding::Same");
                    return Err(self.refused("stride", value, "it must be 1 for that padding"));
                }
            };
            let padded = (CheckedSize::from(input) + zeros).size();
            let (padded, extent) = padded.zip(extent.size()).ok_or_else(|| self.overflow())?;
            if extent >= padded {
                let rule = "a dilated kernel must not be larger than the padded input";
                return Err(self.mismatch(rule));
            }
            geometry.input[at] = input;
            geometry.kernel[at] = kernel;
            geometry.output[at] = (padded - extent - 1) / stride[dim] + 1;
            geometry.stride[at] = stride[dim];
            geometry.padding[at] = before;
            geometry.dilation[at] = dilation[dim];
        }
        Ok(geometry)
    }

    /// The geometry of the convolution that a transposed one in `N` dimensions is the gradient of: its
    /// output is the operand, and its input the result.
    ///
    /// # Errors
    /// Shapes or options do not fit.
    pub(super) fn transposed<const N: usize>(
        &self,
        options: &ConvTransposeOptions<N>,
    ) -> Result<ConvGeometry> {
        let ConvTransposeOptions { stride, padding, output_padding, groups, dilation } = *options;
        self.check(N, [stride, dilation], groups)?;
        let (x, weight) = (self.x.shape(), self.weight.shape());
        let mut geometry = self.of_ones::<N>(groups)?;
        if x[1] != weight[0] {
            return Err(self.mismatch("`self` must have as many channels as the weight has rows"));
        }
        let channels = (CheckedSize::from(weight[1]) * groups).size();
        self.check_bias(channels.ok_or_else(|| self.overflow())?)?;
        for dim in 0..N {
            let (output, kernel, at) = (x[2 + dim], weight[2 + dim], 3 - N + dim);
            if output_padding[dim] >= stride[dim].max(dilation[dim]) {
                let value = format!("{output_padding:?}");
                let why = "it must be smaller than the stride or the dilation";
                return Err(self.refused("output_padding", value, why));
            }
            let extent = CheckedSize::from(kernel - 1) * dilation[dim];
            let whole = CheckedSize::from(output - 1) * stride[dim] + extent + 1usize;
            let whole = (whole + output_padding[dim]).size();
            let cut = (CheckedSize::from(padding[dim]) * 2usize).size();
            let (whole, cut) = whole.zip(cut).ok_or_else(|| self.overflow())?;
            if cut >= whole {
                let value = format!("{padding:?}");
                let why =
                    "it must leave something of the output, from both ends of which it is cut";
                return Err(self.refused("padding", value, why));
            }
            geometry.input[at] = whole - cut;
            geometry.kernel[at] = kernel;
            geometry.output[at] = output;
            geometry.stride[at] = stride[dim];
            geometry.padding[at] = padding[dim];
            geometry.dilation[at] = dilation[dim];
        }
        Ok(geometry)
    }

    /// # Errors
    /// A number of dimensions, a size or an option is none that a convolution has.
    fn check<const N: usize>(
        &self,
        dims: usize,
        [stride, dilation]: [[usize; N]; 2],
        groups: usize,
    ) -> Result<()> {
        for (argument, values) in [("stride", stride), ("dilation", dilation)] {
            if values.contains(&0) {
                return Err(self.refused(argument, format!("{values:?}"), "it must not be 0"));
            }
        }
        if groups == 0 {
            return Err(self.refused("groups", "0".to_owned(), "there must be one at least"));
        }
        if self.x.dims() != dims + 2 || self.weight.dims() != dims + 2 {
            let rule = "the weight must have two dimensions besides those of the convolution, and \
                        `self` too, or only the channels'";
            return Err(self.mismatch(rule));
        }
        if self.weight.shape()[2..].contains(&0) {
            return Err(self.mismatch("no size of the kernel may be 0"));
        }
        if self.x.shape()[2..].contains(&0) {
            return Err(self.mismatch("only the batch and the channels may be of size 0"));
        }
        Ok(())
    }

    /// # Errors
    /// The bias does not have a number for each of so many channels.
    fn check_bias(&self, channels: usize) -> Result<()> {
        match self.bias {
            Some(bias) if bias.shape() != [channels] => {
                Err(self.mismatch("the bias must have a number for each channel of the output"))
            }
            _ => Ok(()),
        }
    }

    fn refused(&self, argument: &'static str, value: String, why: &'static str) -> Error {
        Error::InvalidArgument { op: self.op, argument, value, why }
    }

    fn overflow(&self) -> Error {
        self.mismatch("with this padding, stride and dilation the sizes are too large")
    }

    fn mismatch(&self, rule: &'static str) -> Error {
        let all = [("self", Some(self.x)), ("weight", Some(self.weight)), ("bias", self.bias)];
        let shape = |(name, tensor): (&'static str, Option<&Tensor>)| {
            Some((name, Shape::from(tensor?.shape())))
        };
        let shapes = all.into_iter().filter_map(shape).collect();
        Error::ShapeMismatch { op: self.op, shapes, rule }
    }
}
