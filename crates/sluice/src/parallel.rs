//! Models on several devices at once: replicas with parameters of their own (`Replicas`), a module
//! that splits its input (`torch.nn.DataParallel`), and one of many processes
//! (`torch.nn.parallel.DistributedDataParallel`).

pub use parallel::{
    BufferSync, DataParallel, DataParallelError, DistributedDataParallel,
    DistributedDataParallelBuilder, DistributedError, Gather, Replicas, ReplicasBuilder,
    ReplicasError, Split, StepLosses,
};
