//! Files that take the place of others when they are complete.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

use crate::error::{Error, Result};

/// The size of the buffer in front of a file.
const BUFFER: usize = 1 << 20;

/// A file in the making, beside the place that it will take. It is gone again if it is dropped.
pub(crate) struct Replacement {
    target: PathBuf,
    written: TempPath,
}

/// Writes a file that takes the place of the one at `path`, if there is one, when it is complete and
/// on the disk. Until then the old one is as it was.
///
/// # Errors
/// It could not be written; then the old file is as it was.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    prepare(path, write)?.put_in_place()
}

/// Writes such a file, and leaves it beside its place.
///
/// # Errors
/// It could not be written.
pub(crate) fn prepare(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<Replacement> {
    // A link stays one: what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".");
    let mut builder = Builder::new();
    builder.prefix(&name).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As the file has that is replaced, or as any new file.
        let present = fs::metadata(&target).map(|metadata| metadata.permissions());
        builder.permissions(present.unwrap_or_else(|_| fs::Permissions::from_mode(0o666)));
    }
    let file = builder.tempfile_in(folder(&target)).map_err(Error::io(path, "write beside it"))?;
    let mut writer = BufWriter::with_capacity(BUFFER, file.as_file());
    write(&mut writer)?;
    writer.flush().map_err(Error::io(path, "write"))?;
    drop(writer);
    file.as_file().sync_all().map_err(Error::io(path, "write"))?;
    Ok(Replacement { target, written: file.into_temp_path() })
}

impl Replacement {
    /// Lets the file take its place.
    ///
    /// # Errors
    /// The system refused; then the old file is as it was.
    pub(crate) fn put_in_place(self) -> Result<()> {
        let Replacement { target, written } = self;
        let refused = |error: tempfile::PathPersistError| error.error;
        written.persist(&target).map_err(refused).map_err(Error::io(&target, "replace it"))?;
        // The name is on the disk when the folder is. Not every file system can say when.
        if let Ok(folder) = File::open(folder(&target)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// The folder that a file is in.
pub(crate) fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
