//! Reading a folder of cases: JSON lines, and the pools of numbers that their tensors are cut from.

mod array;
mod case;
mod packed;
mod stored;
mod written;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use safetensors::SafeTensors;

pub(crate) use array::{Array, Numbers, decode, size_of};
pub(crate) use case::{Header, OpCase, ProgramCase, Step, TimedCase};
pub(crate) use packed::pack;
pub(crate) use stored::StoredTensor;
pub(crate) use written::Written;

/// The names of the two files.
const CASES: &str = "cases.jsonl";
const POOLS: &str = "tensors.safetensors";

/// A folder of cases in memory.
pub(crate) struct CaseFolder {
    lines: String,
    pools: BTreeMap<String, Vec<u8>>,
}

impl CaseFolder {
    /// Reads a folder, or a file that [`pack`] made of one.
    ///
    /// # Errors
    /// A file cannot be read, or is not what the protocol says.
    pub(crate) fn open(path: &Path) -> Result<CaseFolder> {
        let (lines, pools) = if path.is_dir() {
            let read = |name: &str| {
                let path = path.join(name);
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
            };
            (read(CASES)?, read(POOLS)?)
        } else {
            packed::unpack(path)?
        };
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
    pub(crate) fn array(&self, stored: &StoredTensor) -> Result<Array> {
        let numbers = decode(&stored.dtype, self.storage(stored)?).context("no such dtype")?;
        let numbers = numbers.at(&stored.positions()).context("outside of its storage")?;
        Ok(Array { dtype: stored.dtype.clone(), shape: stored.shape.clone(), numbers })
    }
}
