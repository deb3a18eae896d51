//! Archives of arrays.

use std::io::{Seek, Write};
use std::path::Path;

use tensor::Device;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::array;
use super::first_error::FirstError;
use crate::archive::Archive;
use crate::elements::ElementBytes;
use crate::error::{Error, Result};
use crate::mapping::FileMapping;
use crate::replace::replace;
use crate::state_dict::StateDict;

/// The end of an array's name in the archive.
const SUFFIX: &str = ".npy";

/// Reads all arrays of an `.npz` file onto a device, of `np.savez` or `np.savez_compressed`.
///
/// # Errors
/// As [`load`](super::load).
pub fn load_npz(path: impl AsRef<Path>, device: Device) -> Result<StateDict> {
    let path = path.as_ref();
    let archive = Archive::new(path, ".npz", FileMapping::open(path)?)?;
    let mut state = StateDict::new();
    for entry in archive.names() {
        let name = entry.strip_suffix(SUFFIX).unwrap_or(entry);
        let bytes = archive.bytes(entry)?.unwrap_or_default();
        let tensor = array::read(&bytes, (path, name), device)?;
        if state.insert(name.to_owned(), tensor).is_some() {
            return Err(archive.bad(format!("`{name}` is in it twice")));
        }
    }
    Ok(state)
}

/// Writes tensors, from any device, as an `.npz` file, not compressed (`np.savez`). A file that is
/// there already is replaced when the new one is complete.
///
/// # Errors
/// As [`save`](super::save).
pub fn save_npz(path: impl AsRef<Path>, state: &StateDict) -> Result<()> {
    let path = path.as_ref();
    replace(path, |out| {
        let mut out = FirstError::new(out);
        let mut archive = ZipWriter::new(&mut out);
        fill(&mut archive, path, state)?;
        archive.finish().map_err(refused(path))?;
        out.into_result().map_err(Error::io(path, "write"))
    })
}

fn fill<W: Write + Seek>(archive: &mut ZipWriter<W>, path: &Path, state: &StateDict) -> Result<()> {
    for (name, tensor) in state {
        let header = array::header_of(tensor, (path, name))?;
        let bytes = ElementBytes::of(tensor).map_err(Error::tensor(path, name))?;
        // The limit of the older form, less than what stands before the elements.
        let is_large = bytes.len() as u64 > u64::from(u32::MAX) - (1 << 20);
        let options = SimpleFileOptions::DEFAULT
            .compression_method(CompressionMethod::Stored)
            .large_file(is_large);
        archive.start_file(format!("{name}{SUFFIX}"), options).map_err(refused(path))?;
        archive.write_all(&header).map_err(Error::io(path, "write"))?;
        archive.write_all(&bytes).map_err(Error::io(path, "write"))?;
    }
    Ok(())
}

fn refused(path: &Path) -> impl FnOnce(zip::result::ZipError) -> Error {
    |error| Error::io(path, "write")(error.into())
}
