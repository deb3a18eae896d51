//! The options of pooling: sizes along the axes of windows.

use std::fmt;

use crate::Tensor;

/// A number for each axis of a window or a kernel: one for all of them, or an array with one for each
/// (`torch::ExpandingArray`).
///
/// ```
/// use tensor::PerAxis;
/// assert_eq!(PerAxis::<2>::from(3).each(), [3, 3]);
/// assert_eq!(PerAxis::from([3, 2]).to_string(), "(3, 2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PerAxis<const N: usize> {
    /// One number for all axes.
    All(usize),
    /// A number for each axis, the outermost first.
    Each([usize; N]),
}

impl<const N: usize> PerAxis<N> {
    /// The numbers, one for each axis.
    pub const fn each(self) -> [usize; N] {
        match self {
            PerAxis::All(number) => [number; N],
            PerAxis::Each(numbers) => numbers,
        }
    }
}

impl<const N: usize> From<usize> for PerAxis<N> {
    fn from(number: usize) -> PerAxis<N> {
        PerAxis::All(number)
    }
}

impl<const N: usize> From<[usize; N]> for PerAxis<N> {
    fn from(numbers: [usize; N]) -> PerAxis<N> {
        PerAxis::Each(numbers)
    }
}

/// Written as Python writes it: `3`, or `(3, 2)`.
impl<const N: usize> fmt::Display for PerAxis<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PerAxis::All(number) => number.fmt(f),
            PerAxis::Each(numbers) if N == 1 => write!(f, "({},)", numbers[0]),
            PerAxis::Each(numbers) => {
                let texts = numbers.map(|number| number.to_string());
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}

/// Makes the methods of options that set one of them.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)+) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $name: impl Into<$type>) -> Self {
            self.$name = $name.into();
            self
        }
    )+};
}

/// Options that are made from the sizes of windows alone.
macro_rules! from_kernel_size {
    ($options:ident) => {
        impl<const N: usize> From<usize> for $options<N> {
            fn from(kernel_size: usize) -> $options<N> {
                $options::new(kernel_size)
            }
        }

        impl<const N: usize> From<[usize; N]> for $options<N> {
            fn from(kernel_size: [usize; N]) -> $options<N> {
                $options::new(kernel_size)
            }
        }
    };
}

/// The options of `max_pool1d`, `max_pool2d` and `max_pool3d`, by the number of axes. They are made
/// from the size of the windows, with PyTorch's defaults for the others.
///
/// ```
/// use tensor::{MaxPoolOptions, Tensor};
/// let x = Tensor::zeros([1, 3, 9, 9], ())?;
/// let options = MaxPoolOptions::new(3).stride(2).padding([1, 0]);
/// assert_eq!(x.max_pool2d(options)?.shape(), [1, 3, 5, 4]);
/// assert_eq!(x.max_pool2d(2)?.shape(), [1, 3, 4, 4]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MaxPoolOptions<const N: usize> {
    /// The number of elements of a window along each axis.
    pub kernel_size: PerAxis<N>,
    /// The distance from window to window: the windows' size, unless another is set.
    pub stride: PerAxis<N>,
    /// The elements at each end that are added, and are never the largest.
    pub padding: PerAxis<N>,
    /// The distance between the elements of a window.
    pub dilation: PerAxis<N>,
    /// Whether a window counts that begins within the array and ends after it.
    pub ceil_mode: bool,
}

impl<const N: usize> MaxPoolOptions<N> {
    /// Windows of a size that lie side by side.
    pub fn new(kernel_size: impl Into<PerAxis<N>>) -> MaxPoolOptions<N> {
        let kernel_size = kernel_size.into();
        MaxPoolOptions {
            kernel_size,
            stride: kernel_size,
            padding: PerAxis::All(0),
            dilation: PerAxis::All(1),
            ceil_mode: false,
        }
    }

    setters! {
        /// Sets the distance from window to window.
        stride: PerAxis<N>;
        /// Sets the number of elements that are added at each end.
        padding: PerAxis<N>;
        /// Sets the distance between the elements of a window.
        dilation: PerAxis<N>;
        /// Sets whether a window counts that begins within the array and ends after it.
        ceil_mode: bool;
    }
}

from_kernel_size!(MaxPoolOptions);

/// The options of `avg_pool1d`, `avg_pool2d` and `avg_pool3d`, by the number of axes. They are made
/// from the size of the windows, with PyTorch's defaults for the others.
///
/// ```
/// use tensor::{AvgPoolOptions, tensor};
/// let x = tensor![[2.0, 4.0, 6.0]]?;
/// let options = AvgPoolOptions::new(2).stride(1).padding(1);
/// assert_eq!(x.avg_pool1d(options)?.to_vec::<f32>()?, [1.0, 3.0, 5.0, 3.0]);
/// let options = options.count_include_pad(false);
/// assert_eq!(x.avg_pool1d(options)?.to_vec::<f32>()?, [2.0, 3.0, 5.0, 6.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AvgPoolOptions<const N: usize> {
    /// The number of elements of a window along each axis.
    pub kernel_size: PerAxis<N>,
    /// The distance from window to window: the windows' size, unless another is set.
    pub stride: PerAxis<N>,
    /// The zeros that are added at each end.
    pub padding: PerAxis<N>,
    /// Whether a window counts that begins within the array and ends after it.
    pub ceil_mode: bool,
    /// Whether the zeros of the padding count in the averages.
    pub count_include_pad: bool,
    /// The number that sums are divided by, in place of the number of elements.
    pub divisor_override: Option<i64>,
}

