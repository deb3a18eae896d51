//! Fat binaries: containers of PTX and machine code for several architectures, as nvcc writes them.
//!
//! The format is not documented by NVIDIA. What is read here was seen in the output of nvcc and
//! fatbinary of CUDA 12 and 13: a header of 16 bytes, then entries one after the other, each with a
//! header that says what it holds and a payload whose size is a multiple of 8.

mod compression;
mod entry;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub(crate) use entry::{FatbinEntry, FatbinEntryKind};

/// The first bytes of a container.
pub(crate) const CONTAINER: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// The first bytes of the record by which programs refer to a container: a version, and the
/// container's address at byte 8.
pub(crate) const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();

/// The size of a container's header.
pub(crate) const HEADER_BYTES: usize = 16;

/// No container is larger.
const LARGEST: u64 = 4 << 30;

/// Why there is no PTX to be had from a fat binary.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum FatbinError {
    /// The container is not what nvcc writes.
    #[error("the fat binary is malformed at byte {offset}: {what}")]
    Malformed {
        /// From the container's start.
        offset: usize,
        /// The fault that was found there.
        what: &'static str,
    },
    /// There is machine code only.
    #[error(
        "the fat binary holds machine code only ({0}); the software driver takes PTX: embed it \
         with `-gencode arch=compute_75,code=compute_75`"
    )]
    NoPtx(String),
    /// All PTX is for devices with other capabilities.
    #[error(
        "the fat binary's PTX is for {found}, but the device has compute capability \
         {}.{}; set CUDA_SIM_CAPABILITY, or embed PTX for an older architecture",
        capability / 10,
        capability % 10
    )]
    Newer {
        /// The architectures of the PTX.
        found: String,
        /// The device's, as 75 for 7.5.
        capability: u32,
    },
}

impl FatbinError {
    /// There is no PTX among these entries.
    pub(crate) fn none(entries: &[FatbinEntry<'_>]) -> FatbinError {
        FatbinError::NoPtx(architectures(entries.iter(), "sm_"))
    }
}

/// The size in bytes of the container that a header begins.
///
/// # Errors
///
/// [`FatbinError::Malformed`].
pub(crate) fn container_bytes(header: &[u8; HEADER_BYTES]) -> Result<usize, FatbinError> {
    let malformed = |offset, what| Err(FatbinError::Malformed { offset, what });
    let [m0, m1, m2, m3, v0, v1, h0, h1, size @ ..] = *header;
    if [m0, m1, m2, m3] != CONTAINER {
        return malformed(0, "no container begins here");
    }
    if u16::from_le_bytes([v0, v1]) != 1 {
        return malformed(4, "a version that is not known");
    }
    if usize::from(u16::from_le_bytes([h0, h1])) != HEADER_BYTES {
        return malformed(6, "a header of another size");
    }
    let size = u64::from_le_bytes(size);
    match usize::try_from(size) {
        Ok(bytes) if size <= LARGEST => Ok(HEADER_BYTES + bytes),
        _ => malformed(8, "too large"),
    }
}

/// The entries of a container; what follows it in `bytes` does not matter.
///
/// # Errors
///
/// [`FatbinError::Malformed`].
pub(crate) fn entries(bytes: &[u8]) -> Result<Vec<FatbinEntry<'_>>, FatbinError> {
    let malformed = |offset, what| FatbinError::Malformed { offset, what };
    let header = bytes.first_chunk().ok_or(malformed(bytes.len(), "it ends in its header"))?;
    let end = container_bytes(header)?;
    let container = bytes.get(..end).ok_or(malformed(bytes.len(), "it ends too early"))?;
    let mut entries = Vec::new();
    let mut at = HEADER_BYTES;
    while at < container.len() {
        let (entry, length) = FatbinEntry::read(&container[at..])
            .map_err(|(offset, what)| malformed(at + offset, what))?;
        entries.push(entry);
        at += length;
    }
    Ok(entries)
}

/// The PTX of a container that suits a device best: that of the highest architecture which is not
/// above the device's. `capability` is 75 for 7.5.
///
/// # Errors
///
/// The container is malformed, or has nothing for the device.
pub(crate) fn choose(bytes: &[u8], capability: u32) -> Result<String, FatbinError> {
    let entries = entries(bytes)?;
    let ptx = || entries.iter().filter(|entry| entry.kind == FatbinEntryKind::Ptx);
    let fits = |entry: &&FatbinEntry<'_>| entry.architecture <= capability;
    match ptx().filter(fits).max_by_key(|entry| entry.architecture) {
        Some(entry) => entry.text(),
        None if ptx().next().is_some() => {
            let found = architectures(ptx(), "compute_");
            Err(FatbinError::Newer { found, capability })
        }
        None => Err(FatbinError::none(&entries)),
    }
}

fn architectures<'e>(entries: impl Iterator<Item = &'e FatbinEntry<'e>>, prefix: &str) -> String {
    let mut names: Vec<String> =
        entries.map(|entry| format!("{prefix}{}", entry.architecture)).collect();
    names.sort();
    names.dedup();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
