//! What `torch.save` has written, read without running any of it.
//!
//! A `.pt` or `.pth` file is an archive of the tensors' bytes and a pickle, which for Python is a
//! program. Here it is data: the few functions that tensors are rebuilt with are known by name, and
//! a file that asks for anything else is refused, with the name of what it asks for.
//!
//! **Names.** A `state_dict()` gives its own names. In a checkpoint such as
//! `{"model": model.state_dict(), "epoch": 3}` the names of parts are put before them, with dots:
//! `model.0.weight`. What is in a list has its position for a name, a tensor that was saved by
//! itself the name `""`. Everything that is no tensor is passed over.
//!
//! Tensors that share a storage in the file share one here, as in PyTorch, and come with their
//! strides. Parameters are plain tensors, which do not require gradients.
//!
//! ```no_run
//! use serialization::pytorch;
//! use tensor::Device;
//!
//! let state = pytorch::load("model.pt", Device::Cpu)?;
//! for (name, tensor) in &state {
//!     println!("{name}: {:?} of {}", tensor.shape(), tensor.dtype());
//! }
//! let file = pytorch::open("checkpoint.pt")?;
//! let weight = file.tensor("model.0.weight", Device::cuda())?; // the others are not read
//! # Ok::<(), serialization::Error>(())
//! ```

mod dtypes;
mod file;
mod names;
mod rebuild;

use std::path::Path;

use tensor::Device;

pub use self::file::PytorchFile;
use crate::error::Result;
use crate::state_dict::StateDict;

/// Reads all tensors of a file onto a device.
///
/// # Errors
/// As [`open`] and [`PytorchFile::tensor`].
pub fn load(path: impl AsRef<Path>, device: Device) -> Result<StateDict> {
    open(path)?.tensors(device)
}

/// Opens a file, and reads which tensors there are.
///
/// # Errors
/// The file is not there, or not of the format; it was written by PyTorch before 1.6, by
/// `torch.jit`, or on a machine whose numbers have the highest byte first; it asks for a class or a
/// function that is not needed for tensors.
pub fn open(path: impl AsRef<Path>) -> Result<PytorchFile> {
    PytorchFile::open(path.as_ref())
}
