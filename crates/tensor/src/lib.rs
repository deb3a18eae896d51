//! Tensors on the CPU and on CUDA devices, with automatic differentiation.
//!
//! Names and semantics are PyTorch's. A program chooses a [`Device`] once and makes its tensors
//! there; every operation then runs on the device of its operands. On CUDA an operation is enqueued
//! on the device's current stream, and returns at once; only functions that give numbers to the
//! host wait. Operations give a [`Result`], whose [`Error`] names the operation, its arguments and
//! a way out.
//!
//! ```
//! use tensor::{Device, Tensor, cuda, tensor};
//!
//! let device = if cuda::is_available() { Device::cuda() } else { Device::Cpu };
//! let x = tensor![[1.0, 2.0], [3.0, 4.0]]?.to(device)?;
//! let w = Tensor::ones([2, 1], device)?.requires_grad_(true)?;
//! let loss = (x.matmul(&w)? - 1.0)?.square()?.mean(())?;
//! loss.backward()?;
//! assert_eq!(w.grad().expect("it was computed").to_vec::<f32>()?, [20.0, 28.0]);
//! # Ok::<(), tensor::Error>(())
//! ```
//!
//! # Where to go on
//! - [`Tensor`]: all operations are its methods; [`tensor!`] and [`Tensor::zeros`] make tensors.
//! - [`TensorOptions`]: dtype, device, kind of memory and gradients of new tensors.
//! - [`Backward`], [`grad`] and [`no_grad`]: gradients, and gradients of gradients;
//!   [`Tensor::register_hook`], [`checkpoint`], [`inference_mode`], [`DetectAnomalyGuard`].
//! - [`Autocast`]: mixed precision.
//! - [`AutogradFunction`] and [`CudaView`]: operations and kernels of one's own.
//! - [`cpu`]: the memory of tensors on the CPU.
//! - [`cuda`]: devices, streams, events, graphs and memory, the functions of `torch.cuda`.
//! - [`fuse`]: elementwise functions of the program's own, in one pass.
//! - [`manual_seed`] and [`Generator`]: random numbers, which are the same on every device.
//! - [`Error`]: the errors by kind.
//!
//! With the feature `linalg` tensors on the CPU have the methods of `torch.linalg` that need
//! decompositions of matrices: `cholesky`, `lu`, `qr`, `eigh`, `svd`, `inv`, `solve`, `lstsq`, `det`
//! and their like.
//!
//! What it is not: it has no modules, optimizers or losses as objects (the crate `nn` has them),
//! and reads no data (the crate `parallel` does). It has the dtypes of [`DType`], and no sparse or
//! quantized tensors.
//!
//! # Memory
//! A [`Tensor`] is a handle on a view of a [`Storage`], which other handles and views share. Writes
//! of one thread are seen by all, and two uses of one storage never race. On the CPU operations
//! lock the storage; no lock is held while code of the program runs. On CUDA each storage has a
//! record of its uses, by which work on one stream waits for earlier work on others
//! ([`cuda::with_order`] switches that off). An operator that takes a tensor by value (`x + 1.0`)
//! writes its result into the tensor's memory, if that is large and nobody else has it: no handle, no
//! view, no gradient. The host reads elements through copies
//! ([`Tensor::to_vec`], [`Tensor::item`]) and snapshots ([`Tensor::read`]), all of which wait for
//! copies in flight.
//!
//! # How it is built
//! An elementwise operation is data (`ops`): a name, the rule of type promotion, and a closure that
//! is traced into an expression of the crate `expression`, once for each combination of dtypes. The
//! dispatcher (`dispatch`) runs it on the CPU by the crate `cpu-kernels` and on CUDA as PTX that is
//! printed from it; its derivative is an expression too. Other operations are operators with the
//! CPU's kernels by dtype (`host`) and the name of the CUDA kernel in the crate `kernels`; their
//! calls are structs that the kernels of both devices take. `autograd` records operations and walks
//! back through them; the graph itself hangs from the tensors (`tensor::history`). `access` holds
//! the memory that the host reads or writes.

