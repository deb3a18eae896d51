//! Models in several files: an index says which tensor is in which.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tensor::Tensor;

use super::write::written;
use crate::elements::element_bytes;
use crate::error::{Error, Result};
use crate::mapping::FileMapping;
use crate::replace::replace;
use crate::state_dict::StateDict;

/// The file that a tensor is in, by the tensor's name.
type FileNames = BTreeMap<String, String>;

#[derive(Serialize)]
struct IndexToWrite<'a> {
    metadata: BTreeMap<&'a str, usize>,
    weight_map: &'a FileNames,
}

#[derive(Deserialize)]
struct IndexToRead {
    weight_map: FileNames,
}

/// The name of the format in errors.
const FORMAT: &str = "safetensors index";

/// Writes tensors into files of at most so many bytes of tensors each, and an index beside them;
/// gives the index, which [`open`](super::open) and [`load`](super::load) take. `path` names the
/// model: of `model.safetensors` are made `model-00001-of-00002.safetensors` and so on, and
/// `model.safetensors.index.json`. A tensor that is larger has a file of its own.
///
/// The index is written last, so a model whose index is there is complete.
///
/// # Errors
/// As [`save`](super::save); or there is such an index already, since several files cannot be
/// replaced at once.
pub fn save_sharded(
    path: impl AsRef<Path>,
    state: &StateDict,
    max_bytes: usize,
) -> Result<PathBuf> {
    let path = path.as_ref();
    let mut index = path.as_os_str().to_owned();
    index.push(".index.json");
    let index = PathBuf::from(index);
    if index.exists() {
        return Err(Error::Exists { file: index });
    }
    let shards = shards(state, max_bytes);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map_or("safetensors".into(), |part| part.to_string_lossy());
    let (mut names, mut files) = (FileNames::new(), Vec::new());
    for (number, shard) in (1..).zip(&shards) {
        let name = format!("{stem}-{number:05}-of-{:05}.{extension}", shards.len());
        names.extend(shard.iter().map(|(tensor, _)| ((*tensor).to_owned(), name.clone())));
        files.push(written(&path.with_file_name(name), shard.clone(), &BTreeMap::new())?);
    }
    files.into_iter().try_for_each(|file| file.put_in_place())?;
    let total = state.values().map(element_bytes).fold(0, usize::saturating_add);
    let contents =
        IndexToWrite { metadata: BTreeMap::from([("total_size", total)]), weight_map: &names };
    replace(&index, |out| {
        let written = serde_json::to_writer_pretty(out, &contents).map_err(std::io::Error::from);
        written.map_err(Error::io(&index, "write"))
    })?;
    Ok(index)
}

/// The tensors of each file: as many as fit, in the order of their names.
fn shards(state: &StateDict, max_bytes: usize) -> Vec<Vec<(&str, &Tensor)>> {
    let mut shards: Vec<Vec<(&str, &Tensor)>> = vec![Vec::new()];
    let mut used = 0_usize;
    for (name, tensor) in state {
        let bytes = element_bytes(tensor);
        let is_full = used.saturating_add(bytes) > max_bytes;
        match shards.last_mut() {
            Some(last) if last.is_empty() || !is_full => last.push((name, tensor)),
            _ => {
                shards.push(vec![(name, tensor)]);
                used = 0;
            }
        }
        used = used.saturating_add(bytes);
    }
    shards
}

/// Reads an index.
///
/// # Errors
/// It is none, or names files elsewhere.
pub(super) fn read(path: &Path) -> Result<FileNames> {
    let mapping = FileMapping::open(path)?;
    let index: IndexToRead =
        serde_json::from_slice(&mapping).map_err(|error| bad(path, error.to_string()))?;
    // What came from elsewhere must not lead out of its folder.
    let is_plain = |name: &str| Path::new(name).file_name().is_some_and(|plain| plain == name);
    match index.weight_map.values().find(|name| !is_plain(name)) {
        Some(name) => Err(bad(path, format!("`{name}` is not the name of a file beside it"))),
        None => Ok(index.weight_map),
    }
}

/// The error of an index that is not what it should be.
pub(super) fn bad(path: &Path, problem: String) -> Error {
    Error::Format { file: path.to_owned(), format: FORMAT, problem }
}
