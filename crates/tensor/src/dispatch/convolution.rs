//! Calls of convolutions, and of the two gradients of one.

use cpu_kernels::conv::ConvPass;
use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::Convolution;
use super::{HostKernels, Operands, Operator};
use crate::{DType, Error, Result, Shape, Tensor};

/// The sides of the tiles that a block computes on CUDA.
const TILES: [usize; 2] = [64, 16];

/// The number of blocks that keep a large GPU busy.
const BUSY: usize = 128;

/// The least number of summed elements that is worth a part of its own.
const MIN_DEPTH: usize = 1024;

/// The largest sum of a coordinate's parts on CUDA, and one more than the largest coordinate there.
const MAX_EXTENT: usize = 1 << 30;

/// The sizes of a convolution, which were checked: all products of the sizes of one of its tensors
/// are sizes of tensors, and no extent with its padding overflows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvGeometry {
    /// The number of dimensions besides batch and channels; those of the arrays before them are 1.
    pub(crate) dims: usize,
    pub(crate) batch: usize,
    pub(crate) groups: usize,
    /// The channels of input and output in a group.
    pub(crate) in_channels: usize,
    pub(crate) out_channels: usize,
    pub(crate) input: [usize; 3],
    pub(crate) kernel: [usize; 3],
    pub(crate) output: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) padding: [usize; 3],
    pub(crate) dilation: [usize; 3],
}

impl ConvGeometry {
    /// The shape of one of the three tensors.
    pub(crate) fn shape(&self, tensor: ConvPass) -> Shape {
        let (first, sizes) = match tensor {
            ConvPass::Input => ([self.batch, self.groups * self.in_channels], self.input),
            ConvPass::Weight => ([self.groups * self.out_channels, self.in_channels], self.kernel),
            ConvPass::Output => ([self.batch, self.groups * self.out_channels], self.output),
        };
        first.into_iter().chain(sizes[3 - self.dims..].iter().copied()).collect()
    }

    /// The geometry as CUDA's kernels compute with it, in 32 bits for each coordinate.
    ///
    /// # Errors
    /// A dimension is too large with its padding.
    fn for_cuda(&self, op: &'static str) -> Result<ConvGeometry> {
        for dim in 0..3 {
            let extent = self.input[dim] + 2 * self.padding[dim];
            if extent.max(self.output[dim]) >= MAX_EXTENT {
                let value = format!("{extent} elements along a dimension, padding included");
                let why = "on CUDA there may be less than 2^30; convolve parts of it";
                return Err(Error::InvalidArgument { op, argument: "self", value, why });
            }
        }
        // A stride beyond all elements is as good as any such.
        Ok(ConvGeometry { stride: self.stride.map(|stride| stride.min(MAX_EXTENT)), ..*self })
    }

    /// Rows, columns and summed elements of the product that a pass is for each group.
    fn product(&self, pass: ConvPass) -> [usize; 3] {
        let [input, kernel, output] =
            [self.input, self.kernel, self.output].map(|sizes| sizes.iter().product::<usize>());
        let (channels_in, channels_out) = (self.in_channels, self.out_channels);
        match pass {
            ConvPass::Output => [channels_out, self.batch * output, channels_in * kernel],
            ConvPass::Input => [channels_in, self.batch * input, channels_out * kernel],
            ConvPass::Weight => [channels_out, channels_in * kernel, self.batch * output],
        }
    }
}

/// The kernels of convolutions, for output, input and weight.
pub(crate) struct ConvolutionKernels {
    small_tiles: [Operator<Convolution>; 3],
    /// CUDA's kernels for larger tiles. A driver compiles a kernel as a whole, so each size has its own.
    large_tiles: [Operator<Convolution>; 3],
}

impl ConvolutionKernels {
    pub(crate) const fn new([output, input, weight]: [HostKernels<Convolution>; 3]) -> Self {
        ConvolutionKernels {
            small_tiles: [
                Operator::new("conv_output", output),
                Operator::new("conv_input", input),
                Operator::new("conv_weight", weight),
            ],
            large_tiles: [
                Operator::new("conv_output_large", output),
                Operator::new("conv_input_large", input),
                Operator::new("conv_weight_large", weight),
            ],
        }
    }

