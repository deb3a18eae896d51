//! Files that are open.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use pickle::{Allowed, Pickle};
use tensor::{DType, Device, Tensor};

use super::dtypes::allowed;
use super::names;
use super::rebuild::{self, TensorRecord};
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::mapping::FileMapping;
use crate::state_dict::StateDict;

/// A file that is open, mapped into memory. Tensors are read when they are asked for.
pub struct PytorchFile {
    archive: Archive,
    /// The name of the folder in the archive, with a `/`.
    folder: String,
    tensors: BTreeMap<String, TensorRecord>,
}

/// Storages that were read onto a device, by their keys: tensors of one share it.
type Storages<'a> = BTreeMap<&'a str, Tensor>;

/// The name of the format in errors.
const FORMAT: &str = "PyTorch";

/// The name of the pickle in the archive's folder.
const PICKLE: &str = "data.pkl";

impl PytorchFile {
    pub(super) fn open(path: &Path) -> Result<PytorchFile> {
        let mapping = FileMapping::open(path)?;
        if let Some((found, advice)) = of_other_kind(&mapping) {
            return Err(Error::UnsupportedFile { file: path.to_owned(), found, advice });
        }
        let archive = Archive::new(path, FORMAT, mapping)?;
        let folder = folder(&archive)?;
        check(&archive, &folder)?;
        let pickled = archive.bytes(&format!("{folder}{PICKLE}"))?.unwrap_or_default();
        let allowed = Allowed { globals: &allowed(), persistent_ids: true };
        let pickle = Pickle::read(&pickled, allowed).map_err(|error| match error {
            pickle::Error::Global { module, name, .. } => {
                Error::Global { file: path.to_owned(), module, name }
            }
            other => archive.bad(other.to_string()),
        })?;
        let bad = |problem: &str| archive.bad(problem.to_owned());
        // Names repeat those of the parts that they are in, some levels deep.
        let most = pickled.len().saturating_mul(64);
        let mut tensors = BTreeMap::new();
        for (name, call) in names::calls(pickle.root(), most).map_err(bad)? {
            let Some(tensor) = rebuild::tensor(call).map_err(bad)? else { continue };
            if tensors.insert(name.clone(), tensor).is_some() {
                return Err(archive.bad(format!("two tensors have the name `{name}`")));
            }
        }
        Ok(PytorchFile { archive, folder, tensors })
    }

    /// The names of the tensors, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The shape of a tensor, if there is one of this name.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| &tensor.shape[..])
    }

    /// The dtype of a tensor, if there is one of this name, and of a dtype that there is here.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        self.tensors.get(name).and_then(|tensor| tensor.dtype.ok())
    }

    /// Reads a tensor onto a device, with all of its storage.
    ///
    /// # Errors
    /// There is no tensor of the name, or it has a dtype that there is not here; the file is damaged;
    /// the device refused.
    pub fn tensor(&self, name: &str, device: Device) -> Result<Tensor> {
        match self.tensors.get(name) {
            Some(tensor) => self.read(name, tensor, device, &mut Storages::new()),
            None => Err(Error::no_such_tensor(self.archive.path(), name, self.names())),
        }
    }

    /// Reads all tensors onto a device.
    ///
    /// # Errors
    /// As [`PytorchFile::tensor`].
    pub fn tensors(&self, device: Device) -> Result<StateDict> {
        let mut storages = Storages::new();
        let tensors = self.tensors.iter().map(|(name, tensor)| {
            Ok((name.clone(), self.read(name, tensor, device, &mut storages)?))
        });
        tensors.collect()
    }

    fn read<'a>(
        &'a self,
        name: &str,
        tensor: &'a TensorRecord,
        device: Device,
        storages: &mut Storages<'a>,
    ) -> Result<Tensor> {
        let path = self.archive.path();
        let dtype = tensor.dtype.map_err(|dtype| Error::UnsupportedDType {
            file: path.to_owned(),
            tensor: name.to_owned(),
            dtype: format!("PyTorch's {dtype}"),
            advice: "convert it in PyTorch, as by x.float(), or read the others by their names",
        })?;
        let storage = match storages.get(tensor.storage.as_str()) {
            Some(storage) => storage.clone(),
            None => self.storage(name, tensor, dtype, device)?,
        };
        if storage.dtype() != dtype {
            let problem = format!("the storage of `{name}` is used with two dtypes");
            return Err(self.archive.bad(problem));
        }
        storages.insert(&tensor.storage, storage.clone());
        storage
            .as_strided(&tensor.shape[..], &tensor.strides, tensor.offset)
            .map_err(Error::tensor(path, name))
    }

    /// The storage of a tensor, as a tensor of one dimension.
    fn storage(
        &self,
        name: &str,
        tensor: &TensorRecord,
        dtype: DType,
        device: Device,
    ) -> Result<Tensor> {
        let entry = format!("{}data/{}", self.folder, tensor.storage);
        let Some(bytes) = self.archive.bytes(&entry)? else {
            return Err(self.archive.bad(format!("the elements of `{name}` are missing")));
        };
        if tensor.numel.checked_mul(dtype.size()) != Some(bytes.len()) {
            let (found, numel) = (bytes.len(), tensor.numel);
            let problem = format!("there are {found} bytes for the {numel} elements of `{name}`");
            return Err(self.archive.bad(problem));
        }
        Tensor::from_bytes(&bytes, [tensor.numel], (dtype, device))
            .map_err(Error::tensor(self.archive.path(), name))
    }
}

impl fmt::Debug for PytorchFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.archive.path().display();
        write!(f, "PytorchFile({path}, {} tensors)", self.tensors.len())
    }
}

/// The kind of a file that is no archive, if it is known, and the way out.
fn of_other_kind(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match bytes {
        [0x80, 2..=5, ..] => Some((
            "a pickle, or a file of PyTorch before version 1.6",
            "read it in PyTorch and write it again: torch.save(torch.load(path), path)",
        )),
        _ => None,
    }
}

/// The folder that everything in the archive is in.
fn folder(archive: &Archive) -> Result<String> {
    let mut folders = archive.names().filter_map(|name| name.strip_suffix(PICKLE));
    match folders.find(|folder| folder.is_empty() || folder.ends_with('/')) {
        Some(folder) => Ok(folder.to_owned()),
        None => Err(archive.bad(format!("it is an archive without `{PICKLE}`"))),
    }
}

/// Refuses files that would be read wrongly.
fn check(archive: &Archive, folder: &str) -> Result<()> {
    let unsupported = |found, advice| {
        Err(Error::UnsupportedFile { file: archive.path().to_owned(), found, advice })
    };
    if archive.names().any(|name| name.strip_prefix(folder) == Some("constants.pkl")) {
        return unsupported(
            "a program of torch.jit",
            "save its tensors: torch.save(torch.jit.load(path).state_dict(), path)",
        );
    }
    // Files without the entry are of before there was one, and of little-endian machines.
    match archive.bytes(&format!("{folder}byteorder"))?.as_deref() {
        None | Some(b"little") => Ok(()),
        _ => unsupported(
            "a file whose numbers have the highest byte first",
            "write it again on a machine of the other kind",
        ),
    }
}
