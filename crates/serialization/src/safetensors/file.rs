//! Files that are open, one or those of an index.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use tensor::{DType, Device, Tensor};

use super::header::{self, TensorPlace};
use super::{FORMAT, dtype_of, index};
use crate::error::{Error, Result};
use crate::mapping::FileMapping;
use crate::replace::folder;
use crate::state_dict::StateDict;

/// A file that is open, or the files of an index, mapped into memory. Tensors are read one by one,
/// when they are asked for.
pub struct SafetensorsFile {
    path: PathBuf,
    parts: Vec<ShardFile>,
    /// The number of the file that each tensor is in, and its place there.
    tensors: BTreeMap<String, (usize, TensorPlace)>,
    metadata: BTreeMap<String, String>,
}

/// One of the files.
struct ShardFile {
    path: PathBuf,
    mapping: FileMapping,
}

impl SafetensorsFile {
    pub(super) fn open(path: &Path) -> Result<SafetensorsFile> {
        let mut file = SafetensorsFile {
            path: path.to_owned(),
            parts: Vec::new(),
            tensors: BTreeMap::new(),
            metadata: BTreeMap::new(),
        };
        if path.extension().is_none_or(|extension| extension != "json") {
            file.add(path.to_owned(), |_| true)?;
            return Ok(file);
        }
        let index = index::read(path)?;
        let parts: BTreeSet<_> = index.values().collect();
        for part in parts {
            // What a file has besides is none of this model's.
            file.add(folder(path).join(part), |name| index.get(name) == Some(part))?;
        }
        match index.iter().find(|(name, _)| !file.tensors.contains_key(*name)) {
            None => Ok(file),
            Some((name, part)) => {
                let problem = format!("it says that `{name}` is in `{part}`, and it is not");
                Err(index::bad(path, problem))
            }
        }
    }

    /// Opens a file and adds those of its tensors that are wanted.
    fn add(&mut self, path: PathBuf, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
        let mapping = FileMapping::open(&path)?;
        let bad = |problem| Error::Format { file: path.clone(), format: FORMAT, problem };
        let (tensors, metadata) = header::read(&mapping).map_err(bad)?;
        let number = self.parts.len();
        let wanted = tensors.into_iter().filter(|(name, _)| is_wanted(name));
        self.tensors.extend(wanted.map(|(name, place)| (name, (number, place))));
        self.metadata.extend(metadata);
        self.parts.push(ShardFile { path, mapping });
        Ok(())
    }

    /// The names of the tensors, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The texts in the file, by name.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The shape of a tensor, if there is one of this name.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|(_, tensor)| &tensor.shape[..])
    }

    /// The dtype of a tensor, if there is one of this name, and of a dtype that there is here.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        self.tensors.get(name).and_then(|(_, tensor)| dtype_of(tensor.dtype))
    }

    /// Reads a tensor onto a device: one copy, of its own bytes only.
    ///
    /// # Errors
    /// There is no tensor of the name, or it has a dtype that there is not here; the device refused.
    pub fn tensor(&self, name: &str, device: Device) -> Result<Tensor> {
        match self.tensors.get(name) {
            Some((part, place)) => self.read(name, &self.parts[*part], place, device),
            None => Err(Error::no_such_tensor(&self.path, name, self.names())),
        }
    }

    /// Reads all tensors onto a device.
    ///
    /// # Errors
    /// As [`SafetensorsFile::tensor`].
    pub fn tensors(&self, device: Device) -> Result<StateDict> {
        let read = |(name, (part, place)): (&String, &(usize, TensorPlace))| {
            Ok((name.clone(), self.read(name, &self.parts[*part], place, device)?))
        };
        self.tensors.iter().map(read).collect()
    }

    fn read(
        &self,
        name: &str,
        part: &ShardFile,
        tensor: &TensorPlace,
        device: Device,
    ) -> Result<Tensor> {
        let Some(dtype) = dtype_of(tensor.dtype) else {
            return Err(Error::UnsupportedDType {
                file: part.path.clone(),
                tensor: name.to_owned(),
                dtype: tensor.dtype.to_string(),
                advice: "convert it where it was made, or read the others by their names",
            });
        };
        let bytes = &part.mapping[tensor.place.clone()];
        Tensor::from_bytes(bytes, &tensor.shape[..], (dtype, device))
            .map_err(Error::tensor(&part.path, name))
    }
}

impl fmt::Debug for SafetensorsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SafetensorsFile({}, {} tensors)", self.path.display(), self.tensors.len())
    }
}