// Layers, the top one first; a module imports only from lines below its own.
//
//   attention, checkpoint, context, cpu, factories
//   ops, random
//   host
//   dispatch, print
//   access, autograd, cuda, options
//   autocast
//   tensor
//   promote, storage
//   default, dims, layout, resolved_device, reserve, thread_pool
//   error
//   grad_mode, shape
//   capture, checked_size, device, dtype, hook_list, inference, integer, per_dim, shared, specializations
mod access;
mod attention;
mod autocast;
mod autograd;
mod capture;
mod checked_size;
mod checkpoint;
mod context;
pub mod cpu;
pub mod cuda;
mod default;
mod device;
mod dims;
mod dispatch;
mod dtype;
mod error;
mod factories;
mod grad_mode;
mod hook_list;
mod host;
mod inference;
mod integer;
mod layout;
mod ops;
mod options;
mod per_dim;
mod print;
mod promote;
mod random;
mod reserve;
mod resolved_device;
mod shape;
mod shared;
mod specializations;
mod storage;
mod tensor;
mod thread_pool;

pub use access::ReadGuard;
pub use attention::AttentionOptions;
pub use autocast::{Autocast, AutocastGuard, autocast_dtype, is_autocast_enabled};
pub use autograd::{
    AutogradFunction, Backward, BackwardContext, DetectAnomalyGuard, ForwardContext, GradGuard,
    InferenceModeGuard, NoGradGuard, enable_grad, grad, inference_mode, is_grad_enabled,
    is_inference_mode_enabled, no_grad, saved_bytes,
};
pub use checkpoint::checkpoint;
pub use context::{ExecutionContext, ExecutionContextGuard};
pub use default::{
    DefaultGuard, default_device, default_dtype, enter_default_device, enter_default_dtype,
    set_default_device, set_default_dtype, with_default_device, with_default_dtype,
};
pub use device::Device;
pub use dims::{Dims, ReduceDims, keepdim};
pub use dtype::{DType, Element, Scalar};
pub use error::{AutogradError, Error, Result};
pub use factories::{Data, Number, SignalWindow, StackBuffer, Steps};
pub use hook_list::{HookList, RemovableHandle};
pub use integer::Integer;

pub use dispatch::{Blocking, CudaView};
pub use ops::{
    AdaptivePoolSize, AvgPoolOptions, BagMode, BlockOptions, CdistMode, ConvOptions, ConvPadding,
    ConvTransposeOptions, EmbeddingOptions, FractionalMaxPoolOptions, FractionalPoolSize, Fused,
    FusedMany, FusedOperand, FusedOperands, FusedValue, GradientSpacing, GridIndexing,
    GridSampleMode, GridSamplePadding, IndexRange, Interpolation, InterpolationMode, LPPoolOptions,
    MatrixNorm, MaxPoolOptions, MaxUnpoolOptions, MemoryFormat, MovedLeaf, PadMode, PendingTensor,
    PerAxis, PerAxisRatio, QuantileInterpolation, Reduction, RoundingMode, ScaleFactors,
    ScatterReduction, SplitPoints, TensorIndex,
    TensorIndex::{Ellipsis, NewAxis},
    TensorIndices, TensorOrScalar, To, UniqueElements, ViewShape, fuse, fuse_many,
};
#[cfg(feature = "linalg")]
pub use ops::{LeastSquares, QrMode, RankTolerance};
pub use options::TensorOptions;
pub use random::{
    Generator, GeneratorState, SeedGuard, enter_manual_seed, fold_in, generator, initial_seed,
    manual_seed, with_folded_seed, with_manual_seed,
};
pub use shape::Shape;
pub use storage::Storage;
pub use tensor::{Tensor, TensorId};
pub use thread_pool::set_num_threads;

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
