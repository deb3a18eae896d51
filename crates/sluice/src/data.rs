//! Data sets, and loaders that make batches of them (`torch.utils.data`).

pub use parallel::{
    Batches, BuildError, Collate, DataLoader, DataLoaderBuilder, DataLoaderState, Dataset,
    LoaderError, MapDataset, PinMemory, Subset, TensorDataset, TensorSample, ToDevice,
    random_split,
};
