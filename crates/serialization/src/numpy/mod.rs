//! NumPy's files: `.npy`, an array, and `.npz`, an archive of them by name.
//!
//! Read are arrays of either byte order, by rows or by columns; an array by columns (Fortran's
//! order) becomes a tensor with such strides, as it is in NumPy. Written are arrays by rows.
//! Arrays of `bfloat16` have no name of their own in these files and are refused, and so are those
//! of Python's objects, which would have to be executed.
//!
//! ```
//! use serialization::{StateDict, numpy};
//! use tensor::{Device, tensor};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = |name| folder.path().join(name);
//! let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
//! numpy::save(path("x.npy"), &x)?; // np.load("x.npy")
//! let columns = numpy::load(path("x.npy"), Device::Cpu)?.t()?;
//! assert_eq!(columns.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//!
//! let state = StateDict::from([("x".to_owned(), x), ("columns".to_owned(), columns)]);
//! numpy::save_npz(path("both.npz"), &state)?; // np.load("both.npz")["columns"]
//! assert_eq!(numpy::load_npz(path("both.npz"), Device::Cpu)?["columns"].shape(), [3, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod array;
mod first_error;
mod header;
mod literal;
mod npz;

use std::io::Write;
use std::path::Path;

use tensor::{Device, Tensor};

pub use self::npz::{load_npz, save_npz};
use crate::elements::ElementBytes;
use crate::error::{Error, Result};
use crate::mapping::FileMapping;
use crate::replace::replace;

/// Reads the array of an `.npy` file onto a device.
///
/// # Errors
/// The file is not there, or not of the format; the array has a dtype that there is not here; the
/// device refused.
pub fn load(path: impl AsRef<Path>, device: Device) -> Result<Tensor> {
    let path = path.as_ref();
    let mapping = FileMapping::open(path)?;
    array::read(&mapping, (path, ARRAY), device)
}

/// Writes a tensor, from any device, as an `.npy` file. A file that is there already is replaced
/// when the new one is complete.
///
/// # Errors
/// The file cannot be written; the tensor is of `bf16`, which NumPy does not have; its device
/// failed.
pub fn save(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let header = array::header_of(tensor, (path, ARRAY))?;
    replace(path, |out| {
        let bytes = ElementBytes::of(tensor).map_err(Error::tensor(path, ARRAY))?;
        out.write_all(&header).map_err(Error::io(path, "write"))?;
        out.write_all(&bytes).map_err(Error::io(path, "write"))
    })
}

/// The name of a file's only array in errors.
const ARRAY: &str = "the array";

/// The name of the format in errors.
const FORMAT: &str = ".npy";
