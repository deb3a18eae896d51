//! Each row of the tables of docs/soundness.md names tests that there are.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::project::Project;

const TABLE: &str = "docs/soundness.md";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let Some(file) = project.file(TABLE) else {
        return vec![Finding::new(TABLE, 1, "the table of findings is missing")];
    };
    let tests = tests(project);
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    let mut is_of_tests = false;
    for (number, line) in file.lines() {
        is_of_tests = line.ends_with("| tests |") || is_of_tests && line.starts_with('|');
        let Some((id, named)) = row(line).filter(|_| is_of_tests) else { continue };
        if !known.insert(id) {
            findings.push(file.finding(number, format!("{id} has a row already")));
        }
        if named.is_empty() {
            findings.push(file.finding(number, format!("the row of {id} names no test")));
        }
        for name in named.iter().filter(|name| !tests.contains(*name)) {
            findings.push(file.finding(number, format!("there is no test `{name}`")));
        }
    }
    findings
}

/// The first cell of a row with a finding, and the names in its last cell; none of another line.
fn row(line: &str) -> Option<(&str, Vec<&str>)> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let ((id, _), (_, last)) = (cells.split_once(" | ")?, cells.rsplit_once(" | ")?);
    // The line that names the columns.
    if last == "tests" {
        return None;
    }
    Some((id, last.split('`').skip(1).step_by(2).collect()))
}

/// The names of all functions that are tests.
fn tests(project: &Project) -> BTreeSet<&str> {
    let mut tests = BTreeSet::new();
    for file in project.with_extension(&["rs"]) {
        let mut is_test = false;
        for (_, line) in file.lines() {
            let line = line.trim_start();
            let function = line.strip_prefix("pub(crate) ").unwrap_or(line).strip_prefix("fn ");
            if let (true, Some(function)) = (is_test, function) {
                tests.extend(function.split('(').next());
            }
            is_test = line == "#[test]" || is_test && line.starts_with("#[");
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Vec<String> {
        let source = "#[test]\n#[cfg(unix)]\nfn reads_wait() {}\nfn helper() {}\n";
        let table =
            format!("# Soundness\n\n| id | finding | root | tests |\n|---|---|---|---|\n{rows}");
        Project::of(&[(TABLE, &table), ("crates/tensor/tests/it/reads.rs", source)]).found(check)
    }

    #[test]
    fn a_row_names_tests_that_there_are() {
        assert_eq!(found("| C1 | it tears | no lock | `reads_wait` (tensor) |\n"), [""; 0]);
        let missing = found("| C1 | it tears | no `lock` | `reads_wait`, `helper` (tensor) |\n");
        assert_eq!(missing, [format!("{TABLE}:5: there is no test `helper`")]);
        let none = found("| C1 | it tears | no lock | by hand |\n");
        assert_eq!(none, [format!("{TABLE}:5: the row of C1 names no test")]);
    }

    #[test]
    fn a_finding_has_one_row() {
        let row = "| N7 | it hangs | a lock | `reads_wait` |\n";
        let twice = found(&row.repeat(2));
        assert_eq!(twice, [format!("{TABLE}:6: N7 has a row already")]);
    }
}
