//! The number of the case that a child is at, in a file that outlives it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The number of the case that is being tried.
pub(crate) struct Journal(File);

impl Journal {
    pub(crate) fn create(path: &Path) -> io::Result<Journal> {
        let journal =
            Journal(File::options().read(true).write(true).create(true).truncate(true).open(path)?);
        journal.begin(0)?;
        Ok(journal)
    }

    pub(crate) fn open(path: &Path) -> io::Result<Journal> {
        Ok(Journal(File::options().write(true).open(path)?))
    }

    /// Notes that a case begins.
    pub(crate) fn begin(&self, case: u64) -> io::Result<()> {
        self.0.write_all_at(&case.to_le_bytes(), 0)
    }

    /// The case that began last.
    pub(crate) fn case(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, 0)?;
        Ok(u64::from_le_bytes(bytes))
    }
}
