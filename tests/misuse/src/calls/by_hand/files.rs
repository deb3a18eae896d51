//! Files: written with tensors of all kinds, damaged, and read.

use std::fs;
use std::path::PathBuf;

use serialization::ndarray::{from_ndarray, to_ndarray};
use serialization::{StateDict, numpy, pytorch, safetensors};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "serialization::safetensors::save", "serialization::safetensors::load",
    "serialization::safetensors::save_with_metadata" => |d| {
        let folder = tempfile::tempdir().ok()?;
        let (path, state, device) = (file(d, &folder)?, state(d)?, d.device()?);
        if d.flag()? {
            let _ = safetensors::save(&path, &state);
        } else {
            let texts = [(d.text()?, d.text()?)].into();
            let _ = safetensors::save_with_metadata(&path, &state, &texts);
        }
        damage(d, &path)?;
        look(d, safetensors::load(&path, device))
    };
    "serialization::safetensors::save_sharded", "serialization::safetensors::open",
    "serialization::safetensors::SafetensorsFile::tensor",
    "serialization::safetensors::SafetensorsFile::tensors",
    "serialization::safetensors::SafetensorsFile::shape",
    "serialization::safetensors::SafetensorsFile::dtype" => |d| {
        let folder = tempfile::tempdir().ok()?;
        let (path, state) = (file(d, &folder)?, state(d)?);
        let index = safetensors::save_sharded(&path, &state, d.size()?).ok()?;
        damage(d, &index)?;
        let file = safetensors::open(&index).ok()?;
        let name = if d.flag()? { d.text()? } else { file.names().next()?.to_owned() };
        let _ = (file.shape(&name), file.dtype(&name));
        let device = d.device()?;
        d.look(file.tensor(&name, device).ok());
        look(d, file.tensors(device))
    };
    "serialization::numpy::save", "serialization::numpy::load" => |d| {
        let folder = tempfile::tempdir().ok()?;
        let (path, tensor, device) = (file(d, &folder)?, d.tensor()?, d.device()?);
        let _ = numpy::save(&path, &tensor);
        damage(d, &path)?;
        d.look(numpy::load(&path, device).ok());
        Some(())
    };
    "serialization::numpy::save_npz", "serialization::numpy::load_npz",
    "serialization::pytorch::load", "serialization::pytorch::open",
    "serialization::pytorch::PytorchFile::tensor", "serialization::pytorch::PytorchFile::tensors",
    "serialization::pytorch::PytorchFile::shape", "serialization::pytorch::PytorchFile::dtype" => |d| {
        let folder = tempfile::tempdir().ok()?;
        let (path, state, device) = (file(d, &folder)?, state(d)?, d.device()?);
        if d.flag()? {
            let _ = numpy::save_npz(&path, &state);
        } else {
            let _ = fs::write(&path, include_bytes!(
                "../../../../../crates/serialization/tests/data/half.pt"
            ));
        }
        damage(d, &path)?;
        let _ = look(d, numpy::load_npz(&path, device));
        let _ = look(d, pytorch::load(&path, device));
        let file = pytorch::open(&path).ok()?;
        let name = if d.flag()? { d.text()? } else { file.names().next()?.to_owned() };
        let _ = (file.shape(&name), file.dtype(&name));
        d.look(file.tensor(&name, device).ok());
        look(d, file.tensors(device))
    };
    "serialization::ndarray::to_ndarray", "serialization::ndarray::from_ndarray" => |d| {
        let (tensor, options) = (d.tensor()?, d.options()?);
        let array = to_ndarray::<f32>(&tensor).ok()?;
        d.look(from_ndarray(&array.t(), options).ok());
        Some(())
    };
};

/// The path of a file that can be there, or not. It lies one folder deeper, since `save_sharded` writes
/// beside its path, which can be a folder's.
fn file(d: &mut Draw, folder: &tempfile::TempDir) -> Option<PathBuf> {
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).ok()?;
    let name = d.text()?;
    let paths = [inner.clone(), inner.join("a.pt"), inner.join(name)];
    Some(paths[d.rng().below(3)].clone())
}

fn state(d: &mut Draw) -> Option<StateDict> {
    let tensors = d.owned_tensors()?;
    tensors.into_iter().map(|tensor| Some((d.text()?, tensor))).collect()
}

/// Changes some bytes of a file, or cuts it, or does neither.
fn damage(d: &mut Draw, path: &std::path::Path) -> Option<()> {
    let mut bytes = fs::read(path).ok().filter(|bytes| !bytes.is_empty())?;
    for _ in 0..d.rng().below(3) {
        let at = d.rng().below(bytes.len());
        bytes[at] = d.byte()?;
    }
    if d.rng().one_in(4) {
        bytes.truncate(d.rng().below(bytes.len()));
    }
    fs::write(path, bytes).ok()
}

fn look(d: &mut Draw, state: serialization::Result<StateDict>) -> Option<()> {
    state.ok()?.into_values().for_each(|tensor| d.look(Some(tensor)));
    Some(())
}
