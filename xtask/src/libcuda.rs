//! `cargo xtask libcuda`: the software driver as a `libcuda.so.1`, in a folder of its own.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{paths, process};

/// Prints the folder and nothing else, for `LD_LIBRARY_PATH=$(cargo xtask libcuda)`.
pub(crate) fn run() -> Result<()> {
    println!("{}", build(BuildProfile::Release)?.display());
    Ok(())
}

/// The profile that the library is built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildProfile {
    /// The profile for use.
    Release,
    /// The profile of the tests, with which it shares what is built.
    Dev,
}

/// Builds the library and gives the folder that it is in.
///
/// The folder passes for a CUDA installation too, since build scripts look for `lib64` in one.
pub(crate) fn build(profile: BuildProfile) -> Result<PathBuf> {
    // With all of the workspace, dependencies have the features that they have in the tests.
    const WITH_TESTS: [&str; 4] = ["build", "--workspace", "--lib", "--examples"];
    let (arguments, folder) = match profile {
        BuildProfile::Release => (["build", "--release", "--package", "libcuda"], paths::libcuda()),
        BuildProfile::Dev => (WITH_TESTS, paths::libcuda().with_extension("dev")),
    };
    let mut cargo = process::cargo(&arguments);
    // JSON tells where cargo put the file, whatever target folder the environment sets.
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let messages = process::output(&mut cargo)?;
    let built = shared_library(&messages).context("cargo tells of no shared library")?;
    let installed = install(&built, &folder);
    installed.with_context(|| format!("cannot write to {}", paths::relative(&folder)))?;
    Ok(folder)
}

/// The library's path in cargo's messages.
fn shared_library(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut artifacts = messages.filter(|message| message["reason"] == "compiler-artifact");
    let library = artifacts.rfind(|message| message["target"]["kind"][0] == "cdylib")?;
    let files = library["filenames"].as_array()?;
    files.iter().filter_map(Value::as_str).find(|path| path.ends_with(".so")).map(Into::into)
}

fn install(built: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // A program that runs with the present library keeps it: the file is replaced, not rewritten.
    let new = folder.join("libcuda.so.1.new");
    fs::copy(built, &new)?;
    fs::rename(&new, folder.join("libcuda.so.1"))?;
    link(&folder.join("libcuda.so"), "libcuda.so.1")?;
    link(&folder.join("lib64"), ".")
}

fn link(path: &Path, target: &str) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|present| present == Path::new(target)) {
        return Ok(());
    }
    symlink(target, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_librarys_path_is_read_from_cargos_messages() {
        let messages = r#"
            {"reason":"compiler-artifact","target":{"kind":["lib"]},"filenames":["a.rlib"]}
            {"reason":"compiler-artifact","target":{"kind":["cdylib"]},"filenames":["x/b.so"]}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(shared_library(messages), Some(PathBuf::from("x/b.so")));
        assert_eq!(shared_library("{\"reason\":\"build-finished\"}"), None);
    }

    #[test]
    fn installing_again_replaces_the_library() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let (built, target) = (folder.path().join("built.so"), folder.path().join("libcuda"));
        for text in ["old", "new"] {
            fs::write(&built, text).expect("a file");
            install(&built, &target).expect("it can be written");
            for name in ["libcuda.so.1", "libcuda.so", "lib64/libcuda.so"] {
                assert_eq!(fs::read_to_string(target.join(name)).expect("it is there"), text);
            }
        }
    }
}
