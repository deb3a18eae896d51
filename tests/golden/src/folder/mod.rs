//! Reading a folder of cases: JSON lines, and the pools of numbers that their tensors are cut from.

mod array;
mod case;
mod stored;
mod written;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use safetensors::SafeTensors;

pub(crate) use array::{HostArray, HostNumbers, decode, size_of};
pub(crate) use case::{
    CaseHeader, ExamStep, ExpectedGradients, ModuleCase, OpCase, OptimCase, ProgramCase, TimedShape,
};
pub(crate) use stored::StoredTensor;
pub(crate) use written::WrittenValue;

/// The names of the two files.
const CASES: &str = "cases.jsonl";
const POOLS: &str = "tensors.safetensors";

/// A folder of cases in memory.
pub(crate) struct CaseFolder {
    lines: String,
    pools: BTreeMap<String, Vec<u8>>,
}

impl CaseFolder {
    /// Reads a folder. Its files may be compressed, and then their names end in `.gz`.
    ///
    /// # Errors
    /// A file cannot be read, or is not what the protocol says.
    pub(crate) fn open(path: &Path) -> Result<CaseFolder> {
        let (lines, pools) = (read(path, CASES)?, read(path, POOLS)?);
        let tensors = SafeTensors::deserialize(&pools).context("the pools of numbers")?;
        let pools = tensors.iter().map(|(name, view)| (name.to_owned(), view.data().to_vec()));
        Ok(CaseFolder { pools: pools.collect(), lines: String::from_utf8(lines)? })
    }

    /// The lines of the cases, in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.lines()
    }

    /// The bytes of a stored tensor's storage.
    ///
    /// # Errors
    /// The pool is shorter, or there is no such dtype.
    pub(crate) fn storage(&self, stored: &StoredTensor) -> Result<&[u8]> {
        let Some(size) = size_of(&stored.dtype) else { bail!("no dtype {}", stored.dtype) };
        if stored.len == 0 {
            return Ok(&[]);
        }
        let pool = self.pools.get(&stored.dtype).context("a pool is missing")?;
        let range = stored.at * size..(stored.at + stored.len) * size;
        pool.get(range).context("a tensor lies outside of its pool")
    }

    /// A stored tensor's numbers, in row-major order.
    ///
    /// # Errors
    /// As [`CaseFolder::storage`]; or the tensor lies outside of its storage.
    pub(crate) fn array(&self, stored: &StoredTensor) -> Result<HostArray> {
        let numbers = decode(&stored.dtype, self.storage(stored)?).context("no such dtype")?;
        let numbers = numbers.at(&stored.positions()).context("outside of its storage")?;
        Ok(HostArray { dtype: stored.dtype.clone(), shape: stored.shape.clone(), numbers })
    }
}

/// A file of a folder, compressed or not.
fn read(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let packed = folder.join(format!("{name}.gz"));
    let Ok(file) = File::open(&packed) else {
        let plain = folder.join(name);
        return fs::read(&plain).with_context(|| format!("cannot read {}", plain.display()));
    };
    let mut bytes = Vec::new();
    let read = GzDecoder::new(file).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot unpack {}", packed.display()))?;
    Ok(bytes)
}
