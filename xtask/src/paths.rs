//! Where things lie in the repository.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use anyhow::{Context, Result};

/// The root of the repository: that of the checkout in which cargo was called. Where checkouts share a
/// folder of builds, the program may have been built in another one.
pub(crate) fn root() -> &'static Path {
    static MANIFEST: OnceLock<PathBuf> = OnceLock::new();
    let manifest = MANIFEST.get_or_init(|| {
        let called = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let called = called.filter(|folder| folder.ends_with("xtask"));
        called.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")))
    });
    manifest.parent().expect("xtask lies in the repository's root")
}

/// A folder for what xtask makes.
///
/// Always the repository's own `target`, also where `CARGO_TARGET_DIR` is set, so that every later
/// command finds it under any environment.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}

/// The folder that `cargo xtask toolkit` fills.
pub(crate) fn toolkit() -> PathBuf {
    target().join("toolkit")
}

/// The folder that `cargo xtask libcuda` fills.
pub(crate) fn libcuda() -> PathBuf {
    target().join("libcuda")
}

/// The packages, compilers and builds of `cargo xtask conformance`.
pub(crate) fn conformance() -> PathBuf {
    target().join("conformance")
}

/// The CUDA installation within [`toolkit`].
pub(crate) fn toolkit_cuda() -> PathBuf {
    toolkit().join("nvidia/cu13")
}

/// The folder of libclang within [`toolkit`].
pub(crate) fn toolkit_libclang() -> PathBuf {
    toolkit().join("clang/native")
}

/// `path` as seen from the repository's root, for messages.
pub(crate) fn relative(path: &Path) -> std::path::Display<'_> {
    path.strip_prefix(root()).unwrap_or(path).display()
}

/// The files in `folder` with this extension, in the order of their names; none where there is no
/// such folder.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let context = || format!("cannot list {}", relative(folder));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
