//! Blocks of images as columns.

use tensor::{BlockOptions, PerAxis, Tensor};

use crate::{Forward, Module, Result};

/// [`Tensor::im2col`] as a layer.
///
/// ```
/// use nn::{Forward, Unfold};
/// use tensor::Tensor;
/// let layer = Unfold::new([2, 3]);
/// assert_eq!(layer.to_string(), "Unfold(kernel_size=(2, 3), dilation=1, padding=0, stride=1)");
/// assert_eq!(layer.forward(&Tensor::ones([2, 5, 3, 4], ())?)?.shape(), [2, 30, 4]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
#[module(extra_repr = Unfold::described)]
pub struct Unfold {
    #[module(skip)]
    options: BlockOptions,
}

impl Unfold {
    /// A layer with these options, or blocks of a size.
    pub fn new(options: impl Into<BlockOptions>) -> Unfold {
        Unfold { options: options.into() }
    }

    fn described(&self) -> String {
        described(&self.options)
    }
}

impl Forward for Unfold {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.im2col(self.options)
    }
}

/// [`Tensor::col2im`] as a layer.
///
/// ```
/// use nn::{Fold, Forward};
/// use tensor::Tensor;
/// let layer = Fold::new([3, 4], [2, 3]);
/// let printed = "Fold(output_size=(3, 4), kernel_size=(2, 3), dilation=1, padding=0, stride=1)";
/// assert_eq!(layer.to_string(), printed);
/// assert_eq!(layer.forward(&Tensor::ones([2, 30, 4], ())?)?.shape(), [2, 5, 3, 4]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
#[module(extra_repr = Fold::described)]
pub struct Fold {
    #[module(skip)]
    output_size: PerAxis<2>,
    #[module(skip)]
    options: BlockOptions,
}

impl Fold {
    /// A layer for images of a size, with these options, or blocks of a size.
    pub fn new(output_size: impl Into<PerAxis<2>>, options: impl Into<BlockOptions>) -> Fold {
        Fold { output_size: output_size.into(), options: options.into() }
    }

    fn described(&self) -> String {
        format!("output_size={}, {}", self.output_size, described(&self.options))
    }
}

impl Forward for Fold {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.col2im(self.output_size, self.options)
    }
}

fn described(options: &BlockOptions) -> String {
    let BlockOptions { kernel_size, dilation, padding, stride, .. } = options;
    format!("kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}")
}
