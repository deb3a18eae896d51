//! `docs/environment.md` has each variable of the environment that the sources read, with the files
//! that do.

use std::collections::BTreeMap;

use super::crates::line_of_word;
use super::finding::Finding;
use super::project::{Project, SourceFile};

const TABLES: &str = "docs/environment.md";

/// The heading of the table of what only work on Sluice reads.
const OF_TESTS: &str = "## Tests and tools";

/// A row is a variable, its values, its default, the files that read it, and what for.
const COLUMNS: usize = 5;

/// A variable, and a file that reads it.
type Read = (String, String);

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let Some(tables) = project.file(TABLES) else {
        return vec![Finding::new(TABLES, 1, "the table of variables is missing")];
    };
    let mut findings = Vec::new();
    let listed = listed(tables, &mut findings);
    let read = read(project, &mut findings);
    for (variable, file) in read.iter().filter(|read| !listed.contains_key(*read)) {
        let what = format!("`{variable}` is read here: add this file to its row in {TABLES}");
        findings.push(Finding::new(file, line_of_word(project, file, variable), what));
    }
    for ((variable, file), line) in listed.iter().filter(|(listed, _)| !read.contains(listed)) {
        findings.push(tables.finding(*line, format!("`{file}` does not read `{variable}`")));
    }
    findings
}

/// The variables that the tables list, with the lines.
fn listed(tables: &SourceFile, findings: &mut Vec<Finding>) -> BTreeMap<Read, usize> {
    let mut listed = BTreeMap::new();
    let mut is_of_tests = false;
    for (number, line) in tables.lines() {
        is_of_tests |= line == OF_TESTS;
        let Some(row) = line.strip_prefix("| `").and_then(|row| row.strip_suffix(" |")) else {
            continue;
        };
        let cells: Vec<_> = row.split(" | ").map(str::trim).collect();
        if cells.len() != COLUMNS || cells.iter().any(|cell| cell.is_empty()) {
            findings.push(tables.finding(number, format!("a row has {COLUMNS} cells with text")));
            continue;
        }
        let variable = cells[0].trim_end_matches('`');
        for file in cells[3].split('`').skip(1).step_by(2) {
            if is_tool(file) != is_of_tests {
                findings
                    .push(tables.finding(number, format!("`{file}` belongs in the other table")));
            }
            listed.insert((variable.to_owned(), file.to_owned()), number);
        }
    }
    listed
}

fn read(project: &Project, findings: &mut Vec<Finding>) -> Vec<Read> {
    let mut read = Vec::new();
    for file in project.with_extension(&["rs"]) {
        match surface::variables(&file.path, &file.text) {
            Ok(found) => {
                let found = found.into_iter().filter(|name| !is_of_build_scripts(name));
                read.extend(found.map(|name| (name, file.path.clone())));
            }
            Err(error) => findings.push(Finding::new(error.file, 1, error.reason)),
        }
    }
    read
}

/// Whether cargo sets a variable for build scripts, and documents it.
fn is_of_build_scripts(variable: &str) -> bool {
    variable == "OUT_DIR" || variable.starts_with("CARGO_")
}

/// Whether a file is no part of what a program is built from.
fn is_tool(path: &str) -> bool {
    let parts = ["/tests/", "/tests.rs", "/fuzz/"];
    ["tests/", "xtask/", "crates/bench/"].iter().any(|folder| path.starts_with(folder))
        || parts.iter().any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = "fn f() { std::env::var_os(\"GPU_DRIVER\") }";

    fn found(rows: &str) -> Vec<String> {
        let table = format!("| variable | values |\n|---|---|\n{rows}");
        let files =
            [("crates/x/src/lib.rs", READ), ("tests/x/src/lib.rs", READ), (TABLES, table.as_str())];
        Project::of(&files).found(check)
    }

    const CRATE: &str = "| `GPU_DRIVER` | a name | none | `crates/x/src/lib.rs` | to choose |\n";
    const TEST: &str = "| `GPU_DRIVER` | a name | none | `tests/x/src/lib.rs` | to choose |\n";

    #[test]
    fn each_variable_is_listed_with_the_files_that_read_it() {
        assert_eq!(found(&format!("{CRATE}{OF_TESTS}\n{TEST}")), [""; 0]);
        let missing = found(&format!("{OF_TESTS}\n{TEST}"));
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(missing[0].starts_with("crates/x/src/lib.rs:1: `GPU_DRIVER`"), "{missing:?}");
    }

    #[test]
    fn rows_of_what_nobody_reads_are_found() {
        let gone = CRATE.replace("GPU_DRIVER", "GPU_DRIVERS");
        let found = found(&format!("{CRATE}{gone}{OF_TESTS}\n{TEST}"));
        assert_eq!(
            found,
            [format!("{TABLES}:4: `crates/x/src/lib.rs` does not read `GPU_DRIVERS`")]
        );
    }

    #[test]
    fn rows_are_whole_and_in_their_table() {
        let other = found(&format!("{CRATE}{TEST}"));
        assert!(other[0].contains("belongs in the other table"), "{other:?}");
        let short = found(&format!("{CRATE}{OF_TESTS}\n{TEST}| `PATH` | folders |\n"));
        assert_eq!(short, [format!("{TABLES}:6: a row has 5 cells with text")]);
        assert_eq!(Project::of(&[]).found(check).len(), 1);
    }
}
