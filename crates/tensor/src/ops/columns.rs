//! ImageBlocks of images as columns, and columns as blocks again.

use std::panic::Location;

use gpu_runtime::at_place;

use super::convert::dense;
use super::pooling::{PerAxis, bounded};
use super::scan::widened;
use crate::autograd::record;
use crate::checked_size::CheckedSize;
use crate::{Error, Result, Tensor, no_grad};

/// ImageBlocks that slide over an image, for [`Tensor::im2col`] and [`Tensor::col2im`]. They are made from
/// the size of a block, with PyTorch's defaults for the others.
///
/// ```
/// use tensor::{BlockOptions, Tensor};
/// let x = Tensor::zeros([1, 2, 5, 5], ())?;
/// let columns = x.im2col(BlockOptions::new([3, 2]).stride(2).padding([1, 0]))?;
/// assert_eq!(columns.shape(), [1, 2 * 3 * 2, 3 * 2]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BlockOptions {
    /// The height and width of a block.
    pub kernel_size: PerAxis<2>,
    /// The distance between the elements of a block.
    pub dilation: PerAxis<2>,
    /// The zeros that are added at each side.
    pub padding: PerAxis<2>,
    /// The distance from block to block.
    pub stride: PerAxis<2>,
}

impl BlockOptions {
    /// ImageBlocks of a size, one beside the other element by element.
    pub fn new(kernel_size: impl Into<PerAxis<2>>) -> BlockOptions {
        BlockOptions {
            kernel_size: kernel_size.into(),
            dilation: PerAxis::All(1),
            padding: PerAxis::All(0),
            stride: PerAxis::All(1),
        }
    }

    /// Sets the distance between the elements of a block.
    pub fn dilation(mut self, dilation: impl Into<PerAxis<2>>) -> BlockOptions {
        self.dilation = dilation.into();
        self
    }

    /// Sets the number of zeros that are added at each side.
    pub fn padding(mut self, padding: impl Into<PerAxis<2>>) -> BlockOptions {
        self.padding = padding.into();
        self
    }

    /// Sets the distance from block to block.
    pub fn stride(mut self, stride: impl Into<PerAxis<2>>) -> BlockOptions {
        self.stride = stride.into();
        self
    }
}

impl From<usize> for BlockOptions {
    fn from(kernel_size: usize) -> BlockOptions {
        BlockOptions::new(kernel_size)
    }
}

impl From<[usize; 2]> for BlockOptions {
    fn from(kernel_size: [usize; 2]) -> BlockOptions {
        BlockOptions::new(kernel_size)
    }
}

