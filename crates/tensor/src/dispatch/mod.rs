//! The dispatcher: an [`Operator`] is data, and its calls run on the device where their operands
//! lie.
//!
//! Each file builds the calls of one kind of kernel (elementwise, reductions, matrix products, ..)
//! from tensors. All of them end in [`Operator::run`], the only place that distinguishes the CPU
//! from CUDA.

pub(crate) mod abi;
mod attention;
mod attention_plan;
mod captured;
mod cat;
mod check;
mod conv_tiling;
mod convolution;
mod cuda;
mod cuda_view;
mod elementwise;
mod fill;
mod index;
mod iteration_space;
mod kernel_args;
mod layer_norm;
mod layer_norm_call;
mod layer_norm_cuda;
mod matmul;
mod occupancy;
mod operands;
mod pool;
mod printed;
mod product_plan;
mod radix;
mod reduce;
mod resample;
mod row_lanes;
mod rowwise;
mod scan;
mod search;
mod sort;
mod spread;
mod transfer;

pub(crate) use attention::{
    AttentionKernels, AttentionOutcome, AttentionProblem, DropoutDraw, attention,
    attention_backward,
};
pub(crate) use cat::{CatPart, join};
pub(crate) use check::{common_device, device_mismatch, same_device, same_dtype};
pub(crate) use conv_tiling::ConvolutionKernels;
pub(crate) use convolution::{ConvGeometry, convolve};
pub use cuda_view::CudaView;
pub(crate) use elementwise::{Elementwise, Outputs};
pub(crate) use fill::{RandomOperands, random, range};
pub(crate) use index::{IndexCall, indexed};
use kernel_args::KernelArgs;
pub(crate) use layer_norm_call::LayerNormCall;
pub(crate) use matmul::{ProductKernels, matmul};
use operands::Operands;
pub(crate) use pool::{PoolCall, pool, pool_backward};
pub(crate) use product_plan::ProductPlan;
pub(crate) use radix::{is_selected, select};
pub(crate) use reduce::{moments, reduce, reduced_shape};
pub(crate) use resample::{ResampledShape, resample};
pub(crate) use rowwise::rowwise;
pub(crate) use scan::{cumulate, scan};
pub(crate) use search::searched;
pub(crate) use sort::{argsort, sorted_dtype};
pub(crate) use spread::{SpreadForm, spread_and_mean};
pub use transfer::Blocking;
pub(crate) use transfer::{send_bytes, transfer};

use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Tensor};

/// The CPU's kernels of an operator.
#[derive(Clone, Copy)]
pub(crate) struct HostKernels<P: 'static> {
    /// Whether there is a kernel for a dtype.
    pub(crate) supports: fn(DType) -> bool,
    /// Does the work of a call for a dtype, in the threads of the pool if there is much.
    ///
    /// # Safety
    /// There is a kernel for the dtype. The addresses in the call are those of host memory which
    /// holds the operands that the struct of arguments describes, of the dtypes that the operator
    /// has; nobody else writes them, nor uses what the call writes.
    pub(crate) run: unsafe fn(&P, DType),
}

/// An operation as data (an entry of PyTorch's `native_functions.yaml`): its name, the dtypes of
/// its operands, and its kernels. The CUDA kernel is the entry `{name}_{dtype}` of the crate
/// `kernels`.
///
/// `P` is the struct of arguments that the kernels of both devices take.
pub(crate) struct Operator<P: 'static> {
    name: &'static str,
    /// The rule by which the operands' dtypes follow from the one that the operator runs for.
    signature: Signature,
    host: HostKernels<P>,
    /// Checks the values that a call reads (indices) before a CPU kernel runs; CUDA kernels assert
    /// them on the device.
    check: unsafe fn(&'static str, &P) -> Result<()>,
    /// The dtype whose CUDA kernel serves for another one.
    device_dtype: fn(DType) -> DType,
    kernels: cuda::KernelTable,
}

