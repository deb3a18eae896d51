//! The crates of the workspace as the rules about modules see them: their roots and their imports.

use surface::Import;

use super::finding::Finding;
use super::project::{Project, SourceFile};

/// A crate whose root is `src/lib.rs` or `src/main.rs`.
pub(super) struct Crate<'a> {
    pub(super) root: &'a SourceFile,
    /// The folder `src`, with a `/` at its end.
    pub(super) folder: &'a str,
    pub(super) imports: Vec<Import>,
}

/// All crates. One that consists of tests has no layers.
pub(super) fn all<'a>(project: &'a Project, findings: &mut Vec<Finding>) -> Vec<Crate<'a>> {
    let mut crates = Vec::new();
    for root in &project.files {
        let (folder, name) = root.path.rsplit_once('/').unwrap_or_default();
        let has_library = || project.file(&format!("{folder}/lib.rs")).is_some();
        let is_root = name == "lib.rs" || name == "main.rs" && !has_library();
        let is_of_workspace = !root.path.starts_with("tests/abi-client/");
        if folder.ends_with("/src") && is_root && is_of_workspace {
            let folder = &root.path[..=folder.len()];
            crates.push(Crate { root, folder, imports: imports(project, root, findings) });
        }
    }
    crates
}

fn imports(project: &Project, root: &SourceFile, findings: &mut Vec<Finding>) -> Vec<Import> {
    let read = |path: &str| project.file(path).map(|file| file.text.clone());
    surface::imports(&root.path, &read).unwrap_or_else(|error| {
        findings.push(Finding::new(error.file, 1, error.reason));
        Vec::new()
    })
}

impl Crate<'_> {
    /// The top-level module that a file belongs to; none for the root.
    pub(super) fn top_module<'p>(&self, path: &'p str) -> Option<&'p str> {
        let within = path.strip_prefix(self.folder).filter(|_| path != self.root.path)?;
        let first = within.split('/').next()?;
        Some(first.trim_end_matches(".rs"))
    }

    /// The names of the top-level modules, without those of tests.
    pub(super) fn top_modules(&self) -> Vec<&str> {
        let mut modules = Vec::new();
        let mut is_of_tests = false;
        for line in self.root.text.lines() {
            if line.starts_with("#[") {
                let conditions = ["cfg(test)", "cfg(any(test", "cfg(all(test", "cfg(doctest)"];
                is_of_tests |= conditions.iter().any(|condition| line.contains(condition));
                continue;
            }
            let declaration = match line.split_once("mod ") {
                Some(("" | "pub " | "pub(crate) ", name)) => name.strip_suffix(';'),
                _ => None,
            };
            modules.extend(declaration.filter(|_| !is_of_tests));
            is_of_tests = false;
        }
        modules
    }
}

/// The line of a file that first says a word.
pub(super) fn line_of_word(project: &Project, path: &str, word: &str) -> usize {
    let lines = project.file(path).into_iter().flat_map(|file| file.lines());
    let mut saying = lines.filter(|(_, line)| super::code::words(line).any(|own| own == word));
    saying.next().map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_a_root_and_top_level_modules() {
        let root = "mod a;\npub mod b;\n#[cfg(test)]\nmod tests;\n#[cfg(unix)]\nmod c;\nmod d {}\n";
        let files = [
            ("crates/x/src/lib.rs", root),
            ("crates/x/src/main.rs", ""),
            ("crates/x/src/a/mod.rs", ""),
            ("crates/x/src/b.rs", ""),
            ("crates/x/src/c.rs", ""),
            ("crates/x/tests/it/main.rs", ""),
        ];
        let project = Project::of(&files);
        let mut findings = Vec::new();
        let crates = all(&project, &mut findings);
        assert_eq!((crates.len(), findings.len()), (1, 0));
        assert_eq!(crates[0].top_modules(), ["a", "b", "c"]);
        assert_eq!(crates[0].top_module("crates/x/src/a/deep.rs"), Some("a"));
        assert_eq!(crates[0].top_module("crates/x/src/b.rs"), Some("b"));
        assert_eq!(crates[0].top_module("crates/x/src/lib.rs"), None);
    }
}
