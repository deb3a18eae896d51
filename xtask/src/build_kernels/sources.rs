//! The kernels' sources: which there are, and the hash that ties PTX to them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::compiler::flags;
use crate::paths::files;

/// The contents of a folder of kernels.
pub(super) struct Sources {
    /// The kernels by name, without the extension.
    kernels: BTreeMap<String, Vec<u8>>,
    /// The headers by file name. Every kernel is taken to include each of them.
    headers: BTreeMap<String, Vec<u8>>,
}

impl Sources {
    /// Reads `folder`/*.cu and the headers in `folder`/include.
    pub(super) fn read(folder: &Path) -> Result<Sources> {
        let mut kernels = BTreeMap::new();
        for path in files(folder, "cu")? {
            kernels.insert(name(&path.with_extension("")), read(&path)?);
        }
        let mut headers = BTreeMap::new();
        for extension in ["cuh", "h"] {
            for path in files(&folder.join("include"), extension)? {
                headers.insert(name(&path), read(&path)?);
            }
        }
        Ok(Sources { kernels, headers })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// The first lines of the PTX that nvcc of this version makes of a kernel: the hash of all that
    /// goes into it, and how it was made.
    pub(super) fn header(&self, name: &str, nvcc_version: &str) -> String {
        let command = format!("nvcc {nvcc_version} {}", flags(name).join(" "));
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            // The length keeps two parts apart from one that is both together.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(command.as_bytes());
        add(name.as_bytes());
        add(self.kernels.get(name).map_or(&[], Vec::as_slice));
        for (name, text) in &self.headers {
            add(name.as_bytes());
            add(text);
        }
        let digest = hash.finalize().iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes all");
            text
        });
        format!("// sources: sha256:{digest}\n// {command}\n")
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(kernel: &str, header: &str) -> Sources {
        let kernels = BTreeMap::from([("saxpy".to_owned(), kernel.into())]);
        let headers = BTreeMap::from([("abi.cuh".to_owned(), header.into())]);
        Sources { kernels, headers }
    }

    #[test]
    fn the_header_changes_with_the_kernel_a_header_and_the_compiler() {
        let header = sources("kernel", "header").header("saxpy", "13.0.88");
        assert_eq!(header, sources("kernel", "header").header("saxpy", "13.0.88"));
        assert_ne!(header, sources("Kernel", "header").header("saxpy", "13.0.88"));
        assert_ne!(header, sources("kernel", "Header").header("saxpy", "13.0.88"));
        assert_ne!(header, sources("kernel", "header").header("saxpy", "13.1.0"));
    }

    #[test]
    fn the_header_begins_with_the_hash_and_tells_how_the_file_was_made() {
        let header = sources("kernel", "header").header("saxpy", "13.0.88");
        let lines: Vec<_> = header.lines().collect();
        let hash = lines[0].strip_prefix("// sources: sha256:").expect("the hash comes first");
        assert_eq!(hash.len(), 64);
        assert_eq!(lines[1], format!("// nvcc 13.0.88 {}", flags("saxpy").join(" ")));
    }
}
