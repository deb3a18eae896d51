//! Where the sources of the two headers' bindings lie.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// The declarations of `cuda-driver-sys`, as text.
///
/// # Errors
/// If cargo does not tell where it put the crate, or the file cannot be read.
pub fn theirs() -> io::Result<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--locked", "--offline"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == "cuda-driver-sys");
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let manifest = manifest.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    std::fs::read_to_string(PathBuf::from(manifest).with_file_name("src/cuda.rs"))
}

/// The declarations of `cuda-sys`: its types and constants, and its functions.
pub fn ours() -> (&'static str, &'static str) {
    let types = include_str!("../../../crates/cuda-sys/src/bindings.rs");
    let functions = include_str!("../../../crates/cuda-sys/src/functions.rs");
    (types, functions)
}
