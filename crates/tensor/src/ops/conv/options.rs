//! The options of convolutions.

use crate::ops::pooling::PerAxis;

/// The zeros around the input of a convolution. It is made from one number for all dimensions, or an
/// array of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvPadding<const N: usize> {
    /// So many at both ends of each dimension.
    Explicit([usize; N]),
    /// So many that the output has the sizes of the input, where the stride is 1; of an odd number,
    /// one more at the end.
    Same,
    /// None.
    Valid,
}

impl<const N: usize> From<usize> for ConvPadding<N> {
    fn from(value: usize) -> ConvPadding<N> {
        ConvPadding::Explicit([value; N])
    }
}

impl<const N: usize> From<[usize; N]> for ConvPadding<N> {
    fn from(values: [usize; N]) -> ConvPadding<N> {
        ConvPadding::Explicit(values)
    }
}

/// The options of a convolution in `N` dimensions, which begin as PyTorch's: a stride of 1, no padding,
/// a dilation of 1, and one group. `()` stands for these.
///
/// ```
/// use tensor::{ConvOptions, Tensor};
/// let (x, weight) = (Tensor::ones([1, 4, 8, 8], ())?, Tensor::ones([6, 2, 3, 3], ())?);
/// let options = ConvOptions::new().stride(2).padding([1, 0]).groups(2);
/// assert_eq!(x.conv2d(&weight, None, options)?.shape(), [1, 6, 4, 3]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOptions<const N: usize> {
    /// The distances of elements that neighbours of the other side meet.
    pub stride: [usize; N],
    /// The zeros around the input.
    pub padding: ConvPadding<N>,
    /// The distances of elements that neighbouring weights meet.
    pub dilation: [usize; N],
    /// The number of groups of channels.
    pub groups: usize,
}

impl<const N: usize> ConvOptions<N> {
    /// PyTorch's defaults.
    pub const fn new() -> ConvOptions<N> {
        let padding = ConvPadding::Explicit([0; N]);
        ConvOptions { stride: [1; N], padding, dilation: [1; N], groups: 1 }
    }

    /// Sets the distances of the inputs whose outputs are neighbours.
    pub fn stride(mut self, stride: impl Into<PerAxis<N>>) -> ConvOptions<N> {
        self.stride = stride.into().each();
        self
    }

    /// Sets the zeros around the input.
    pub fn padding(mut self, padding: impl Into<ConvPadding<N>>) -> ConvOptions<N> {
        self.padding = padding.into();
        self
    }

    /// Sets the distances of the inputs that neighbouring weights meet.
    pub fn dilation(mut self, dilation: impl Into<PerAxis<N>>) -> ConvOptions<N> {
        self.dilation = dilation.into().each();
        self
    }

    /// Sets the number of groups of channels, each of which is convolved by itself.
    pub const fn groups(mut self, groups: usize) -> ConvOptions<N> {
        self.groups = groups;
        self
    }
}

impl<const N: usize> Default for ConvOptions<N> {
    fn default() -> ConvOptions<N> {
        ConvOptions::new()
    }
}

impl<const N: usize> From<()> for ConvOptions<N> {
    fn from((): ()) -> ConvOptions<N> {
        ConvOptions::new()
    }
}

/// The options of a transposed convolution in `N` dimensions, which begin as PyTorch's: those of
/// [`ConvOptions`], and no output padding. `()` stands for these.
///
/// ```
/// use tensor::{ConvTransposeOptions, Tensor};
/// let (x, weight) = (Tensor::ones([1, 4, 8], ())?, Tensor::ones([4, 2, 3], ())?);
/// let options = ConvTransposeOptions::new().stride(2).padding(1).output_padding(1);
/// assert_eq!(x.conv_transpose1d(&weight, None, options)?.shape(), [1, 2, 16]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvTransposeOptions<const N: usize> {
    /// The distances of elements that neighbours of the other side meet.
    pub stride: [usize; N],
    /// The elements that are cut off at both ends of the output.
    pub padding: [usize; N],
    /// The elements by which the output is larger at its end.
    pub output_padding: [usize; N],
    /// The number of groups of channels.
    pub groups: usize,
    /// The distances of elements that neighbouring weights meet.
    pub dilation: [usize; N],
}

impl<const N: usize> ConvTransposeOptions<N> {
    /// PyTorch's defaults.
    pub const fn new() -> ConvTransposeOptions<N> {
        let (one, none) = ([1; N], [0; N]);
        let (padding, output_padding) = (none, none);
        ConvTransposeOptions { stride: one, padding, output_padding, groups: 1, dilation: one }
    }

    /// Sets the distances of the outputs that neighbouring inputs meet.
    pub fn stride(mut self, stride: impl Into<PerAxis<N>>) -> ConvTransposeOptions<N> {
        self.stride = stride.into().each();
        self
    }

    /// Sets how many elements are cut off at both ends of the output.
    pub fn padding(mut self, padding: impl Into<PerAxis<N>>) -> ConvTransposeOptions<N> {
        self.padding = padding.into().each();
        self
    }

    /// Sets how much larger the output is at its end: of the sizes that a convolution with a stride
    /// maps to the input's, the least is taken without it.
    pub fn output_padding(
        mut self,
        output_padding: impl Into<PerAxis<N>>,
    ) -> ConvTransposeOptions<N> {
        self.output_padding = output_padding.into().each();
        self
    }

    /// Sets the number of groups of channels, each of which is convolved by itself.
    pub const fn groups(mut self, groups: usize) -> ConvTransposeOptions<N> {
        self.groups = groups;
        self
    }

    /// Sets the distances of the outputs that neighbouring weights meet.
    pub fn dilation(mut self, dilation: impl Into<PerAxis<N>>) -> ConvTransposeOptions<N> {
        self.dilation = dilation.into().each();
        self
    }
}

impl<const N: usize> Default for ConvTransposeOptions<N> {
    fn default() -> ConvTransposeOptions<N> {
        ConvTransposeOptions::new()
    }
}

impl<const N: usize> From<()> for ConvTransposeOptions<N> {
    fn from((): ()) -> ConvTransposeOptions<N> {
        ConvTransposeOptions::new()
    }
}