impl<const N: usize> AvgPoolOptions<N> {
    /// Windows of a size that lie side by side.
    pub fn new(kernel_size: impl Into<PerAxis<N>>) -> AvgPoolOptions<N> {
        let kernel_size = kernel_size.into();
        AvgPoolOptions {
            kernel_size,
            stride: kernel_size,
            padding: PerAxis::All(0),
            ceil_mode: false,
            count_include_pad: true,
            divisor_override: None,
        }
    }

    setters! {
        /// Sets the distance from window to window.
        stride: PerAxis<N>;
        /// Sets the number of zeros that are added at each end.
        padding: PerAxis<N>;
        /// Sets whether a window counts that begins within the array and ends after it.
        ceil_mode: bool;
        /// Sets whether the zeros of the padding count in the averages.
        count_include_pad: bool;
        /// Sets the number that sums are divided by.
        divisor_override: Option<i64>;
    }
}

from_kernel_size!(AvgPoolOptions);

/// The options of `max_unpool1d`, `max_unpool2d` and `max_unpool3d`, by the number of axes: those of
/// the pooling that is undone.
///
/// ```
/// use tensor::{MaxUnpoolOptions, tensor};
/// let x = tensor![[1.0, 3.0, 2.0, 0.0]]?;
/// let (largest, places) = x.max_pool1d_with_indices(2)?;
/// let unpooled = largest.max_unpool1d(&places, 2)?;
/// assert_eq!(unpooled.to_vec::<f32>()?, [0.0, 3.0, 2.0, 0.0]);
/// let longer = MaxUnpoolOptions::new(2).output_size([5]);
/// assert_eq!(largest.max_unpool1d(&places, longer)?.shape(), [1, 5]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MaxUnpoolOptions<const N: usize> {
    /// The number of elements of a window along each axis.
    pub kernel_size: PerAxis<N>,
    /// The distance from window to window: the windows' size, unless another is set.
    pub stride: PerAxis<N>,
    /// The elements at each end that were added.
    pub padding: PerAxis<N>,
    /// The sizes of the axes of the result. Several are pooled to one size, of which the smallest is
    /// taken unless this says another.
    pub output_size: Option<[usize; N]>,
}

impl<const N: usize> MaxUnpoolOptions<N> {
    /// Windows of a size that lie side by side.
    pub fn new(kernel_size: impl Into<PerAxis<N>>) -> MaxUnpoolOptions<N> {
        let kernel_size = kernel_size.into();
        let padding = PerAxis::All(0);
        MaxUnpoolOptions { kernel_size, stride: kernel_size, padding, output_size: None }
    }

    setters! {
        /// Sets the distance from window to window.
        stride: PerAxis<N>;
        /// Sets the number of elements that were added at each end.
        padding: PerAxis<N>;
        /// Sets the sizes of the axes of the result.
        output_size: Option<[usize; N]>;
    }
}

from_kernel_size!(MaxUnpoolOptions);

/// The options of `lp_pool1d`, `lp_pool2d` and `lp_pool3d`, by the number of axes. They are made from
/// the size of the windows, with PyTorch's defaults for the others.
///
/// ```
/// use tensor::{LPPoolOptions, tensor};
/// let x = tensor![[3.0, 4.0, 0.0]]?;
/// let norms = x.lp_pool1d(2, LPPoolOptions::new(2).stride(1))?;
/// assert_eq!(norms.to_vec::<f32>()?, [5.0, 4.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LPPoolOptions<const N: usize> {
    /// The number of elements of a window along each axis.
    pub kernel_size: PerAxis<N>,
    /// The distance from window to window: the windows' size, unless another is set.
    pub stride: Option<PerAxis<N>>,
    /// Whether a window counts that begins within the array and ends after it.
    pub ceil_mode: bool,
}

impl<const N: usize> LPPoolOptions<N> {
    /// Windows of a size that lie side by side.
    pub fn new(kernel_size: impl Into<PerAxis<N>>) -> LPPoolOptions<N> {
        LPPoolOptions { kernel_size: kernel_size.into(), stride: None, ceil_mode: false }
    }

    /// Sets the distance from window to window.
    pub fn stride(mut self, stride: impl Into<PerAxis<N>>) -> Self {
        self.stride = Some(stride.into());
        self
    }

    setters! {
        /// Sets whether a window counts that begins within the array and ends after it.
        ceil_mode: bool;
    }
}

from_kernel_size!(LPPoolOptions);

