//! The safetensors format: a header in JSON and the bytes of the tensors, read without a copy.
//!
//! It is the format to save models in: it holds nothing but tensors and texts, and every framework
//! reads it. Models that are too large for one file come in several, with an index
//! (`model.safetensors.index.json`); [`open`] and [`load`] take either.
//!
//! ```
//! use serialization::{StateDict, safetensors};
//! use tensor::{DType, Device, Tensor};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("model.safetensors");
//! let layers = ["0.weight", "1.weight"].map(|name| {
//!     Ok((name.to_owned(), Tensor::randn([64, 64], DType::BF16)?))
//! });
//! let state = layers.into_iter().collect::<tensor::Result<StateDict>>()?;
//!
//! // Two files and an index, since both together have 16 KiB.
//! let index = safetensors::save_sharded(&path, &state, 10_000)?;
//! assert!(index.ends_with("model.safetensors.index.json"));
//! let file = safetensors::open(&index)?;
//! assert_eq!(file.dtype("0.weight"), Some(DType::BF16));
//! let weight = file.tensor("1.weight", Device::Cpu)?; // the other one is not read
//! assert_eq!(weight.shape(), [64, 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
mod header;
mod index;
mod write;

use std::path::Path;

use ::safetensors::Dtype;
use tensor::{DType, Device};

pub use self::file::SafetensorsFile;
pub use self::index::save_sharded;
pub use self::write::{save, save_with_metadata};
use crate::error::Result;
use crate::state_dict::StateDict;

/// Reads all tensors of a file, or of the files of an index, onto a device.
///
/// # Errors
/// As [`open`] and [`SafetensorsFile::tensor`].
pub fn load(path: impl AsRef<Path>, device: Device) -> Result<StateDict> {
    open(path)?.tensors(device)
}

/// Opens a file, or the files of an index (a name that ends in `.json`), and reads which tensors
/// there are.
///
/// # Errors
/// A file is not there, or it is not of the format.
pub fn open(path: impl AsRef<Path>) -> Result<SafetensorsFile> {
    SafetensorsFile::open(path.as_ref())
}

/// The name of the format in errors.
const FORMAT: &str = "safetensors";

/// The dtype that the format calls so, if there is one here.
fn dtype_of(dtype: Dtype) -> Option<DType> {
    DType::ALL.into_iter().find(|ours| name_of(*ours) == dtype)
}

/// The format's name of a dtype.
fn name_of(dtype: DType) -> Dtype {
    match dtype {
        DType::F64 => Dtype::F64,
        DType::F32 => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::I64 => Dtype::I64,
        DType::I32 => Dtype::I32,
        DType::I16 => Dtype::I16,
        DType::I8 => Dtype::I8,
        DType::U8 => Dtype::U8,
        DType::Bool => Dtype::BOOL,
    }
}
