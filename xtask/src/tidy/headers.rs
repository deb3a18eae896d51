//! Each source file begins with a line that says its job.

use super::finding::Finding;
use super::project::Project;

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let headed = |extensions, mark: &str| -> Vec<Finding> {
        project
            .with_extension(extensions)
            .filter(|file| !file.text.strip_prefix(mark).is_some_and(says_something))
            .map(|file| file.finding(1, format!("begin with `{mark}` and the file's one job")))
            .collect()
    };
    let mut findings = headed(&["rs"], "//! ");
    findings.extend(headed(&["cu", "cuh"], "// "));
    findings
}

fn says_something(rest: &str) -> bool {
    rest.lines().next().is_some_and(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_header_are_found() {
        let project = Project::of(&[
            ("a.rs", "//! Adds.\n"),
            ("b.rs", "use a;\n"),
            ("c.rs", "//! \nfn f() {}\n"),
            ("d.cu", "// Adds.\n"),
            ("e.cuh", "#pragma once\n"),
            ("f.md", "# Text\n"),
        ]);
        let found = project.found(check);
        let paths: Vec<_> = found.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(paths, ["b.rs", "c.rs", "e.cuh"]);
    }
}
