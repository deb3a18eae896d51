//! The sizes of a convolution, and its three tensors.

/// The sizes of a convolution in three dimensions: a sum over channels and kernel positions of
/// products of inputs `[batch, groups * in_channels, ..input]` and weights
/// `[groups * out_channels, in_channels, ..kernel]` for each of the outputs
/// `[batch, groups * out_channels, ..output]`. Output `o` meets at kernel position `k` the input at
/// `o * stride + k * dilation - padding`, which is zero outside.
#[derive(Clone, Copy, Debug)]
pub struct ConvShape {
    /// The number of samples.
    pub batch: usize,
    /// The number of groups of channels that have nothing to do with each other.
    pub groups: usize,
    /// The input's channels in a group.
    pub in_channels: usize,
    /// The output's channels in a group.
    pub out_channels: usize,
    /// The sizes of a channel of the input.
    pub input: [usize; 3],
    /// The sizes of a channel of a weight.
    pub kernel: [usize; 3],
    /// The sizes of a channel of the output.
    pub output: [usize; 3],
    /// The distances of inputs whose outputs are neighbours; not 0.
    pub stride: [usize; 3],
    /// The zeros before the first input.
    pub padding: [usize; 3],
    /// The distances of inputs that neighbouring weights meet; not 0.
    pub dilation: [usize; 3],
}

/// The tensor that is computed, from the two others: each is the gradient by it of the sum of all
/// products of an input, a weight and an output that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvPass {
    /// The convolution.
    Output,
    /// The gradient of the input, which is the transposed convolution.
    Input,
    /// The gradient of the weight.
    Weight,
}

/// The addresses of the three tensors of a convolution, dense and of one dtype.
#[derive(Clone, Copy, Debug)]
pub struct ConvOperands {
    /// The input.
    pub input: *mut u8,
    /// The weight.
    pub weight: *mut u8,
    /// The output.
    pub output: *mut u8,
    /// A number for each channel of the result that is added to it; null if there is none. That of
    /// a weight has none.
    pub bias: *const u8,
}
