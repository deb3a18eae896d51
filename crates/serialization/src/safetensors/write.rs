//! Writing one file.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use ::safetensors::tensor::TensorInfo;
use tensor::Tensor;

use super::header::{LENGTH, MAX_HEADER, METADATA, SafetensorsHeader};
use super::name_of;
use crate::elements::{ElementBytes, element_bytes};
use crate::error::{Error, Result};
use crate::replace::{Replacement, prepare};
use crate::state_dict::StateDict;

/// Writes tensors, from any device. A file that is there already is replaced when the new one is
/// complete. Tensors that share memory are written each by itself.
///
/// # Errors
/// The file cannot be written; a tensor is called `__metadata__`; a device failed.
pub fn save(path: impl AsRef<Path>, state: &StateDict) -> Result<()> {
    save_with_metadata(path, state, &BTreeMap::new())
}

/// Writes tensors, and texts beside them, as [`save`] does. Libraries for models want to find
/// `format: pt` there.
///
/// ```
/// use std::collections::BTreeMap;
/// use serialization::{StateDict, safetensors};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// let texts = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
/// safetensors::save_with_metadata(&path, &StateDict::new(), &texts)?;
/// assert_eq!(safetensors::open(&path)?.metadata()["format"], "pt");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`save`].
pub fn save_with_metadata(
    path: impl AsRef<Path>,
    state: &StateDict,
    metadata: &BTreeMap<String, String>,
) -> Result<()> {
    let tensors: Vec<_> = state.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    written(path.as_ref(), tensors, metadata)?.put_in_place()
}

/// Writes a file beside its place.
///
/// # Errors
/// As [`save`].
pub(super) fn written(
    path: &Path,
    mut tensors: Vec<(&str, &Tensor)>,
    metadata: &BTreeMap<String, String>,
) -> Result<Replacement> {
    // Those of wide elements first, so that each lies at a multiple of its elements' size.
    tensors.sort_by_key(|(name, tensor)| (Reverse(tensor.dtype().size()), *name));
    let header = header_of(path, &tensors, metadata)?;
    prepare(path, |out| {
        let length = (header.len() as u64).to_le_bytes();
        out.write_all(&length).map_err(Error::io(path, "write"))?;
        out.write_all(&header).map_err(Error::io(path, "write"))?;
        for (name, tensor) in &tensors {
            let bytes = ElementBytes::of(tensor).map_err(Error::tensor(path, name))?;
            out.write_all(&bytes).map_err(Error::io(path, "write"))?;
        }
        Ok(())
    })
}

fn header_of(
    path: &Path,
    tensors: &[(&str, &Tensor)],
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>> {
    let unwritable = |tensor: &str, problem| {
        let (file, tensor) = (path.to_owned(), tensor.to_owned());
        Err(Error::Unwritable { file, tensor, problem })
    };
    let mut header = SafetensorsHeader { metadata, tensors: BTreeMap::new() };
    let mut end = 0;
    for (name, tensor) in tensors {
        if *name == METADATA {
            return unwritable(name, "the format keeps its texts under this name; take another");
        }
        let start = end;
        end = match element_bytes(tensor).checked_add(start) {
            Some(end) => end,
            None => return unwritable(name, "with it the file would be larger than any disk"),
        };
        let (dtype, shape) = (name_of(tensor.dtype()), tensor.shape().to_vec());
        let info = TensorInfo { dtype, shape, data_offsets: (start, end) };
        header.tensors.insert(name, info);
    }
    let json = serde_json::to_vec(&header).map_err(std::io::Error::from);
    let mut json = json.map_err(Error::io(path, "write the header"))?;
    json.resize(json.len().next_multiple_of(LENGTH), b' ');
    if json.len() > MAX_HEADER {
        return unwritable(METADATA, "no reader takes a header of more than 100 MB");
    }
    Ok(json)
}
