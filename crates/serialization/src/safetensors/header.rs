//! The beginning of a file, which says what is in it.

use std::collections::BTreeMap;
use std::ops::Range;

use ::safetensors::Dtype;
use ::safetensors::tensor::{Metadata, TensorInfo};
use serde::Serialize;

/// The bytes in front of the header, which say how long that is.
pub(super) const LENGTH: usize = size_of::<u64>();

/// The most bytes of a header that any reader of the format takes.
pub(super) const MAX_HEADER: usize = 100_000_000;

/// A tensor in a file.
#[derive(Debug)]
pub(super) struct TensorPlace {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// Its bytes, from the beginning of the file.
    pub(super) place: Range<usize>,
}

/// The tensors and texts of a file, by name.
pub(super) type FileContents = (BTreeMap<String, TensorPlace>, BTreeMap<String, String>);

/// Reads the header of a file. All places lie inside the file, and have as many bytes as their
/// tensors.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(bytes: &[u8]) -> Result<FileContents, String> {
    let (length, rest) = bytes.split_first_chunk().ok_or("it ends within the first 8 bytes")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_HEADER {
        return Err(format!("its header would have {length} bytes"));
    }
    let (header, data) = rest.split_at_checked(length).ok_or("it ends within the header")?;
    // That the tensors lie one after the other, and have the bytes of their shapes, is checked there.
    let metadata: Metadata =
        serde_json::from_slice(header).map_err(|error| format!("the header: {error}"))?;
    if metadata.data_len() != data.len() {
        let (found, expected) = (data.len(), metadata.data_len());
        return Err(format!("there are {found} bytes of tensors, and the header has {expected}"));
    }
    let start = LENGTH + length;
    let tensors = metadata.tensors().into_iter().map(|(name, info)| {
        let place = start + info.data_offsets.0..start + info.data_offsets.1;
        (name, TensorPlace { dtype: info.dtype, shape: info.shape.clone(), place })
    });
    let texts = metadata.metadata().clone().unwrap_or_default();
    Ok((tensors.collect(), texts.into_iter().collect()))
}

/// A header that is to be written. Its entries are in the order of their names, so that the same
/// tensors give the same file.
#[derive(Serialize)]
pub(super) struct SafetensorsHeader<'a> {
    #[serde(rename = "__metadata__", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) metadata: &'a BTreeMap<String, String>,
    #[serde(flatten)]
    pub(super) tensors: BTreeMap<&'a str, TensorInfo>,
}

/// The name that no tensor can have.
pub(super) const METADATA: &str = "__metadata__";
