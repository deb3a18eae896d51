//! Files that are mapped into memory.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// The bytes of a file, which the system reads when they are looked at.
#[derive(Debug)]
pub(crate) struct FileMapping(Mmap);

impl FileMapping {
    /// Maps a file. An empty one has no bytes.
    ///
    /// # Errors
    /// There is no such file, or it cannot be mapped.
    pub(crate) fn open(path: &Path) -> Result<FileMapping> {
        let file = File::open(path).map_err(Error::io(path, "open it"))?;
        // SAFETY: nobody may write the file in place, or make it shorter, while it is mapped. No
        // program can make sure of that for a file that others can write, so it is asked of the
        // user in the documentation of the crate; writers of this crate replace files and leave
        // mapped ones as they are. The bytes are only copied and compared, and any are valid.
        let mapping = unsafe { Mmap::map(&file) };
        mapping.map(FileMapping).map_err(Error::io(path, "map it into memory"))
    }
}

impl Deref for FileMapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