    fn of(&'static self, pass: ConvPass, tile: usize) -> &'static Operator<Convolution> {
        let kernels = if tile == TILES[0] { &self.large_tiles } else { &self.small_tiles };
        match pass {
            ConvPass::Output => &kernels[0],
            ConvPass::Input => &kernels[1],
            ConvPass::Weight => &kernels[2],
        }
    }
}

/// Computes the tensor of a pass from the two others, which are dense and of the geometry's shapes,
/// in the order input, weight, output; and adds a bias, a dense number for each of its channels.
///
/// # Errors
/// There are no kernels for the dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn convolve(
    kernels: &'static ConvolutionKernels,
    pass: ConvPass,
    geometry: &ConvGeometry,
    [first, second]: [&Tensor; 2],
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (dtype, device) = (first.dtype(), first.resolved_device());
    let [rows, columns, _] = geometry.product(pass);
    let (parts, tile) =
        if first.is_cuda() { parts_and_tile(geometry, pass, dtype) } else { (1, 0) };
    let operator = kernels.of(pass, tile);
    operator.check_dtype(dtype, device)?;
    let geometry = if first.is_cuda() { geometry.for_cuda(operator.name())? } else { *geometry };
    let shape = geometry.shape(pass);
    let shape = match parts {
        1 => shape,
        _ => std::iter::once(parts).chain(shape.iter().copied()).collect(),
    };
    let result = Tensor::uninit(shape, dtype, device)?;
    if result.numel() == 0 {
        return Ok(result);
    }
    let mut tensors: SmallVec<[(&Tensor, Access); 4]> = SmallVec::new();
    tensors.push((&result, Access::Write));
    let others = [Some(first), Some(second), bias].into_iter().flatten();
    tensors.extend(others.map(|tensor| (tensor, Access::Read)));
    let operands = Operands::hold_for_new(operator.name(), device, &tensors)?;
    // Places among the operands, in the order input, weight, output.
    let [x, weight, y] = match pass {
        ConvPass::Input => [0, 1, 2],
        ConvPass::Weight => [1, 0, 2],
        ConvPass::Output => [1, 2, 0],
    };
    let sizes = |sizes: [usize; 3]| sizes.map(|size| size as i64);
    let call = Convolution {
        x: operands.address(x),
        weight: operands.address(weight),
        y: operands.address(y),
        bias: bias.map_or(0, |_| operands.address(3)),
        batch: geometry.batch as i64,
        groups: geometry.groups as i64,
        in_channels: geometry.in_channels as i64,
        out_channels: geometry.out_channels as i64,
        input: sizes(geometry.input),
        kernel: sizes(geometry.kernel),
        output: sizes(geometry.output),
        stride: sizes(geometry.stride),
        padding: sizes(geometry.padding),
        dilation: sizes(geometry.dilation),
        rows: rows as i64,
        columns: columns as i64,
        parts: parts as i64,
        tile: tile as i64,
    };
    // SAFETY: the three are dense and of the geometry's shapes, the result in parts as the call says.
    unsafe { operator.run(dtype, &operands, &call)? };
    drop(operands);
    drop(tensors);
    if parts == 1 { Ok(result) } else { result.sum(0) }
}

/// The number of parts that a sum is cut into on CUDA, since the result has too few tiles to keep a GPU
/// busy, and the side of the tiles. Both depend on sizes alone, so results do not depend on the GPU.
fn parts_and_tile(geometry: &ConvGeometry, pass: ConvPass, dtype: DType) -> (usize, usize) {
    let [rows, columns, depth] = geometry.product(pass);
    let [large, small] = TILES;
    let tile = if rows.min(columns) >= large { large } else { small };
    let tiles = rows.div_ceil(tile) * columns.div_ceil(tile);
    let blocks = tiles.saturating_mul(geometry.groups).max(1);
    // In halves the parts' sums would be rounded.
    let is_exact = matches!(dtype, DType::F32 | DType::F64);
    let parts = match pass {
        ConvPass::Weight if is_exact && blocks < BUSY / 2 => {
            (2 * BUSY / blocks).min(depth / MIN_DEPTH).max(1)
        }
        _ => 1,
    };
    (parts, tile)
}
