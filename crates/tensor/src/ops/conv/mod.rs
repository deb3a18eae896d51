//! Convolutions and transposed convolutions in one to three dimensions.

mod convolve;
mod geometry;
mod options;

use cpu_kernels::conv::ConvPass;

use self::convolve::{Convolve, check_operands};
use self::geometry::ConvArguments;
pub use self::options::{ConvOptions, ConvPadding, ConvTransposeOptions};
use crate::ops::autocast;
use crate::{Result, Tensor};

/// Convolutions. As in PyTorch, what is computed is a correlation: the kernel is not flipped. Operands
/// are of one dtype, of floats, or on the CPU of any numbers; halves are multiplied and added in
/// `F32`, and rounded once. Gradients flow to all operands, also in a pass that is recorded itself. On
/// CUDA the work is enqueued.
///
/// # Errors
/// Shapes or options do not fit: see each method. The operands differ in dtype or device, or are
/// truth values, or integers on CUDA; memory or the runtime failed.
impl Tensor {
    /// The convolution of `[batch, in_channels, length]`, or without the batch, with a weight
    /// `[out_channels, in_channels / groups, kernel]`, plus a bias for each channel of the output.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (x, weight) = (tensor![[[1.0, 2.0, 3.0, 4.0]]]?, tensor![[[1.0, 10.0]]]?);
    /// let y = x.conv1d(&weight, Some(&tensor![0.5]?), ())?;
    /// assert_eq!(y.to_vec::<f32>()?, [21.5, 32.5, 43.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn conv1d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: impl Into<ConvOptions<1>>,
    ) -> Result<Tensor> {
        self.convolved("conv1d", weight, bias, &options.into())
    }

    /// The convolution of `[batch, in_channels, height, width]`, or without the batch, with a weight
    /// `[out_channels, in_channels / groups, kernel_height, kernel_width]`, plus a bias for each
    /// channel of the output.
    ///
    /// ```
    /// use tensor::{ConvOptions, ConvPadding, Tensor};
    /// let (x, weight) = (Tensor::ones([8, 3, 32, 32], ())?, Tensor::ones([16, 3, 3, 3], ())?);
    /// assert_eq!(x.conv2d(&weight, None, ())?.shape(), [8, 16, 30, 30]);
    /// let same = ConvOptions::new().padding(ConvPadding::Same);
    /// assert_eq!(x.conv2d(&weight, None, same)?.shape(), [8, 16, 32, 32]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn conv2d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: impl Into<ConvOptions<2>>,
    ) -> Result<Tensor> {
        self.convolved("conv2d", weight, bias, &options.into())
    }

    /// The convolution of `[batch, in_channels, depth, height, width]`, or without the batch, with a
    /// weight `[out_channels, in_channels / groups, kernel_depth, kernel_height, kernel_width]`, plus
    /// a bias for each channel of the output.
    ///
    /// ```
    /// use tensor::{ConvOptions, Tensor};
    /// let (x, weight) = (Tensor::ones([2, 1, 4, 6, 8], ())?, Tensor::ones([5, 1, 3, 3, 3], ())?);
    /// let y = x.conv3d(&weight, None, ConvOptions::new().padding([1, 0, 1]))?;
    /// assert_eq!(y.shape(), [2, 5, 4, 4, 8]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn conv3d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: impl Into<ConvOptions<3>>,
    ) -> Result<Tensor> {
        self.convolved("conv3d", weight, bias, &options.into())
    }

    /// The transposed convolution of `[batch, in_channels, length]`, or without the batch, with a
    /// weight `[in_channels, out_channels / groups, kernel]`, plus a bias for each channel of the
    /// output: the gradient of a convolution by its input.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (x, weight) = (tensor![[[1.0, 2.0]]]?, tensor![[[1.0, 10.0]]]?);
    /// assert_eq!(x.conv_transpose1d(&weight, None, ())?.to_vec::<f32>()?, [1.0, 12.0, 20.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn conv_transpose1d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: impl Into<ConvTransposeOptions<1>>,
    ) -> Result<Tensor> {
        self.transposed_convolved("conv_transpose1d", weight, bias, &options.into())
    }

    /// The transposed convolution of `[batch, in_channels, height, width]`, or without the batch, with
    /// a weight `[in_channels, out_channels / groups, kernel_height, kernel_width]`, plus a bias for
    /// each channel of the output.
    ///
    /// ```
    /// use tensor::{ConvTransposeOptions, Tensor};
    /// let (x, weight) = (Tensor::ones([8, 3, 16, 16], ())?, Tensor::ones([3, 4, 2, 2], ())?);
    /// let y = x.conv_transpose2d(&weight, None, ConvTransposeOptions::new().stride(2))?;
    /// assert_eq!(y.shape(), [8, 4, 32, 32]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn conv_transpose2d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: impl Into<ConvTransposeOptions<2>>,
    ) -> Result<Tensor> {
        self.transposed_convolved("conv_transpose2d", weight, bias, &options.into())
    }

    /// The transposed convolution of `[batch, in_channels, depth, height, width]`, or without the
    /// batch, with a weight `[in_channels, out_channels / groups, kernel_depth, kernel_height,
    /// kernel_width]`, plus a bias for each channel of the output.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let (x, weight) = (Tensor::ones([2, 1, 4, 6, 8], ())?, Tensor::ones([1, 5, 3, 3, 3], ())?);
    /// assert_eq!(x.conv_transpose3d(&weight, None, ())?.shape(), [2, 5, 6, 8, 10]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn conv_transpose3d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: impl Into<ConvTransposeOptions<3>>,
    ) -> Result<Tensor> {
        self.transposed_convolved("conv_transpose3d", weight, bias, &options.into())
    }

    #[track_caller]
    fn convolved<const N: usize>(
        &self,
        op: &'static str,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvOptions<N>,
    ) -> Result<Tensor> {
        let cast = autocast(op, [self, weight])?;
        let ([x, weight], bias) = (cast.operands(), cast.optional(bias)?);
        x.batched(N, |x| {
            let bias = bias.as_deref();
            let arguments = ConvArguments { op, x, weight, bias };
            check_operands(&arguments)?;
            let geometry = arguments.convolution(options)?;
            Convolve { op, geometry, pass: ConvPass::Output }.apply([x, weight], bias)
        })
    }

    #[track_caller]
    fn transposed_convolved<const N: usize>(
        &self,
        op: &'static str,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvTransposeOptions<N>,
    ) -> Result<Tensor> {
        let cast = autocast(op, [self, weight])?;
        let ([x, weight], bias) = (cast.operands(), cast.optional(bias)?);
        x.batched(N, |x| {
            let bias = bias.as_deref();
            let arguments = ConvArguments { op, x, weight, bias };
            check_operands(&arguments)?;
            let geometry = arguments.transposed(options)?;
            Convolve { op, geometry, pass: ConvPass::Input }.apply([weight, x], bias)
        })
    }

    /// The result of a function of batches for the tensor, which may be without a batch: of channels,
    /// and so many dimensions.
    #[track_caller]
    fn batched(
        &self,
        dims: usize,
        function: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        if self.dims() == dims + 1 {
            function(&self.unsqueeze(0)?)?.squeeze(0)
        } else {
            function(self)
        }
    }
}
