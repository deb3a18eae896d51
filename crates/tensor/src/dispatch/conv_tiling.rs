//! CUDA's kernels of convolutions, and which of them suits a product.

use cpu_kernels::conv::ConvPass;

use super::abi::Convolution;
use super::convolution::{ConvGeometry, ConvProduct};
use super::kernel_args::{TENSOR_CORE_THREADS, TILE_THREADS};
use super::product_plan::TENSOR_CORES;
use super::{HostKernels, Operator};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result};

/// The number of blocks that are worth a kernel for few rows.
const ENOUGH: usize = 32;

/// The number of blocks that keep a large GPU busy.
const BUSY: usize = 512;

/// The least number of summed elements that is worth a part of its own.
const MIN_DEPTH: usize = 1024;

/// The least number of channels in a group, of columns, and of summed elements, that are worth tensor
/// cores.
const MIN_FOR_TENSOR_CORES: usize = 16;

/// The number of blocks that are worth the larger tiles on tensor cores.
const ENOUGH_LARGE: usize = 128;

/// The number of blocks on tensor cores that are too few to keep a large GPU busy, and the number that
/// an output is cut into then.
const FEW_BLOCKS: usize = 64;
const BLOCKS_OF_PARTS: usize = 256;

/// The least number of channels, and of summed elements, that are worth a part of an output.
const MIN_CHANNELS: usize = 64;
const MIN_DEPTH_OF_OUTPUT: usize = 512;

/// The tiles of a product that a block computes on CUDA. The shape alone chooses, and whether there are
/// tensor cores, so results do not depend on the size of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConvTiling {
    /// The CPU's kernel, which does not ask.
    Host,
    /// Squares of 16 elements.
    Small,
    /// Squares of 64 elements.
    Large,
    /// Up to four rows, as depthwise convolutions have, and 256 columns; of a weight, nine elements
    /// of a row.
    Few,
    /// 16 rows and 256 columns.
    Thin,
    /// Squares of 64 halves on tensor cores.
    TensorCores,
    /// 128 rows and 64 columns of halves on tensor cores.
    LargeTensorCores,
}

impl ConvTiling {
    /// The tiles that suit a pass on a device.
    ///
    /// # Errors
    /// The driver does not tell what the device can do.
    pub(super) fn suiting(
        pass: ConvPass,
        geometry: &ConvGeometry,
        dtype: DType,
        device: ResolvedDevice,
    ) -> Result<ConvTiling> {
        let ResolvedDevice::Cuda(device) = device else { return Ok(ConvTiling::Host) };
        let product = geometry.product(pass);
        let is_half = matches!(dtype, DType::F16 | DType::BF16);
        let fits = is_half && fits_tensor_cores(geometry, &product);
        let on_tensor_cores = fits && device.compute_capability()? >= TENSOR_CORES;
        Ok(match on_tensor_cores {
            true => Self::on_tensor_cores(pass, &product),
            false => Self::elsewhere(pass, &product),
        })
    }

    fn on_tensor_cores(pass: ConvPass, product: &ConvProduct) -> ConvTiling {
        let large = ConvTiling::LargeTensorCores;
        let fits = pass != ConvPass::Weight && product.rows >= large.tile(pass)[0] as usize;
        match fits && large.blocks(pass, product) >= ENOUGH_LARGE {
            true => large,
            false => ConvTiling::TensorCores,
        }
    }

    fn elsewhere(pass: ConvPass, product: &ConvProduct) -> ConvTiling {
        let &ConvProduct { rows, columns, .. } = product;
        let [few, large] = [ConvTiling::Few, ConvTiling::Large].map(|tiling| tiling.tile(pass)[0]);
        let is_busy = |tiling: ConvTiling| tiling.blocks(pass, product) >= ENOUGH;
        if rows.min(columns) >= large as usize {
            return ConvTiling::Large;
        }
        match pass {
            ConvPass::Weight if rows <= MAX_FEW => ConvTiling::Few,
            ConvPass::Weight => ConvTiling::Small,
            _ if rows <= few as usize && is_busy(ConvTiling::Few) => ConvTiling::Few,
            // Fewer columns leave most threads of a block without one.
            _ if columns >= 128 && is_busy(ConvTiling::Thin) => ConvTiling::Thin,
            _ => ConvTiling::Small,
        }
    }

    /// The rows and columns of a tile.
    pub(super) fn tile(self, pass: ConvPass) -> [i32; 2] {
        match self {
            ConvTiling::Host => [0, 0],
            ConvTiling::Small => [16, 16],
            ConvTiling::Large => [64, 64],
            ConvTiling::Few if pass == ConvPass::Weight => [1, 9],
            ConvTiling::Few => [MAX_FEW as i32, 256],
            ConvTiling::Thin => [16, 256],
            ConvTiling::TensorCores => [64, 64],
            ConvTiling::LargeTensorCores => [128, 64],
        }
    }

