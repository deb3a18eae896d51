//! The map in docs/architecture.md is kept true: it has each crate, and each path in it exists.

use super::finding::Finding;
use super::project::{Project, SourceFile};

const MAP: &str = "docs/architecture.md";

/// Files are named so; what else has a dot in it may be a method.
const EXTENSIONS: [&str; 8] = [".rs", ".cu", ".cuh", ".ptx", ".md", ".toml", ".txt", ".py"];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let Some(file) = project.file(MAP) else {
        return vec![Finding::new(MAP, 1, "the map of the repository is missing")];
    };
    let mut findings = Vec::new();
    for package in project.members() {
        let folder = package.manifest.trim_end_matches("/Cargo.toml");
        let name = package.name.as_str();
        let is_it = |(_, span): (usize, &str)| span == name || span.starts_with(folder);
        if !spans(file).any(is_it) {
            findings.push(file.finding(1, format!("says nothing of `{name}`")));
        }
    }
    for (number, span) in spans(file) {
        if looks_like_path(project, span) && !is_path(project, span) {
            findings.push(file.finding(number, format!("there is no `{span}` in the repository")));
        }
    }
    findings
}

/// The words in backticks, with the numbers of their lines.
pub(super) fn spans(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.lines().flat_map(|(number, line)| {
        line.split('`').skip(1).step_by(2).map(move |span| (number, span))
    })
}

fn looks_like_path(project: &Project, span: &str) -> bool {
    let is_word = !span.contains([' ', '(', '<']) && !span.contains("::");
    let starts_here = span.split_once('/').is_some_and(|(first, _)| project.exists(first));
    is_word
        && (starts_here
            || span.ends_with('/')
            || EXTENSIONS.iter().any(|extension| span.ends_with(extension)))
}

/// Whether a file or folder in the repository has this path, from the root or from any folder. Of a
/// pattern only the folder is looked at.
fn is_path(project: &Project, span: &str) -> bool {
    let path = match span.find(['*', '{']) {
        Some(at) => span[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
        None => span.trim_end_matches('/'),
    };
    let (file, folder) = (format!("/{path}"), format!("/{path}/"));
    let is_it = |path: &str| path.ends_with(&file) || path.contains(&folder);
    project.exists(path) || project.files.iter().any(|file| is_it(&file.path))
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Package;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [("crates/nn/src/loss.rs", ""), ("kernels/unary.cu", ""), (MAP, text)];
        let packages = vec![Package::member("nn")];
        Project { packages, ..Project::of(&files) }.found(check)
    }

    #[test]
    fn a_map_of_what_there_is_is_fine() {
        let text = "`nn`: `src/loss.rs`, `crates/nn/src`, `kernels/*.cu`, `src/`, `a/b`, `x.relu()`, `1.rs 2`";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn missing_crates_and_paths_are_found() {
        let expected = [
            format!("{MAP}:1: says nothing of `nn`"),
            format!("{MAP}:1: there is no `crates/tensor` in the repository"),
            format!("{MAP}:2: there is no `ops/unary.rs` in the repository"),
            format!("{MAP}:3: there is no `src/ops/` in the repository"),
        ];
        assert_eq!(found("`crates/tensor` and nn\n`ops/unary.rs`\n`src/ops/`\n"), expected);
    }
}
