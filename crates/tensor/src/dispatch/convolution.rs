//! Calls of convolutions, and of the two gradients of one.

use cpu_kernels::conv::ConvPass;
use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::Convolution;
use super::conv_tiling::{ConvTiling, ConvolutionKernels};
use super::{Operands, Operator};
use crate::{DType, Error, Result, Shape, Tensor, no_grad};

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

    /// The product that a pass is for each group, and each phase of an input.
    pub(super) fn product(&self, pass: ConvPass) -> ConvProduct {
        let [input, kernel, output] =
            [self.input, self.kernel, self.output].map(|sizes| sizes.iter().product::<usize>());
        let (channels_in, channels_out) = (self.in_channels, self.out_channels);
        let [rows, columns, depth] = match pass {
            ConvPass::Output => [channels_out, self.batch * output, channels_in * kernel],
            ConvPass::Input => {
                let of_phase = |dim: usize| self.input[dim].div_ceil(self.stride[dim]);
                let inputs: usize = (0..3).map(of_phase).product();
                [channels_in, self.batch * inputs, channels_out * kernel]
            }
            ConvPass::Weight => [channels_out, channels_in * kernel, self.batch * output],
        };
        let phases = match pass {
            ConvPass::Input => (0..3).map(|dim| self.input[dim].min(self.stride[dim])).product(),
            ConvPass::Output | ConvPass::Weight => 1,
        };
        debug_assert!(phases == 1 || input > 1, "an element alone is in one phase");
        ConvProduct { rows, columns, depth, count: self.groups.saturating_mul(phases), phases }
    }

    /// The distance along each axis of the kernel's positions that meet the inputs of one phase.
    fn tap_step(&self) -> [usize; 3] {
        std::array::from_fn(|dim| {
            let (mut divisor, mut rest) = (self.stride[dim], self.dilation[dim]);
            while rest != 0 {
                (divisor, rest) = (rest, divisor % rest);
            }
            self.stride[dim] / divisor
        })
    }
}

/// The sizes of the products that CUDA computes in a pass.
#[derive(Clone, Copy)]
pub(super) struct ConvProduct {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The number of summed elements, of an input at most.
    pub(super) depth: usize,
    /// The number of products.
    pub(super) count: usize,
    pub(super) phases: usize,
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
    let product = geometry.product(pass);
    let tiling = ConvTiling::suiting(pass, geometry, dtype, device)?;
    let operator = kernels.of(pass, tiling);
    operator.check_dtype(dtype, device)?;
    let geometry = if first.is_cuda() { geometry.for_cuda(operator.name())? } else { *geometry };
    let parts = tiling.parts(pass, &product, geometry.in_channels);
    let run = ConvRun { operator, pass, geometry, product, tiling, parts };
    let turned;
    let operands = match pass {
        ConvPass::Input if tiling.is_on_tensor_cores() => {
            turned = run.with_channels_last(first)?;
            [&turned, second]
        }
        ConvPass::Output if tiling.is_on_tensor_cores() => {
            turned = run.with_channels_last(second)?;
            [first, &turned]
        }
        _ => [first, second],
    };
    let result = run.result(operands, bias)?;
    let whole = if parts == 1 { result } else { result.sum(0)?.to(dtype)? };
    if !run.leaves_channels_last() {
        return Ok(whole);
    }
    let last = whole.dims() as isize - 1;
    let order: SmallVec<[isize; 5]> = [0, last].into_iter().chain(1..last).collect();
    whole.permute(&order[..])?.contiguous()
}

/// A pass with all that was decided about it.
struct ConvRun {
    operator: &'static Operator<Convolution>,
    pass: ConvPass,
    geometry: ConvGeometry,
    product: ConvProduct,
    tiling: ConvTiling,
    parts: usize,
}

impl ConvRun {
    /// A weight as the kernels for tensor cores read it: rows of the product, positions of the kernel,
    /// and the channels that are summed, side by side.
    fn with_channels_last(&self, weight: &Tensor) -> Result<Tensor> {
        let ConvGeometry { groups, in_channels, out_channels, kernel, .. } = self.geometry;
        let positions = kernel.iter().product();
        let order = match self.pass {
            ConvPass::Input => [0, 2, 3, 1],
            ConvPass::Output | ConvPass::Weight => [0, 1, 3, 2],
        };
        let shape = [groups, out_channels, in_channels, positions];
        no_grad(|| weight.reshape(shape)?.permute(order)?.contiguous())
    }

    /// Whether the kernel leaves a weight with its channels side by side, which are not so already.
    fn leaves_channels_last(&self) -> bool {
        let is_one_position = self.geometry.kernel == [1; 3];
        self.pass == ConvPass::Weight && self.tiling.is_on_tensor_cores() && !is_one_position
    }

    /// The shape of the result as the kernel leaves it.
    fn shape(&self) -> Shape {
        let mut shape = self.geometry.shape(self.pass).to_vec();
        if self.leaves_channels_last() {
            shape[1..].rotate_left(1);
        }
        if self.parts > 1 {
            shape.insert(0, self.parts);
        }
        shape.into_iter().collect()
    }

    /// Computes the result, or its parts, in the dtype in which these are summed.
    #[track_caller]
    fn result(&self, [first, second]: [&Tensor; 2], bias: Option<&Tensor>) -> Result<Tensor> {
        let (dtype, device) = (first.dtype(), first.resolved_device());
        // Halves are rounded when the parts are added up.
        let result_dtype = if self.parts == 1 { dtype } else { computed(dtype) };
        let result = Tensor::uninit(self.shape(), result_dtype, device)?;
        if result.numel() == 0 {
            return Ok(result);
        }
        let mut tensors: SmallVec<[(&Tensor, Access); 4]> = SmallVec::new();
        tensors.push((&result, Access::Write));
        let others = [Some(first), Some(second), bias].into_iter().flatten();
        tensors.extend(others.map(|tensor| (tensor, Access::Read)));
        let operands = Operands::hold_for_new(self.operator.name(), device, &tensors)?;
        let call = self.call(&operands, bias.is_some());
        // SAFETY: the three are dense and of the geometry's shapes, or as `with_channels_last` and
        // `shape` say, the result in parts as the call says.
        unsafe { self.operator.run(dtype, &operands, &call)? };
        drop(operands);
        drop(tensors);
        Ok(result)
    }

    /// The arguments of the kernel, of operands in the order of `result`.
    fn call(&self, operands: &Operands<'_>, has_bias: bool) -> Convolution {
        let ConvRun { pass, ref geometry, ref product, tiling, parts, .. } = *self;
        // Places among the operands, in the order input, weight, output.
        let [x, weight, y] = match pass {
            ConvPass::Input => [0, 1, 2],
            ConvPass::Weight => [1, 0, 2],
            ConvPass::Output => [1, 2, 0],
        };
        let sizes = |sizes: [usize; 3]| sizes.map(|size| size as i64);
        let mut tile = tiling.tile(pass);
        if pass == ConvPass::Weight && tiling.is_on_tensor_cores() {
            // There a tile is at one position of the kernel.
            let channels = geometry.in_channels;
            tile[1] = (channels / channels.div_ceil(tile[1] as usize)) as i32;
        }
        Convolution {
            x: operands.address(x),
            weight: operands.address(weight),
            y: operands.address(y),
            bias: if has_bias { operands.address(3) } else { 0 },
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
            tap_step: sizes(geometry.tap_step()),
            rows: product.rows as i64,
            columns: product.columns as i64,
            parts: (parts * product.phases) as i64,
            tile,
            threads: tiling.threads().into(),
        }
    }
}

/// The dtype in which products are summed.
fn computed(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}
