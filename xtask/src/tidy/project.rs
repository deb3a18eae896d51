//! What the checks look at: the files that git knows, and the packages that cargo knows.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::finding::Finding;
use super::metadata::{self, Package};
use crate::{paths, process};

pub(super) struct Project {
    /// The files, in the order of their paths.
    pub(super) files: Vec<SourceFile>,
    pub(super) packages: Vec<Package>,
}

pub(super) struct SourceFile {
    /// The path from the repository's root, with `/`.
    pub(super) path: String,
    /// Empty for a file that is no text.
    pub(super) text: String,
}

impl Project {
    /// Reads the files that are in the repository or would be with `git add`.
    pub(super) fn read() -> Result<Project> {
        let mut git = Command::new("git");
        git.current_dir(paths::root());
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = process::output(&mut git).context("tidy looks at what git lists")?;
        let mut files = Vec::new();
        for path in listed.split('\0') {
            let absolute = paths::root().join(path);
            // git still lists a file that was deleted and not yet committed so.
            if absolute.is_file() {
                let bytes = fs::read(&absolute).with_context(|| format!("cannot read {path}"))?;
                let text = String::from_utf8(bytes).unwrap_or_default();
                files.push(SourceFile { path: path.to_owned(), text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Project { files, packages: metadata::packages()? })
    }

    pub(super) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files with one of these extensions.
    pub(super) fn with_extension(&self, extensions: &[&str]) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(move |file| extensions.contains(&file.extension()))
    }

    /// Whether a file or a folder of this path is in the repository.
    pub(super) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let is_or_holds = |file: &SourceFile| {
            file.path
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        path.is_empty() || self.files.iter().any(is_or_holds)
    }

    /// The packages of the workspace.
    pub(super) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.is_member)
    }

    /// A finding in a file that may not exist.
    pub(super) fn finding(&self, path: &str, beginning: &str, what: String) -> Finding {
        let line = self.file(path).map_or(1, |file| file.line_of(beginning));
        Finding::new(path, line, what)
    }
}

impl SourceFile {
    pub(super) fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The lines with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// The first line that begins so, or the first line of all.
    pub(super) fn line_of(&self, beginning: &str) -> usize {
        self.lines().find(|(_, line)| line.starts_with(beginning)).map_or(1, |(number, _)| number)
    }

    pub(super) fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding::new(&self.path, line, what)
    }
}

#[cfg(test)]
impl Project {
    /// A project of these files, each a path and a text, without packages.
    pub(super) fn of(files: &[(&str, &str)]) -> Project {
        let file =
            |(path, text): &(&str, &str)| SourceFile { path: (*path).into(), text: (*text).into() };
        Project { files: files.iter().map(file).collect(), packages: Vec::new() }
    }

    /// The findings of a check, as they are printed.
    pub(super) fn found(&self, check: super::Check) -> Vec<String> {
        check(self).iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_the_folders_that_hold_them_exist() {
        let project = Project::of(&[("docs/adr/001-streams.md", "")]);
        for path in ["", "docs", "docs/", "docs/adr", "docs/adr/001-streams.md"] {
            assert!(project.exists(path), "{path}");
        }
        for path in ["doc", "docs/ad", "docs/adr/001-streams", "src"] {
            assert!(!project.exists(path), "{path}");
        }
    }
}
