//! `cargo xtask libcuda`: the software driver as a `libcuda.so.1`, and the runtime API beside it, in
//! a folder of their own.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{paths, process};

/// The packages that are shared libraries: cargo's name of the library, the name that programs are
/// linked to, and the one that they are linked by.
const LIBRARIES: [SharedLibrary; 4] = [
    SharedLibrary { package: "libcuda", soname: "libcuda.so.1", link: Some("libcuda.so") },
    SharedLibrary { package: "libnvidia-ml", soname: "libnvidia-ml.so.1", link: None },
    SharedLibrary { package: "libcudart-12", soname: "libcudart.so.12", link: None },
    // Programs are linked to the version of the toolkit that there is.
    SharedLibrary {
        package: "libcudart-13",
        soname: "libcudart.so.13",
        link: Some("libcudart.so"),
    },
];

struct SharedLibrary {
    package: &'static str,
    soname: &'static str,
    link: Option<&'static str>,
}

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

/// Builds the libraries and gives the folder that they are in.
///
/// The folder passes for a CUDA installation too, since build scripts look for `lib64` in one.
pub(crate) fn build(profile: BuildProfile) -> Result<PathBuf> {
    // With all of the workspace, dependencies have the features that they have in the tests.
    const WITH_TESTS: [&str; 4] = ["build", "--workspace", "--lib", "--examples"];
    let (mut cargo, folder) = match profile {
        BuildProfile::Release => {
            let mut cargo = process::cargo(&["build", "--release"]);
            cargo.args(LIBRARIES.iter().flat_map(|library| ["--package", library.package]));
            (cargo, paths::libcuda())
        }
        BuildProfile::Dev => (process::cargo(&WITH_TESTS), paths::libcuda().with_extension("dev")),
    };
    // JSON tells where cargo put the file, whatever target folder the environment sets.
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let messages = process::output(&mut cargo)?;
    for library in &LIBRARIES {
        let built = shared_library(&messages, library.package);
        let built = built.with_context(|| format!("cargo tells of no {}", library.soname))?;
        let installed = install(&built, library, &folder);
        installed.with_context(|| format!("cannot write to {}", paths::relative(&folder)))?;
    }
    Ok(folder)
}

/// The path of a package's shared library in cargo's messages.
fn shared_library(messages: &str, package: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut artifacts = messages.filter(|message| message["reason"] == "compiler-artifact");
    let is_of = |message: &Value| {
        let manifest = message["manifest_path"].as_str().map(Path::new);
        let folder = manifest.and_then(Path::parent).and_then(Path::file_name);
        folder.is_some_and(|name| name == package)
    };
    let library =
        artifacts.rfind(|message| message["target"]["kind"][0] == "cdylib" && is_of(message))?;
    let files = library["filenames"].as_array()?;
    files.iter().filter_map(Value::as_str).find(|path| path.ends_with(".so")).map(Into::into)
}

fn install(built: &Path, library: &SharedLibrary, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // A program that runs with the present library keeps it: the file is replaced, not rewritten.
    let new = folder.join(library.soname).with_added_extension("new");
    fs::copy(built, &new)?;
    fs::rename(&new, folder.join(library.soname))?;
    if let Some(name) = library.link {
        link(&folder.join(name), library.soname)?;
    }
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
            {"reason":"compiler-artifact","manifest_path":"/a/libx/Cargo.toml","target":{"kind":["cdylib"]},"filenames":["x/b.so"]}
            {"reason":"compiler-artifact","manifest_path":"/a/liby/Cargo.toml","target":{"kind":["cdylib"]},"filenames":["x/c.so"]}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(shared_library(messages, "libx"), Some(PathBuf::from("x/b.so")));
        assert_eq!(shared_library(messages, "liby"), Some(PathBuf::from("x/c.so")));
        assert_eq!(shared_library(messages, "libz"), None);
    }

    #[test]
    fn installing_again_replaces_the_library() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let (built, target) = (folder.path().join("built.so"), folder.path().join("libcuda"));
        for text in ["old", "new"] {
            fs::write(&built, text).expect("a file");
            install(&built, &LIBRARIES[0], &target).expect("it can be written");
            for name in ["libcuda.so.1", "libcuda.so", "lib64/libcuda.so"] {
                assert_eq!(fs::read_to_string(target.join(name)).expect("it is there"), text);
            }
        }
    }
}
