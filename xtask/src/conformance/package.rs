//! Published packages: cargo fetches them, and their unit tests are built in a copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{paths, process};

/// The unit tests of a package.
pub(super) struct TestBinary {
    pub(super) path: PathBuf,
}

/// Builds the unit tests of a package.
pub(super) fn test_binary(name: &str, version: &str, features: &str) -> Result<TestBinary> {
    let copy = paths::conformance().join(format!("{name}-{version}"));
    if !copy.exists() {
        let source = source(name, version, features)?;
        copy_package(&source, &copy)
            .with_context(|| format!("cannot copy {} to {}", source.display(), copy.display()))?;
    }
    let mut cargo = process::cargo(&["test", "--no-run", "--lib", "--no-default-features"]);
    cargo.args(["--features", features]).arg("--manifest-path").arg(copy.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(paths::conformance().join("build"));
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let messages = process::output(&mut cargo)?;
    let path = executable(&messages).context("cargo tells of no test binary")?;
    Ok(TestBinary { path })
}

impl TestBinary {
    /// The names of the tests.
    pub(super) fn tests(&self) -> Result<Vec<String>> {
        let list = process::output(Command::new(&self.path).arg("--list"))?;
        Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(Into::into).collect())
    }
}

/// The folder that cargo unpacked a package to, by way of a package that depends on it.
fn source(name: &str, version: &str, features: &str) -> Result<PathBuf> {
    let probe = paths::conformance().join(format!("probe-{name}-{version}"));
    let features = features.replace(',', "\", \"");
    let manifest = format!(
        "[workspace]\n[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{name} = {{ version = \"={version}\", default-features = false, \
         features = [\"{features}\"] }}\n"
    );
    let written = fs::create_dir_all(probe.join("src"))
        .and_then(|()| fs::write(probe.join("src/lib.rs"), ""))
        .and_then(|()| fs::write(probe.join("Cargo.toml"), manifest));
    written.with_context(|| format!("cannot write to {}", paths::relative(&probe)))?;
    let mut cargo = process::cargo(&["metadata", "--format-version", "1", "--manifest-path"]);
    let metadata = process::output(cargo.arg(probe.join("Cargo.toml")))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo tells of no packages")?;
    let package = packages.iter().find(|package| package["name"] == name);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("cargo does not tell where the package is")?);
    manifest.parent().map(Path::to_owned).context("a manifest lies in a folder")
}

/// Copies a package, and makes it a workspace of its own. An interrupted copy leaves nothing.
fn copy_package(from: &Path, to: &Path) -> std::io::Result<()> {
    let new = to.with_extension("new");
    if new.exists() {
        fs::remove_dir_all(&new)?;
    }
    copy_folder(from, &new)?;
    let manifest = new.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, text + "\n[workspace]\n")?;
    fs::rename(&new, to)
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The test binary in cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut tests = messages.filter(|message| message["profile"]["test"] == true);
    tests.find_map(|message| message["executable"].as_str().map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_binary_is_read_from_cargos_messages() {
        let messages = r#"
            {"reason":"compiler-artifact","profile":{"test":false},"executable":"a"}
            {"reason":"compiler-artifact","profile":{"test":true},"executable":"x/b"}"#;
        assert_eq!(executable(messages), Some(PathBuf::from("x/b")));
        assert_eq!(executable(""), None);
    }

    #[test]
    fn a_copied_package_is_a_workspace_of_its_own() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("src/deep")).expect("a folder");
        fs::write(from.join("Cargo.toml"), "[package]\n").expect("a file");
        fs::write(from.join("src/deep/lib.rs"), "text").expect("a file");
        copy_package(&from, &to).expect("it can be copied");
        assert_eq!(fs::read_to_string(to.join("src/deep/lib.rs")).expect("it is there"), "text");
        let manifest = fs::read_to_string(to.join("Cargo.toml")).expect("it is there");
        assert_eq!(manifest, "[package]\n\n[workspace]\n");
    }
}