/// The options of `fractional_max_pool2d` and `fractional_max_pool3d`, by the number of axes: the size of
/// the windows, and that of the result, or its share of the tensor's.
///
/// ```
/// use tensor::{FractionalMaxPoolOptions, Tensor};
/// let x = Tensor::zeros([1, 3, 9, 9], ())?;
/// let options = FractionalMaxPoolOptions::to_size(2, [6, 5]);
/// assert_eq!(x.fractional_max_pool2d(&options)?.shape(), [1, 3, 6, 5]);
/// let options = FractionalMaxPoolOptions::to_ratio(2, 0.7);
/// assert_eq!(x.fractional_max_pool2d(&options)?.shape(), [1, 3, 6, 6]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FractionalMaxPoolOptions<const N: usize> {
    /// The number of elements of a window along each axis.
    pub kernel_size: PerAxis<N>,
    /// The size of the result.
    pub output: FractionalPoolSize<N>,
    /// The random numbers, `[batch or 1, channels, axes]`, which are drawn where none are given. As in
    /// PyTorch, those of two axes are in the order of width and height.
    pub samples: Option<Tensor>,
}

/// The size of what a fractional pooling gives along each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FractionalPoolSize<const N: usize> {
    /// The sizes.
    Size(PerAxis<N>),
    /// The sizes as shares of those of the tensor, rounded down.
    Ratio([f64; N]),
}

impl<const N: usize> FractionalMaxPoolOptions<N> {
    /// Windows of a size, as many as this.
    pub fn to_size(
        kernel_size: impl Into<PerAxis<N>>,
        output_size: impl Into<PerAxis<N>>,
    ) -> FractionalMaxPoolOptions<N> {
        let (kernel_size, output) = (kernel_size.into(), output_size.into());
        let output = FractionalPoolSize::Size(output);
        FractionalMaxPoolOptions { kernel_size, output, samples: None }
    }

    /// Windows of a size, as many as this share of the tensor's elements along each axis.
    pub fn to_ratio(
        kernel_size: impl Into<PerAxis<N>>,
        output_ratio: impl Into<PerAxisRatio<N>>,
    ) -> FractionalMaxPoolOptions<N> {
        let output = FractionalPoolSize::Ratio(output_ratio.into().0);
        FractionalMaxPoolOptions { kernel_size: kernel_size.into(), output, samples: None }
    }

    setters! {
        /// Sets the random numbers.
        samples: Option<Tensor>;
    }
}

/// A ratio for each axis of a fractional pooling: one for all of them, or an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerAxisRatio<const N: usize>([f64; N]);

impl<const N: usize> From<f64> for PerAxisRatio<N> {
    fn from(ratio: f64) -> PerAxisRatio<N> {
        PerAxisRatio([ratio; N])
    }
}

impl<const N: usize> From<[f64; N]> for PerAxisRatio<N> {
    fn from(ratios: [f64; N]) -> PerAxisRatio<N> {
        PerAxisRatio(ratios)
    }
}

/// The sizes of what an adaptive pooling gives along each axis, `None` for the size that the tensor
/// has. They are made from one number for all axes, or an array.
///
/// ```
/// use tensor::{AdaptivePoolSize, Tensor};
/// let x = Tensor::zeros([1, 3, 9, 8], ())?;
/// assert_eq!(x.adaptive_avg_pool2d(1)?.shape(), [1, 3, 1, 1]);
/// assert_eq!(x.adaptive_avg_pool2d([Some(2), None])?.shape(), [1, 3, 2, 8]);
/// assert_eq!(AdaptivePoolSize::from([2, 3]).to_string(), "(2, 3)");
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdaptivePoolSize<const N: usize> {
    /// One size for all axes.
    All(Option<usize>),
    /// A size for each axis, the outermost first.
    Each([Option<usize>; N]),
}

impl<const N: usize> AdaptivePoolSize<N> {
    /// The sizes, one for each axis.
    pub const fn each(self) -> [Option<usize>; N] {
        match self {
            AdaptivePoolSize::All(size) => [size; N],
            AdaptivePoolSize::Each(sizes) => sizes,
        }
    }
}

impl<const N: usize> From<usize> for AdaptivePoolSize<N> {
    fn from(size: usize) -> AdaptivePoolSize<N> {
        AdaptivePoolSize::All(Some(size))
    }
}

impl<const N: usize> From<[usize; N]> for AdaptivePoolSize<N> {
    fn from(sizes: [usize; N]) -> AdaptivePoolSize<N> {
        AdaptivePoolSize::Each(sizes.map(Some))
    }
}

impl<const N: usize> From<[Option<usize>; N]> for AdaptivePoolSize<N> {
    fn from(sizes: [Option<usize>; N]) -> AdaptivePoolSize<N> {
        AdaptivePoolSize::Each(sizes)
    }
}

/// Written as Python writes it: `1`, `(7, None)`.
impl<const N: usize> fmt::Display for AdaptivePoolSize<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text =
            |size: Option<usize>| size.map_or_else(|| "None".to_owned(), |size| size.to_string());
        match *self {
            AdaptivePoolSize::All(size) => f.write_str(&text(size)),
            AdaptivePoolSize::Each(sizes) if N == 1 => write!(f, "({},)", text(sizes[0])),
            AdaptivePoolSize::Each(sizes) => write!(f, "({})", sizes.map(text).join(", ")),
        }
    }
}
