//! Each package of the workspace inherits what is the same for all.

use super::finding::Finding;
use super::project::{Project, SourceFile};

/// Lines that every manifest has in these sections.
const INHERITED: [(&str, &str); 6] = [
    ("[package]", "version.workspace = true"),
    ("[package]", "edition.workspace = true"),
    ("[package]", "rust-version.workspace = true"),
    ("[package]", "license.workspace = true"),
    ("[package]", "publish.workspace = true"),
    ("[lints]", "workspace = true"),
];

/// Sections in which each entry takes its version from the workspace.
const DEPENDENCIES: [&str; 3] = ["[dependencies]", "[dev-dependencies]", "[build-dependencies]"];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let manifests = project.members().filter_map(|package| project.file(&package.manifest));
    let both = |file| not_inherited(file).into_iter().chain(own_versions(file));
    manifests.flat_map(both).collect()
}

fn not_inherited(file: &SourceFile) -> Vec<Finding> {
    let present: Vec<_> = entries(file).map(|(_, section, line)| (section, line)).collect();
    let missing = INHERITED.iter().filter(|wanted| !present.contains(wanted));
    missing
        .map(|(section, line)| {
            file.finding(file.line_of(section), format!("add `{line}` to `{section}`"))
        })
        .collect()
}

fn own_versions(file: &SourceFile) -> Vec<Finding> {
    let dependencies = entries(file).filter(|(_, section, _)| DEPENDENCIES.contains(section));
    dependencies
        .filter(|(_, _, line)| !line.contains("workspace = true"))
        .map(|(number, _, line)| {
            let name = line.split(['=', '.']).next().unwrap_or(line).trim();
            let what = format!("`{name}`: its version belongs into the workspace's Cargo.toml");
            file.finding(number, what)
        })
        .collect()
}

/// The lines that say something, with their numbers and the sections that they are in.
fn entries(file: &SourceFile) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut section = "";
    file.lines().filter_map(move |(number, line)| {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
            return None;
        }
        let says_something = !line.is_empty() && !line.starts_with('#');
        says_something.then_some((number, section, line))
    })
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Package;
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"nn\"\nversion.workspace = true\n\
        edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\
        publish.workspace = true\n\n[lints]\nworkspace = true\n\n[dependencies]\n\
        # Why.\ntensor.workspace = true\nhalf = { workspace = true, optional = true }\n";

    fn found(manifest: &str) -> Vec<String> {
        let packages = vec![Package::member("nn")];
        Project { packages, ..Project::of(&[("crates/nn/Cargo.toml", manifest)]) }.found(check)
    }

    #[test]
    fn a_manifest_that_inherits_all_is_fine() {
        assert_eq!(found(MANIFEST), [""; 0]);
    }

    #[test]
    fn what_is_not_inherited_is_found() {
        let found = found(
            &MANIFEST
                .replace("publish.workspace = true", "publish = false")
                .replace("[lints]", "[features]")
                .replace("tensor.workspace = true", "tensor = \"1\""),
        );
        let expected = [
            "crates/nn/Cargo.toml:1: add `publish.workspace = true` to `[package]`",
            "crates/nn/Cargo.toml:1: add `workspace = true` to `[lints]`",
            "crates/nn/Cargo.toml:14: `tensor`: its version belongs into the workspace's Cargo.toml",
        ];
        assert_eq!(found, expected);
    }
}
