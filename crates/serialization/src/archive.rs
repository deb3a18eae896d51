//! Archives in the ZIP format, which `.npz` and `.pt` files are.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, Result};
use crate::mapping::FileMapping;

/// The most bytes that one of a deflated entry can stand for.
const MAX_RATIO: usize = 1032;

/// An archive, mapped into memory.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
    format: &'static str,
    mapping: FileMapping,
    entries: BTreeMap<String, ArchiveEntry>,
}

/// A file in an archive.
#[derive(Debug)]
struct ArchiveEntry {
    place: Range<usize>,
    size: usize,
    crc: u32,
    is_deflated: bool,
}

impl Archive {
    /// The entries of an archive; `format` is the name of what it should be, for errors.
    ///
    /// # Errors
    /// It is no archive, it is encrypted or compressed in a way that is not known here, or its
    /// entries share bytes, so that it would grow when it is read.
    pub(crate) fn new(path: &Path, format: &'static str, mapping: FileMapping) -> Result<Archive> {
        let bad = |problem: String| Error::Format { file: path.to_owned(), format, problem };
        let broken = |error: ZipError| bad(error.to_string());
        let mut zip = ZipArchive::new(Cursor::new(&mapping[..])).map_err(broken)?;
        if zip.has_duplicate_names() || zip.has_overlapping_entries().map_err(broken)? {
            return Err(bad("its entries lie in each other".to_owned()));
        }
        let mut entries = BTreeMap::new();
        for index in 0..zip.len() {
            let file = zip.by_index_raw(index).map_err(broken)?;
            let name = file.name().map_err(broken)?.into_owned();
            let is_deflated = match file.compression() {
                CompressionMethod::Stored => false,
                CompressionMethod::DEFLATE => true,
                other => return Err(bad(format!("`{name}` is compressed by {other}"))),
            };
            if file.encrypted() {
                return Err(bad(format!("`{name}` is encrypted")));
            }
            let number = |number: u64| usize::try_from(number).ok();
            let place = file
                .data_start()
                .and_then(number)
                .and_then(|start| Some(start..start.checked_add(number(file.compressed_size())?)?));
            let place = place.filter(|place| place.end <= mapping.len());
            let (Some(place), Some(size)) = (place, number(file.size())) else {
                return Err(bad(format!("`{name}` does not lie inside the file")));
            };
            entries.insert(name, ArchiveEntry { place, size, crc: file.crc32(), is_deflated });
        }
        Ok(Archive { path: path.to_owned(), format, mapping, entries })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The bytes of an entry, if there is one of the name.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn bytes(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>> {
        let Some(entry) = self.entries.get(name) else { return Ok(None) };
        let stored = &self.mapping[entry.place.clone()];
        let bytes = match entry.is_deflated {
            true => inflate(stored, entry.size).map(Cow::Owned),
            false => Some(Cow::Borrowed(stored)).filter(|bytes| bytes.len() == entry.size),
        };
        // PyTorch writes 0 if it is told to write no checksums.
        let is_whole = |bytes: &[u8]| entry.crc == 0 || crc32fast::hash(bytes) == entry.crc;
        match bytes.filter(|bytes| is_whole(bytes)) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(self.bad(format!("the bytes of `{name}` are not those that were written"))),
        }
    }

    /// The error of a file that is not what it should be.
    pub(crate) fn bad(&self, problem: String) -> Error {
        Error::Format { file: self.path.clone(), format: self.format, problem }
    }
}

/// The bytes that were deflated, if they are as many as `size`.
fn inflate(deflated: &[u8], size: usize) -> Option<Vec<u8>> {
    // Nothing is allocated for more than there can be.
    if size / MAX_RATIO > deflated.len() {
        return None;
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).ok()?;
    let limit = u64::try_from(size).ok()?.checked_add(1)?;
    DeflateDecoder::new(deflated).take(limit).read_to_end(&mut bytes).ok()?;
    (bytes.len() == size).then_some(bytes)
}
