//! Data sets, and loaders that make batches of them (`torch.utils.data`).

pub use parallel::{
    Batches, BuildError, Collate, DataLoader, DataLoaderBuilder, DataLoaderState, Dataset,
    FnDataset, LoaderError, MapDataset, PinMemory, Subset, TensorDataset, TensorSample, ToDevice,
    from_fn, random_split,
};
