//! A folder of entries, each in a file with a checksum, that stays within a size.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// The bytes of the checksum that a file begins with.
const CHECKSUM: usize = 32;

/// The beginning of the names of files that are being written.
const UNFINISHED: &str = "new-";

/// The share of the limit that is left when entries had to go, so that this is done seldom.
const KEPT_PERCENT: u64 = 75;

/// Entries by key. Several processes and threads may use one folder.
#[derive(Debug)]
pub(super) struct CacheFolder {
    path: PathBuf,
    max_bytes: u64,
    /// The size of all entries when it was last looked at, and of those that this process wrote since;
    /// others may have written more. It is not known before the first write.
    bytes: OnceLock<AtomicU64>,
    /// The number of files that this process has written.
    written: AtomicU64,
}

impl CacheFolder {
    pub(super) fn new(path: PathBuf, max_bytes: u64) -> CacheFolder {
        CacheFolder { path, max_bytes, bytes: OnceLock::new(), written: AtomicU64::new(0) }
    }

    /// The entry, if it is there and whole. A damaged one is deleted.
    pub(super) fn read(&self, key: &[u8]) -> Option<Vec<u8>> {
        let path = self.path_of(key);
        let mut file = File::open(&path).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        if bytes.len() < CHECKSUM || bytes[..CHECKSUM] != checksum(key, &bytes[CHECKSUM..]) {
            let _ = fs::remove_file(&path);
            return None;
        }
        // It tells when the entry was last used. Where that is not allowed, it goes early.
        let _ = file.set_modified(SystemTime::now());
        bytes.drain(..CHECKSUM);
        Some(bytes)
    }

    /// Keeps an entry, if the folder can be written to.
    pub(super) fn write(&self, key: &[u8], entry: &[u8]) {
        let bytes = (CHECKSUM + entry.len()) as u64;
        let all = self
            .bytes
            .get_or_init(|| AtomicU64::new(self.entries().iter().map(|entry| entry.bytes).sum()));
        if bytes > self.max_bytes || self.try_write(key, entry).is_err() {
            return;
        }
        if all.fetch_add(bytes, Relaxed) + bytes > self.max_bytes {
            all.store(self.trim(), Relaxed);
        }
    }

    fn try_write(&self, key: &[u8], entry: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        let number = self.written.fetch_add(1, Relaxed);
        let unfinished = self.path.join(format!("{UNFINISHED}{}-{number}", process::id()));
        let written = File::create(&unfinished).and_then(|mut file| {
            file.write_all(&checksum(key, entry))?;
            file.write_all(entry)
        });
        let kept = written.and_then(|()| fs::rename(&unfinished, self.path_of(key)));
        if kept.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        kept
    }

    /// Deletes what was not used for the longest time; the bytes that are left.
    fn trim(&self) -> u64 {
        let mut entries = self.entries();
        entries.sort_by_key(|entry| entry.used);
        let mut left: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if left <= self.max_bytes / 100 * KEPT_PERCENT {
                break;
            }
            // Another process may have been faster.
            let _ = fs::remove_file(&entry.path);
            left -= entry.bytes;
        }
        left
    }

    /// All files, also those that a process left unfinished when it was killed.
    fn entries(&self) -> Vec<CacheFile> {
        let files = fs::read_dir(&self.path).into_iter().flatten().flatten();
        files.filter_map(|file| CacheFile::at(&file.path()).ok()).collect()
    }

    fn path_of(&self, key: &[u8]) -> PathBuf {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.path.join(name)
    }
}

/// A file in the folder.
struct CacheFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl CacheFile {
    fn at(path: &Path) -> io::Result<CacheFile> {
        let data = fs::metadata(path)?;
        Ok(CacheFile { path: path.to_owned(), bytes: data.len(), used: data.modified()? })
    }
}

/// The checksum of a key and its entry: of the key too, so that a file under another name is none.
fn checksum(key: &[u8], entry: &[u8]) -> [u8; CHECKSUM] {
    Sha256::new().chain_update(key).chain_update(entry).finalize().into()
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn folder(name: &str, max_bytes: u64) -> CacheFolder {
        let path = std::env::temp_dir().join(format!("code-cache-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        CacheFolder::new(path, max_bytes)
    }

    fn remove(folder: &CacheFolder) {
        fs::remove_dir_all(&folder.path).expect("it exists");
    }

    #[test]
    fn what_was_written_is_read_by_whoever_opens_the_folder() {
        let first = folder("read", 1 << 20);
        assert_eq!(first.read(b"key"), None);
        first.write(b"key", b"code");
        let second = CacheFolder::new(first.path.clone(), 1 << 20);
        assert_eq!(second.read(b"key").as_deref(), Some(&b"code"[..]));
        assert_eq!(second.read(b"other"), None);
        remove(&first);
    }

    #[test]
    fn an_entry_that_was_changed_or_cut_or_renamed_is_none() {
        let folder = folder("damage", 1 << 20);
        let damages: [fn(&mut Vec<u8>); 4] = [
            |file| file[3] ^= 1,
            |file| file[CHECKSUM + 1] ^= 128,
            |file| file.truncate(CHECKSUM + 2),
            |file| file.clear(),
        ];
        for damage in damages {
            folder.write(b"key", b"code");
            let path = folder.path_of(b"key");
            let mut file = fs::read(&path).expect("it was written");
            damage(&mut file);
            fs::write(&path, file).expect("it can be written to");
            assert_eq!(folder.read(b"key"), None);
            assert!(!path.exists(), "it is made anew");
        }
        folder.write(b"key", b"code");
        fs::rename(folder.path_of(b"key"), folder.path_of(b"other")).expect("both are there");
        assert_eq!(folder.read(b"other"), None);
        remove(&folder);
    }

    #[test]
    fn entries_in_use_stay_and_the_others_go_when_there_are_too_many() {
        let folder = folder("size", 2000);
        let size_of_all = || -> u64 { folder.entries().iter().map(|entry| entry.bytes).sum() };
        folder.write(b"in use", &[1; 100]);
        for number in 0..60u8 {
            // Times of files have steps on some systems.
            thread::sleep(Duration::from_millis(5));
            folder.write(&[number], &[number; 100]);
            assert!(folder.read(b"in use").is_some(), "after {number}");
            assert!(size_of_all() <= 2000);
        }
        assert!(folder.read(&[59]).is_some() && folder.read(&[0]).is_none());
        folder.write(b"larger than all", &[1; 3000]);
        assert_eq!(folder.read(b"larger than all"), None);
        remove(&folder);
    }

    #[test]
    fn threads_that_write_and_read_the_same_entries_see_whole_ones() {
        let folder = folder("threads", 40_000);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..200u8 {
                        let key = [round % 7];
                        folder.write(&key, &[round % 7; 5000]);
                        if let Some(entry) = folder.read(&key) {
                            assert_eq!(entry, [round % 7; 5000]);
                        }
                    }
                });
            }
        });
        remove(&folder);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_cache_without_entries() {
        let folder = CacheFolder::new("/proc/no folder".into(), 1 << 20);
        folder.write(b"key", b"code");
        assert_eq!(folder.read(b"key"), None);
    }
}
