//! PyTorch's CUDA semantics for Rust: tensors that know their device, a current device and current
//! streams, asynchronous work that looks synchronous, modules, data loaders and several GPUs.
//!
//! This crate is the face of Sluice: programs depend on it alone. What it is made of stands in
//! crates that can be used one by one.
//!
//! ```
//! use sluice::prelude::*;
//!
//! fn main() -> sluice::Result<()> {
//!     if !cuda::is_available() {
//!         cuda::software(2)?; // without an NVIDIA GPU: two software GPUs
//!     }
//!     let device = Device::cuda();
//!     let x = Tensor::randn([64, 3], device)?;
//!     let target = x.sum(keepdim(-1))?;
//!
//!     let mut model = nn::Linear::new(3, 1)?;
//!     model.to(device)?;
//!     let mut optimizer = optim::SGD::new(model.parameters(), 0.1).build()?;
//!     for _ in 0..50 {
//!         let loss = model.forward(&x)?.mse_loss(&target)?;
//!         optimizer.zero_grad();
//!         loss.backward()?;
//!         optimizer.step()?;
//!     }
//!     assert!(model.forward(&x)?.allclose(&target, 0.1, 0.1)?);
//!     Ok(())
//! }
//! ```
//!
//! # Where to go on
//! - [`Tensor`]: all operations are its methods; [`tensor!`] and [`Tensor::zeros`] make tensors.
//! - [`autograd`]: gradients, gradients of gradients, functions of one's own.
//! - [`nn`] and [`optim`]: layers, modules and losses; optimizers.
//! - [`safetensors`], [`numpy`], [`pytorch`]: tensors and models in files.
//! - [`checkpoint`]: the whole state of a training in one file.
//! - [`data`]: data sets and loaders; [`parallel`]: models on several devices; [`distributed`]: what
//!   they exchange.
//! - [`cuda`]: devices, streams, events, graphs, memory; [`cuda::software`].
//! - [`fuse`]: elementwise functions of the program's own, in one pass.
//! - [`Error`]: the one error, which those of all parts convert into.
//! - [`runtime`] and [`memory`]: CUDA without tensors.
//!
//! # Names
//! What comes from a part is documented there, and examples begin with that part's name. Here
//! `tensor::`, `serialization::` and `nn::checkpoint` are `sluice::`; `nn::optim` is
//! `sluice::optim`; `parallel::` is [`data`] for data sets and loaders, and [`parallel`] for several
//! devices. The [`prelude`] is enough for most programs.
//!
//! # Expressions
//! Operators take tensors and numbers, and give a [`Result`], since shapes may not fit. The result
//! of one operation is an operand of the next beside a tensor, so one `?` at the end is enough:
//!
//! ```
//! # use sluice::prelude::*;
//! # fn main() -> sluice::Result<()> {
//! let (x, w, b) = (tensor![[1.0, 2.0]]?, tensor![[3.0], [4.0]]?, tensor![0.5]?);
//! let y = (x.matmul(&w) + &b)?;
//! let z = (&x + &x * &x)?;
//! # assert_eq!((y.item::<f32>()?, z.to_vec::<f32>()?), (11.5, vec![2.0, 6.0]));
//! # Ok(())
//! # }
//! ```
//!
//! Rust allows this beside a tensor only. Where both sides are results, or one is a number, the
//! `?` stands inside: `(x.matmul(&w)? * 2.0)?`.
//!
//! # Brackets
//! [`Tensor::i`] reads the part of a tensor that indices choose, and [`Tensor::set_i`] writes it:
//!
//! ```
//! # use sluice::prelude::*;
//! # fn main() -> sluice::Result<()> {
//! let x = Tensor::zeros([4, 6], ())?;
//! x.set_i((.., 0), 1.0)?;
//! x.set_i((1..3, (..).step(2)), 2.0)?;
//! x.set_i((Ellipsis, [1, -1]), &x.i((.., ..2))?)?;
//! let zeros = x.i(&x.eq(0.0)?)?;
//! # assert_eq!((zeros.numel(), x.i((NewAxis, 0, -1))?.to_vec::<f32>()?), (12, vec![0.0]));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   prelude
//   autograd, cuda, data, distributed, nn, optim, parallel
pub mod autograd;
pub mod cuda;
pub mod data;
pub mod distributed;
pub mod nn;
pub mod optim;
pub mod parallel;
pub mod prelude;

pub use ::nn::checkpoint;
pub use gpu_alloc as memory;
pub use gpu_runtime as runtime;
#[cfg(feature = "ndarray")]
pub use serialization::ndarray;
pub use serialization::{Error as SerializationError, numpy, pytorch, safetensors};
pub use tensor::{
    AdaptivePoolSize, AttentionOptions, Autocast, AutocastGuard, AvgPoolOptions, BagMode,
    BlockOptions, Blocking, CdistMode, ConvOptions, ConvPadding, ConvTransposeOptions, DType, Data,
    DefaultGuard, Device, Dims, Element, EmbeddingOptions, Error, ExecutionContext,
    ExecutionContextGuard, FractionalMaxPoolOptions, FractionalPoolSize, Fused, FusedMany,
    FusedOperand, FusedOperands, FusedValue, Generator, GeneratorState, GradientSpacing,
    GridIndexing, GridSampleMode, GridSamplePadding, IndexRange, Integer, Interpolation,
    InterpolationMode, LPPoolOptions, MatrixNorm, MaxPoolOptions, MaxUnpoolOptions, MemoryFormat,
    Number, PadMode, PendingTensor, PerAxis, PerAxisRatio, QuantileInterpolation, ReadGuard,
    ReduceDims, Reduction, Result, RoundingMode, Scalar, ScaleFactors, ScatterReduction, SeedGuard,
    Shape, SignalWindow, SplitPoints, StackBuffer, Steps, Storage, Tensor, TensorId, TensorIndex,
    TensorIndex::{Ellipsis, NewAxis},
    TensorIndices, TensorOptions, TensorOrScalar, To, UniqueElements, ViewShape, autocast_dtype,
    cpu, default_device, default_dtype, enter_default_device, enter_default_dtype,
    enter_manual_seed, fold_in, fuse, fuse_many, generator, initial_seed, is_autocast_enabled,
    keepdim, manual_seed, set_default_device, set_default_dtype, set_num_threads, tensor,
    with_default_device, with_default_dtype, with_folded_seed, with_manual_seed,
};
#[cfg(feature = "linalg")]
pub use tensor::{LeastSquares, QrMode, RankTolerance};

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