/// Images as the columns of a matrix.
impl Tensor {
    /// The blocks of images `[channels, height, width]` or `[batch, channels, height, width]` as the
    /// columns of matrices `[.., channels * kernel height * kernel width, blocks]`
    /// (`torch.nn.functional.unfold`, `im2col`).
    ///
    /// ```
    /// use tensor::Tensor;
    /// let columns = Tensor::arange(6.0, ())?.reshape([1, 2, 3])?.im2col(2)?;
    /// let expected = [[0.0f32, 1.0], [1.0, 2.0], [3.0, 4.0], [4.0, 5.0]];
    /// assert_eq!(columns.to_vec::<f32>()?, expected.as_flattened());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor has not three or four dimensions, or is empty but for its batch; no block has room, or a
    /// number of the options is 0 or too large.
    #[track_caller]
    pub fn im2col(&self, options: impl Into<BlockOptions>) -> Result<Tensor> {
        const OP: &str = "im2col";
        let batch = self.dims().saturating_sub(3);
        if !matches!(self.dims(), 3 | 4) || self.shape()[batch..].contains(&0) {
            let shapes = vec![("self", self.layout().shape().clone())];
            let rule = "`self` must be [channels, height, width] or [batch, channels, height, \
                        width], and only the batch empty";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        let [height, width] = [self.shape()[batch + 1], self.shape()[batch + 2]];
        let blocks = ImageBlocks::new(OP, &options.into(), [height, width])?;
        let images = match batch {
            0 => self.unsqueeze(0)?,
            _ => self.clone(),
        };
        let columns = to_columns(&images, &blocks)?;
        if batch == 0 { columns.squeeze(0) } else { Ok(columns) }
    }

    /// The sums of blocks where these overlap: images of a size from columns as [`Tensor::im2col`] makes
    /// them (`torch.nn.functional.fold`, `col2im`). Sums are made in a fixed order, those of halves in
    /// `F32`.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let image = Tensor::ones([4, 2], ())?.col2im([2, 3], 2)?;
    /// assert_eq!(image.shape(), [1, 2, 3]);
    /// assert_eq!(image.to_vec::<f32>()?, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor has not two or three dimensions; there is not a column for each block, or a row for
    /// each element of a block; or as for `im2col`.
    #[track_caller]
    pub fn col2im(
        &self,
        output_size: impl Into<PerAxis<2>>,
        options: impl Into<BlockOptions>,
    ) -> Result<Tensor> {
        const OP: &str = "col2im";
        let blocks = ImageBlocks::new(OP, &options.into(), output_size.into().each())?;
        let size = blocks.kernel[0] * blocks.kernel[1];
        let fits = match *self.shape() {
            [rows, columns] | [_, rows, columns] => {
                rows > 0 && rows % size == 0 && columns == blocks.count
            }
            _ => false,
        };
        if !fits {
            let shapes = vec![("self", self.layout().shape().clone())];
            let rule = "`self` must be [channels * block, blocks] or [batch, channels * block, \
                        blocks], of the options' blocks";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        if self.dims() == 3 {
            return from_columns(self, &blocks);
        }
        from_columns(&self.unsqueeze(0)?, &blocks)?.squeeze(0)
    }
}

/// The blocks of images of one size.
#[derive(Clone)]
struct ImageBlocks {
    image: [usize; 2],
    kernel: [usize; 2],
    dilation: [usize; 2],
    padding: [usize; 2],
    stride: [usize; 2],
    /// The number of blocks along each axis.
    along: [usize; 2],
    count: usize,
}

impl ImageBlocks {
    /// # Errors
    /// A number is 0 or too large, or no block has room.
    fn new(op: &'static str, options: &BlockOptions, image: [usize; 2]) -> Result<ImageBlocks> {
        let BlockOptions { kernel_size, dilation, padding, stride } = *options;
        let kernel = bounded(op, "kernel_size", kernel_size, 1)?;
        let blocks = ImageBlocks {
            image,
            kernel,
            dilation: bounded(op, "dilation", dilation, 1)?,
            padding: bounded(op, "padding", padding, 0)?,
            stride: bounded(op, "stride", stride, 1)?,
            along: [0; 2],
            count: 0,
        };
        let along = [0, 1].map(|axis| {
            let reach = (blocks.kernel[axis] - 1) * blocks.dilation[axis];
            let padded = image[axis].checked_add(2 * blocks.padding[axis])?;
            Some(padded.checked_sub(reach + 1)? / blocks.stride[axis] + 1)
        });
        let all = |[height, width]: [usize; 2]| (CheckedSize::from(height) * width).size();
        let [Some(rows), Some(columns)] = along else {
            let why = "a block is larger than the image with its padding";
            return Err(refused(op, kernel_size, why));
        };
        let too_large = || refused(op, kernel_size, "there are too many blocks");
        let count = all([rows, columns]).ok_or_else(too_large)?;
        all(blocks.padded()).ok_or_else(too_large)?;
        Ok(ImageBlocks { along: [rows, columns], count, ..blocks })
    }

    /// The size of the images with their padding.
    fn padded(&self) -> [usize; 2] {
        [0, 1].map(|axis| self.image[axis] + 2 * self.padding[axis])
    }

    /// The padding of images, as `constant_pad_nd` takes it.
    fn sides(&self, sign: isize) -> [isize; 4] {
        let [rows, columns] = self.padding.map(|padding| padding as isize * sign);
        [columns, columns, rows, rows]
    }
}

fn refused(op: &'static str, kernel_size: PerAxis<2>, why: &'static str) -> Error {
    Error::InvalidArgument { op, argument: "kernel_size", value: kernel_size.to_string(), why }
}

/// The columns of `[batch, channels, height, width]`. The gradient is the function below, whose
/// gradient is this one.
#[track_caller]
fn to_columns(images: &Tensor, blocks: &ImageBlocks) -> Result<Tensor> {
    let source = images.detach();
    let compute = || {
        let (batch, channels) = (source.shape()[0], source.shape()[1]);
        let [rows, columns] = blocks.kernel;
        let all = (CheckedSize::from(channels) * rows * columns).size();
        let all = all.ok_or_else(|| refused("im2col", blocks.kernel.into(), "it is too large"))?;
        let padded = match blocks.padding {
            [0, 0] => dense(&source, source.dtype())?,
            _ => source.constant_pad_nd(blocks.sides(1), 0)?,
        };
        let seen = match batch {
            0 => Tensor::empty([0], (source.dtype(), source.device()))?,
            _ => blocks_of(&padded, blocks)?,
        };
        seen.reshape([batch, all, blocks.count])?.contiguous()
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record("im2col", [images], output, |_| {
        let blocks = blocks.clone();
        move |grad: &Tensor, _| Ok([Some(from_columns(grad, &blocks)?)])
    }))
}

/// The blocks of padded images, which are not empty, as a view
/// `[batch, channels, block height, block width, blocks down, blocks across]`.
fn blocks_of(padded: &Tensor, blocks: &ImageBlocks) -> Result<Tensor> {
    let [batch, channels, height, width] = padded.sizes()?;
    let [rows, columns] = blocks.kernel;
    let [down, across] = blocks.stride;
    let [down_inside, across_inside] = blocks.dilation;
    let [blocks_down, blocks_across] = blocks.along;
    let shape = [batch, channels, rows, columns, blocks_down, blocks_across];
    let strides = [
        channels * height * width,
        height * width,
        down_inside * width,
        across_inside,
        down * width,
        across,
    ];
    let strides = strides.map(|stride| stride as isize);
    padded.as_strided(shape, &strides, padded.storage_offset())
}

/// The images `[batch, channels, height, width]` of columns: the elements at each place of blocks are
/// added where they belong, one place after the other.
#[track_caller]
fn from_columns(columns: &Tensor, blocks: &ImageBlocks) -> Result<Tensor> {
    let source = columns.detach();
    let compute = || {
        let [rows, columns] = blocks.kernel;
        let (batch, channels) = (source.shape()[0], source.shape()[1] / (rows * columns));
        let [height, width] = blocks.padded();
        let wide = widened(&source)?;
        let sums = Tensor::zeros([batch, channels, height, width], (wide.dtype(), wide.device()))?;
        if source.numel() > 0 {
            let [blocks_down, blocks_across] = blocks.along;
            let parts =
                wide.reshape([batch, channels, rows * columns, blocks_down, blocks_across])?;
            let [down, across] = blocks.stride;
            let strides = [channels * height * width, height * width, down * width, across];
            let strides = strides.map(|stride| stride as isize);
            for place in 0..rows * columns {
                let (row, column) = (place / columns, place % columns);
                let first = row * blocks.dilation[0] * width + column * blocks.dilation[1];
                let shape = [batch, channels, blocks_down, blocks_across];
                let target = sums.as_strided(shape, &strides, first)?;
                target.add_(&parts.select(2, place as isize)?)?;
            }
        }
        let images = match blocks.padding {
            [0, 0] => sums,
            _ => sums.constant_pad_nd(blocks.sides(-1), 0)?,
        };
        dense(&images, source.dtype())
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record("col2im", [columns], output, |_| {
        let blocks = blocks.clone();
        move |grad: &Tensor, _| Ok([Some(to_columns(grad, &blocks)?)])
    }))
}
