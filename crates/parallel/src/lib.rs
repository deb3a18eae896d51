//! `DataLoader`, `Replicas` and `DataParallel` (`torch.utils.data`, `torch.nn.parallel`): batches of
//! data, and models over several GPUs.
//!
//! Workers and replicas are threads. Nothing forks and nothing is sent between processes, so
//! PyTorch's caveats of multiprocessing do not arise: no pickling, no shared memory files, no
//! worker that survives its parent.
//!
//! ```
//! use parallel::{DataLoader, TensorDataset};
//! use tensor::{DType, Tensor};
//!
//! let images = Tensor::randn([100, 64], ())?;
//! let labels = Tensor::randint(0, 10, [100], DType::I64)?;
//! let loader = DataLoader::builder(TensorDataset::new((images, labels))?)
//!     .batch_size(32)
//!     .shuffle(17)
//!     .workers(2)
//!     .build()?;
//! for batch in &loader {
//!     let (images, labels) = batch?;
//!     assert_eq!(images.shape()[0], labels.shape()[0]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//! - [`Dataset`]: numbered samples; [`TensorDataset`] makes one of tensors, [`from_fn`] one of a
//!   function, [`random_split`] splits one, [`ConcatDataset`] joins several. [`IterableDataset`]:
//!   samples that come one after the other.
//! - [`DataLoader::builder`]: batches, with shuffling, worker threads, page-locked memory and prefetching to
//!   a device, or in parts to several ([`Batches::parts`]).
//! - [`Sampler`]: the order of the samples, also of one of several processes
//!   ([`DistributedSampler`]).
//! - [`Collate`], which can be derived, [`PinMemory`], [`ToDevice`], [`Split`]: the traits by which samples
//!   and batches of one's own types are joined, pinned, moved and split.
//! - [`Replicas`]: each device trains a replica with parameters of its own; gradients are summed while
//!   the backward pass runs. [`DistributedDataParallel`] is one of them, in a process of its own.
//! - [`DataParallel`]: splits each batch between devices, runs a replica of the module on each, and sums
//!   the gradients on the first device.
//! - The example `digits` of the crate `sluice` is a whole training program.
//!
//! Modules and optimizers are in the crate `nn`, tensors in `tensor`, what replicas exchange in
//! `collectives`.
#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   loader, replicas
//   data, data_parallel, distributed
//   batch, coalesce, device_threads, wrapper
mod batch;
mod coalesce;
mod data;
mod data_parallel;
mod device_threads;
mod distributed;
mod loader;
mod replicas;
mod wrapper;

pub use batch::{Collate, Gather, PinMemory, SampleList, Split, ToDevice};
pub use data::{
    BatchSampler, CollateFn, ConcatDataset, Dataset, DistributedSampler, FnDataset, Iterable,
    IterableDataset, MapDataset, PutError, RandomSampler, SampleOrder, Sampler, SequentialSampler,
    Subset, SubsetRandomSampler, TensorDataset, TensorSample, WeightedRandomSampler, from_fn,
    random_split,
};
pub use data_parallel::{DataParallel, DataParallelError};
pub use distributed::{
    BufferSync, DistributedDataParallel, DistributedDataParallelBuilder, DistributedError,
};
pub use loader::{
    BatchParts, Batches, BuildError, DataLoader, DataLoaderBuilder, DataLoaderState,
    EpochCanceller, LoaderError, SampleSource, WorkerInfo, get_worker_info, is_cancelled,
};
pub use replicas::{Replicas, ReplicasBuilder, ReplicasError, StepLosses};

pub use nn_derive::Collate;

/// The names that derived code needs.
#[doc(hidden)]
pub mod derived {
    pub use tensor::{Blocking, Device, Result};
}

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
