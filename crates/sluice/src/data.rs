//! Data sets, and loaders that make batches of them (`torch.utils.data`).

pub use parallel::{
    BatchParts, BatchSampler, Batches, BuildError, Collate, CollateFn, ConcatDataset, DataLoader,
    DataLoaderBuilder, DataLoaderState, Dataset, DistributedSampler, EpochCanceller, FnDataset,
    Iterable, IterableDataset, LoaderError, MapDataset, PinMemory, PutError, RandomSampler,
    SampleList, SampleOrder, SampleSource, Sampler, SequentialSampler, Split, Subset,
    SubsetRandomSampler, TensorDataset, TensorSample, ToDevice, WeightedRandomSampler, WorkerInfo,
    from_fn, get_worker_info, is_cancelled, random_split,
};

#[doc(hidden)]
pub use parallel::derived;