/// The dtypes of an operator's operands when it runs for a dtype. Operand 0 is the output.
#[derive(Clone, Copy)]
pub(crate) enum Signature {
    /// All operands have the operator's dtype.
    Same,
    /// The output is of this dtype, the others of the operator's (`argmax` gives `I64`).
    Gives(DType),
    /// The output is of a dtype that follows from the operator's (sums of integers are `I64`).
    Follows(fn(DType) -> DType),
}

impl<P: 'static> Operator<P> {
    pub(crate) const fn new(name: &'static str, host: HostKernels<P>) -> Operator<P> {
        Operator {
            name,
            signature: Signature::Same,
            host,
            check: accept,
            device_dtype: |dtype| dtype,
            kernels: cuda::KernelTable::new(),
        }
    }

    pub(crate) const fn with_signature(mut self, signature: Signature) -> Operator<P> {
        self.signature = signature;
        self
    }

    const fn with_check(mut self, check: unsafe fn(&'static str, &P) -> Result<()>) -> Self {
        self.check = check;
        self
    }

    const fn with_device_dtype(mut self, device_dtype: fn(DType) -> DType) -> Self {
        self.device_dtype = device_dtype;
        self
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// The dtype of operand `position` when the operator runs for `dtype`.
    pub(crate) fn operand_dtype(&self, dtype: DType, position: usize) -> DType {
        match self.signature {
            Signature::Gives(output) if position == 0 => output,
            Signature::Follows(output) if position == 0 => output(dtype),
            _ => dtype,
        }
    }
}

impl<P: KernelArgs> Operator<P> {
    /// Checks that there are kernels for a dtype.
    ///
    /// # Errors
    /// There are none.
    pub(crate) fn check_dtype(&self, dtype: DType, device: ResolvedDevice) -> Result<()> {
        if (self.host.supports)(dtype) {
            return Ok(());
        }
        Err(Error::UnsupportedDType { op: self.name, dtype, device: device.to_device() })
    }

    /// Runs the call on the operands' device. On the CPU it is done when this returns. On CUDA it
    /// is enqueued on the device's current stream, after the work on other streams that uses the
    /// same memory.
    ///
    /// # Errors
    /// The operator has no such dtype; the runtime failed; on the CPU also the errors of `check`.
    ///
    /// # Safety
    /// The addresses in the call are `operands`' own or lie in their memory, all reachable from the
    /// device, and are what the struct of arguments and the operator's signature say for `dtype`.
    #[track_caller]
    unsafe fn run(&'static self, dtype: DType, operands: &Operands<'_>, call: &P) -> Result<()> {
        let op = self.name;
        self.check_dtype(dtype, operands.device)?;
        match operands.device {
            // SAFETY: the call describes the operands for `dtype`, which there is a kernel for (a
            // condition of this function), and `operands` holds their memory until this returns.
            ResolvedDevice::Cpu => unsafe {
                (self.check)(op, call)?;
                (self.host.run)(call, dtype);
                Ok(())
            },
            // SAFETY: the call describes the operands for `dtype` (a condition of this function),
            // and `operands.tensors` are all tensors that it has addresses of.
            ResolvedDevice::Cuda(device) => unsafe {
                let dtype = (self.device_dtype)(dtype);
                cuda::launch(op, &self.kernels, dtype, device, operands.tensors, call)
            },
        }
    }
}

/// The dtype that work on `x` is done in: its own on the CPU; on CUDA, where kernels have fewer
/// dtypes, one that has all its values.
pub(crate) fn working_dtype(x: &Tensor, dtype: DType) -> DType {
    match dtype {
        _ if !x.is_cuda() => dtype,
        DType::BF16 => DType::F32,
        DType::I32 | DType::I16 | DType::I8 => DType::I64,
        dtype => dtype,
    }
}

/// The check of an operator that reads no indices: everything was checked when the call was built.
unsafe fn accept<P>(_op: &'static str, _call: &P) -> Result<()> {
    Ok(())
}
