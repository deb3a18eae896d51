//! CUDA's kernels of convolutions, and which of them suits a product.

use cpu_kernels::conv::ConvPass;

use super::abi::Convolution;
use super::convolution::ConvProduct;
use super::{HostKernels, Operator};

/// The number of blocks that are worth a kernel for few rows.
const ENOUGH: usize = 32;

/// The number of blocks that keep a large GPU busy.
const BUSY: usize = 512;

/// The least number of summed elements that is worth a part of its own.
const MIN_DEPTH: usize = 1024;

/// The tiles of a product that a block computes on CUDA. The shape alone chooses, so results do not
/// depend on the GPU.
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
}

impl ConvTiling {
    /// The tiles that suit a product.
    pub(super) fn suiting(pass: ConvPass, product: &ConvProduct) -> ConvTiling {
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
        }
    }

    fn blocks(self, pass: ConvPass, product: &ConvProduct) -> usize {
        let [rows, columns] = self.tile(pass).map(|size| size as usize);
        let tiles = product.rows.div_ceil(rows).saturating_mul(product.columns.div_ceil(columns));
        tiles.saturating_mul(product.count)
    }

    /// The number of parts that the sums of a weight are cut into: it has few elements, and each is a
    /// sum over all places of all samples.
    pub(super) fn parts_of_depth(self, product: &ConvProduct) -> usize {
        if self == ConvTiling::Host {
            return 1;
        }
        let blocks = self.blocks(ConvPass::Weight, product).max(1);
        (BUSY / blocks).min(product.depth / MIN_DEPTH).max(1)
    }
}

/// The most rows of a product that its columns' threads sum by themselves.
const MAX_FEW: usize = 4;

/// The kernels of convolutions. A driver compiles a kernel as a whole, so each size of tiles has its own.
pub(crate) struct ConvolutionKernels {
    output: [Operator<Convolution>; 4],
    input: [Operator<Convolution>; 4],
    weight: [Operator<Convolution>; 3],
}

impl ConvolutionKernels {
    pub(crate) const fn new([output, input, weight]: [HostKernels<Convolution>; 3]) -> Self {
        ConvolutionKernels {
            output: [
                Operator::new("conv_output", output),
                Operator::new("conv_output_large", output),
                Operator::new("conv_output_few", output),
                Operator::new("conv_output_thin", output),
            ],
            input: [
                Operator::new("conv_input", input),
                Operator::new("conv_input_large", input),
                Operator::new("conv_input_few", input),
                Operator::new("conv_input_thin", input),
            ],
            weight: [
                Operator::new("conv_weight", weight),
                Operator::new("conv_weight_large", weight),
                Operator::new("conv_weight_few", weight),
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
            ConvTiling::Thin => &kernels[3],
        }
    }
}
