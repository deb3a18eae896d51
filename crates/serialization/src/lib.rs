//! Tensors in files: safetensors, NumPy's `.npy` and `.npz`, and PyTorch's `.pt`.
//!
//! ```
//! use serialization::{StateDict, safetensors};
//! use tensor::{Device, tensor};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("model.safetensors");
//! let mut state = StateDict::new();
//! state.insert("weight".to_owned(), tensor![[1.0, 2.0], [3.0, 4.0]]?);
//! state.insert("bias".to_owned(), tensor![0.5, -0.5]?);
//! safetensors::save(&path, &state)?;
//!
//! let again = safetensors::load(&path, Device::Cpu)?;
//! assert_eq!(again["weight"].to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//!
//! let file = safetensors::open(&path)?; // mapped: nothing of the tensors is read yet
//! assert_eq!(file.names().collect::<Vec<_>>(), ["bias", "weight"]);
//! assert_eq!(file.tensor("bias", Device::Cpu)?.to_vec::<f32>()?, [0.5, -0.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//! - [`safetensors`]: the format to save models in; files of several gigabytes, in parts too.
//! - [`pytorch`]: what `torch.save` has written, read without running any of it.
//! - [`numpy`]: arrays, one by one or several in an archive.
//! - `ndarray` (a feature, off by default): tensors to and from the arrays of that crate.
//! - [`StateDict`]: tensors by name. [`Error`]: what can be wrong, by kind.
//!
//! # What holds for all of them
//! Files are mapped into memory, and the bytes of a tensor are copied once: from there to its
//! device. Bad files are errors, which name the file and the tensor; they never panic, and never
//! make a program allocate much more than the file is large. A file is written beside the one that
//! it replaces and takes its place when it is complete, so a write that fails, or a program that is
//! killed, leaves the old file as it was.
//!
//! A file must not be written in place while it is open here: the bytes would change under the
//! reader, and if the file became shorter the system would end the process. Writers that replace
//! files, as those of this crate do, never do that.
//!
//! What it is not: it writes no `.pt` files, and knows nothing of modules and optimizers (the crate
//! `nn` does).

// Layers, the top one first; a module imports only from lines below its own.
//
//   ndarray, numpy, pytorch, safetensors
//   archive
//   elements, mapping, replace
//   error, state_dict
mod archive;
mod elements;
mod error;
mod mapping;
#[cfg(feature = "ndarray")]
pub mod ndarray;
pub mod numpy;
pub mod pytorch;
mod replace;
pub mod safetensors;
mod state_dict;

pub use error::{Error, Result};
pub use state_dict::StateDict;

// The formats have the lowest byte first, as all platforms have that CUDA supports.
const _: () = assert!(cfg!(target_endian = "little"), "elements are not converted");

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
