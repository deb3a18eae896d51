//! Packages and what they depend on, as `cargo metadata` tells.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{paths, process};

/// A package of the workspace, or one that it depends on.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    /// The path of its Cargo.toml: from the repository's root if it lies there.
    pub(super) manifest: String,
    /// Its licence, as an SPDX expression.
    pub(super) licence: Option<String>,
    pub(super) is_member: bool,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) is_dev: bool,
}

/// The packages of the workspace and of `tests/abi-client`, with all that they depend on by any
/// feature and on any platform.
pub(super) fn packages() -> Result<Vec<Package>> {
    let mut packages = parse(&metadata("Cargo.toml")?, true)?;
    packages.extend(parse(&metadata("tests/abi-client/Cargo.toml")?, false)?);
    Ok(packages)
}

fn metadata(manifest: &str) -> Result<Value> {
    let arguments = ["metadata", "--format-version=1", "--locked", "--all-features"];
    let text = process::output(process::cargo(&arguments).args(["--manifest-path", manifest]))?;
    serde_json::from_str(&text).context("cargo metadata is no JSON")
}

/// `in_workspace`: whether the members that are listed are those of the repository's workspace.
fn parse(metadata: &Value, in_workspace: bool) -> Result<Vec<Package>> {
    let list = |key: &str| {
        metadata[key].as_array().with_context(|| format!("cargo metadata has no list `{key}`"))
    };
    let members = list("workspace_members")?;
    let package = |value| package(value, in_workspace && members.contains(&value["id"]));
    list("packages")?.iter().map(package).collect()
}

fn package(value: &Value, is_member: bool) -> Result<Package> {
    let manifest = string(value, "manifest_path")?;
    let root = format!("{}/", paths::root().display());
    let dependencies = value["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(Package {
        name: string(value, "name")?,
        manifest: manifest.strip_prefix(&root).unwrap_or(&manifest).to_owned(),
        licence: value["license"].as_str().map(Into::into),
        is_member,
        dependencies: dependencies.iter().map(dependency).collect::<Result<_>>()?,
    })
}

fn dependency(value: &Value) -> Result<Dependency> {
    Ok(Dependency { name: string(value, "name")?, is_dev: value["kind"] == "dev" })
}

fn string(value: &Value, key: &str) -> Result<String> {
    let text = value[key].as_str().with_context(|| format!("a package without `{key}`"))?;
    Ok(text.to_owned())
}

#[cfg(test)]
impl Package {
    /// A member in `crates`, written `tensor: gpu-alloc gpu-runtime (dev) test-support`.
    pub(super) fn member(text: &str) -> Package {
        let (name, dependencies) = text.split_once(':').unwrap_or((text, ""));
        let (normal, dev) = dependencies.split_once("(dev)").unwrap_or((dependencies, ""));
        let depend = |names: &str, is_dev| -> Vec<Dependency> {
            let names = names.split_whitespace();
            names.map(|name| Dependency { name: name.into(), is_dev }).collect()
        };
        Package {
            name: name.into(),
            manifest: format!("crates/{name}/Cargo.toml"),
            licence: Some("MIT OR Apache-2.0".into()),
            is_member: true,
            dependencies: [depend(normal, false), depend(dev, true)]
                .into_iter()
                .flatten()
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_with_their_dependencies() {
        let root = paths::root().display();
        let text = format!(
            r#"{{"workspace_members": ["path+a"], "packages": [
                {{"id": "path+a", "name": "a", "manifest_path": "{root}/crates/a/Cargo.toml",
                  "license": "MIT", "dependencies": [{{"name": "b", "kind": null}},
                                                     {{"name": "c", "kind": "dev"}}]}},
                {{"id": "registry+b", "name": "b", "manifest_path": "/else/Cargo.toml",
                  "license": null, "dependencies": []}}]}}"#
        );
        let packages = parse(&serde_json::from_str(&text).expect("JSON"), true).expect("packages");
        let [a, b] = &packages[..] else { panic!("{packages:?}") };
        assert_eq!((a.manifest.as_str(), a.is_member), ("crates/a/Cargo.toml", true));
        assert_eq!(a.dependencies.iter().map(|d| d.is_dev).collect::<Vec<_>>(), [false, true]);
        assert_eq!((b.licence.as_deref(), b.is_member), (None, false));
    }
}