    /// Whether the kernels want the channels of a weight side by side.
    pub(super) fn is_on_tensor_cores(self) -> bool {
        matches!(self, ConvTiling::TensorCores | ConvTiling::LargeTensorCores)
    }

    /// The threads of a block.
    pub(super) fn threads(self) -> i32 {
        if self.is_on_tensor_cores() { TENSOR_CORE_THREADS } else { TILE_THREADS }
    }

    fn blocks(self, pass: ConvPass, product: &ConvProduct) -> usize {
        let [rows, columns] = self.tile(pass).map(|size| size as usize);
        let tiles = product.rows.div_ceil(rows).saturating_mul(product.columns.div_ceil(columns));
        tiles.saturating_mul(product.count)
    }

    /// The number of parts that the sums of a pass are cut into, which are added up afterwards: those of
    /// `channels` channels at all positions.
    pub(super) fn parts(self, pass: ConvPass, product: &ConvProduct, channels: usize) -> usize {
        match (pass, self) {
            (_, ConvTiling::Host) => 1,
            (ConvPass::Weight, _) => self.parts_of_depth(product),
            (ConvPass::Output, ConvTiling::TensorCores) => {
                self.parts_of_channels(product, channels)
            }
            (ConvPass::Output | ConvPass::Input, _) => 1,
        }
    }

    /// Parts of the sums of a weight: it has few elements, and each is a sum over all places of all
    /// samples.
    fn parts_of_depth(self, product: &ConvProduct) -> usize {
        let blocks = self.blocks(ConvPass::Weight, product).max(1);
        (BUSY / blocks).min(product.depth / MIN_DEPTH).max(1)
    }

    /// Parts of the channels of an output's sums, where it has few tiles, as the layers of a network at
    /// its end have for few samples.
    fn parts_of_channels(self, product: &ConvProduct, channels: usize) -> usize {
        let blocks = self.blocks(ConvPass::Output, product);
        if blocks == 0 || blocks >= FEW_BLOCKS {
            return 1;
        }
        let most = (channels / MIN_CHANNELS).min(product.depth / MIN_DEPTH_OF_OUTPUT);
        (BLOCKS_OF_PARTS / blocks).min(most).max(1)
    }
}

/// The most rows of a product that its columns' threads sum by themselves.
const MAX_FEW: usize = 4;

/// Whether a pass has enough to do for tensor cores, and few enough elements for their kernels, which
/// count them in 32 bits.
fn fits_tensor_cores(geometry: &ConvGeometry, product: &ConvProduct) -> bool {
    let channels = geometry.in_channels.min(geometry.out_channels);
    let least = channels.min(product.columns).min(product.depth);
    let is_small = |tensor| geometry.shape(tensor).numel() <= i32::MAX as usize;
    let all = [ConvPass::Input, ConvPass::Weight, ConvPass::Output];
    least >= MIN_FOR_TENSOR_CORES && all.into_iter().all(is_small)
}

/// The kernels of convolutions. A driver compiles a kernel as a whole, so each size of tiles has its own.
pub(crate) struct ConvolutionKernels {
    output: [Operator<Convolution>; 6],
    input: [Operator<Convolution>; 6],
    weight: [Operator<Convolution>; 4],
}

impl ConvolutionKernels {
    pub(crate) const fn new([output, input, weight]: [HostKernels<Convolution>; 3]) -> Self {
        ConvolutionKernels {
            output: [
                Operator::new("conv_output", output),
                Operator::new("conv_output_large", output),
                Operator::new("conv_output_few", output),
                Operator::new("conv_output_halves", output),
                Operator::new("conv_output_thin", output),
                Operator::new("conv_output_halves_large", output),
            ],
            input: [
                Operator::new("conv_input", input),
                Operator::new("conv_input_large", input),
                Operator::new("conv_input_few", input),
                Operator::new("conv_input_halves", input),
                Operator::new("conv_input_thin", input),
                Operator::new("conv_input_halves_large", input),
            ],
            weight: [
                Operator::new("conv_weight", weight),
                Operator::new("conv_weight_large", weight),
                Operator::new("conv_weight_few", weight),
                Operator::new("conv_weight_halves", weight),
            ],
        }
    }

    pub(super) fn of(
        &'static self,
        pass: ConvPass,
        tiling: ConvTiling,
    ) -> &'static Operator<Convolution> {
        let kernels = match pass {
            ConvPass::Output => &self.output[..],
            ConvPass::Input => &self.input[..],
            ConvPass::Weight => &self.weight[..],
        };
        match tiling {
            ConvTiling::Host | ConvTiling::Small => &kernels[0],
            ConvTiling::Large => &kernels[1],
            ConvTiling::Few => &kernels[2],
            ConvTiling::TensorCores => &kernels[3],
            // Weights have none of these.
            ConvTiling::Thin => &kernels[4],
            ConvTiling::LargeTensorCores => &kernels[5],
        }
    }
}
