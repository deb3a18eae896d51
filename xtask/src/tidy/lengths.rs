//! No source file is long.

use super::finding::Finding;
use super::project::Project;

const MAX_LINES: usize = 500;

/// Files that may be longer, each with the reason.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("crates/cuda-sys/src/bindings.rs", "generated: cuda.h's own list of values"),
    ("crates/cuda-sys/src/functions.rs", "generated: the driver's functions"),
    ("crates/cuda-sys/src/per_thread.rs", "generated: variants of the driver's functions"),
    ("crates/cuda-sim/src/api/refused_names.rs", "generated: names of functions"),
];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in project.with_extension(&["rs", "cu", "cuh", "py"]) {
        let lines = file.text.lines().count();
        let is_exception = EXCEPTIONS.iter().any(|(path, _)| *path == file.path);
        if lines > MAX_LINES && !is_exception {
            let what = format!("{lines} lines: a file has one job and at most {MAX_LINES} lines");
            findings.push(file.finding(MAX_LINES + 1, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_found_unless_there_is_a_reason() {
        let (most, more) = ("x\n".repeat(MAX_LINES), "x\n".repeat(MAX_LINES + 1));
        let project = Project::of(&[
            ("a.rs", &most),
            ("b.rs", &more),
            ("notes.txt", &more),
            (EXCEPTIONS[0].0, &more),
        ]);
        let found = project.found(check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("b.rs:501: 501 lines"), "{found:?}");
    }
}
