//! A doc comment begins with what the thing is or does.

use super::finding::Finding;
use super::project::{Project, SourceFile};

/// Beginnings of a clause about the thing, which leave it to the reader to find the thing itself.
const OF_CLAUSES: [&str; 11] =
    ["As", "How", "Of", "That", "These", "Those", "What", "When", "Where", "Which", "Who"];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let sources = project.with_extension(&["rs"]).filter(|file| !is_of_tests(&file.path));
    sources.flat_map(in_file).collect()
}

/// Whether a file is part of a crate's tests, whose helpers nobody reads apart from the test.
fn is_of_tests(path: &str) -> bool {
    let folders = path.strip_prefix("tests/").unwrap_or(path);
    folders.split('/').any(|part| ["tests", "tests.rs"].contains(&part))
}

fn in_file(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let comment = line.trim_start().strip_prefix("///");
        if let Some(text) = comment.filter(|_| !inside) {
            let first = text.split_whitespace().next().unwrap_or_default();
            if OF_CLAUSES.contains(&first) {
                let what = format!("`{first} ..`: begin with what the thing is or does");
                findings.push(file.finding(number, what));
            }
        }
        inside = comment.is_some();
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "/// How far it is.\n/// What for.\nfn f() {}\n\
                        /// The distance.\n///\n/// What it is for.\nfn g() {}\n    /// Of the result.";

    #[test]
    fn comments_that_begin_with_a_clause_are_found() {
        let found = Project::of(&[("crates/x/src/lib.rs", TEXT)]).found(check);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/x/src/lib.rs:1: `How ..`"), "{found:?}");
        assert!(found[1].starts_with("crates/x/src/lib.rs:8: `Of ..`"), "{found:?}");
    }

    #[test]
    fn helpers_of_tests_may_begin_as_they_like() {
        for path in ["crates/x/tests/it/main.rs", "crates/x/src/a/tests.rs", "tests/x/tests/a.rs"] {
            assert_eq!(Project::of(&[(path, TEXT)]).found(check).len(), 0, "{path}");
        }
        assert_eq!(Project::of(&[("tests/x/src/lib.rs", TEXT)]).found(check).len(), 2);
    }
}
