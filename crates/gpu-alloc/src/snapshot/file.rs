//! Snapshots as files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{Snapshot, memory_snapshot};
use crate::error::{Error, Result};

/// Writes a [`memory_snapshot`] to a file: as a page to look at if the name ends in `.html`
/// ([`Snapshot::write_html`]), and otherwise for PyTorch's tools ([`Snapshot::write_pickle`]), as
/// `torch.cuda.memory._dump_snapshot` does. A file that is there already is replaced.
///
/// # Errors
/// [`Error::SnapshotFile`], with the path and what was wrong with it.
///
/// ```
/// use gpu_alloc::Snapshot;
///
/// # let folder = std::env::temp_dir().join(format!("dump_snapshot-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// gpu_alloc::record_memory_history(Some(100_000));
/// // ... the program ...
/// gpu_alloc::dump_snapshot(folder.join("memory.pickle"))?;
/// gpu_alloc::dump_snapshot(folder.join("memory.html"))?;
///
/// let snapshot = Snapshot::from_pickle(&std::fs::read(folder.join("memory.pickle"))?)?;
/// # assert_eq!(snapshot.segments, gpu_alloc::memory_snapshot().segments);
/// # std::fs::remove_dir_all(&folder)?;
///
/// let error = gpu_alloc::dump_snapshot("/no/such/folder/memory.pickle").unwrap_err();
/// assert!(error.to_string().contains("/no/such/folder/memory.pickle"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn dump_snapshot(path: impl AsRef<Path>) -> Result<()> {
    let (path, snapshot) = (path.as_ref(), memory_snapshot());
    let is_page = path.extension().is_some_and(|extension| extension == "html");
    if is_page { snapshot.write_html(path) } else { snapshot.write_pickle(path) }
}

impl Snapshot {
    /// Writes the snapshot as one HTML file that needs nothing else, to be opened in a browser: live
    /// memory over time by call site or tag, who holds what, the segments with their holes, the
    /// moment of an out-of-memory, and the statistics.
    ///
    /// # Errors
    /// [`Error::SnapshotFile`], with the path and what was wrong with it.
    ///
    /// ```no_run
    /// use gpu_alloc::Snapshot;
    ///
    /// let recorded = Snapshot::from_pickle(&std::fs::read("of_pytorch.pickle")?)?;
    /// recorded.write_html("memory.html")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_html(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path.as_ref(), self.to_html().as_bytes())
    }

    /// Writes [`to_pickle`](Snapshot::to_pickle) to a file.
    ///
    /// # Errors
    /// [`Error::SnapshotFile`], with the path and what was wrong with it.
    pub fn write_pickle(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path.as_ref(), &self.to_pickle())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes)
        .map_err(|error| Error::SnapshotFile { path: path.to_owned(), source: Arc::new(error) })
}
