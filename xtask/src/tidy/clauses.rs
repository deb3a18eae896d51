//! Each clause of the contract has a test, or a line that says what the test waits for.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::project::{Project, SourceFile};

/// The contract's clauses are S01 to this one.
const LAST: u32 = 29;

const TESTS: &str = "tests/semantics/tests/it/";
const PENDING: &str = "tests/semantics/pending.txt";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tested = tested(project, &mut findings);
    let pending = pending(project, &mut findings);
    for clause in 1..=LAST {
        match (tested.contains(&clause), pending.get(&clause)) {
            (true, Some(line)) => {
                let what = format!("S{clause:02} has a test: remove this line");
                findings.push(Finding::new(PENDING, *line, what));
            }
            (false, None) => {
                let what = format!("S{clause:02} has no test `s{clause:02}_...` and no line here");
                findings.push(Finding::new(PENDING, 1, what));
            }
            _ => {}
        }
    }
    findings
}

/// The clauses that have a test.
fn tested(project: &Project, findings: &mut Vec<Finding>) -> BTreeSet<u32> {
    let mut tested = BTreeSet::new();
    for file in project.with_extension(&["rs"]).filter(|file| file.path.starts_with(TESTS)) {
        for (number, clause) in tests(file) {
            if (1..=LAST).contains(&clause) {
                tested.insert(clause);
            } else {
                let what = format!("the contract ends at S{LAST}, there is no S{clause:02}");
                findings.push(file.finding(number, what));
            }
        }
    }
    tested
}

/// The lines and clauses of the tests in a file. A function without `#[test]` proves nothing.
fn tests(file: &SourceFile) -> Vec<(usize, u32)> {
    let mut is_test = false;
    let mut tests = Vec::new();
    for (number, line) in file.lines() {
        let line = line.trim_start();
        let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
        if is_test && let Some(clause) = line.strip_prefix("fn ").and_then(clause_of_name) {
            tests.push((number, clause));
        }
        is_test = line == "#[test]" || is_test && line.starts_with("#[");
    }
    tests
}

/// The lines of the list by the clauses that they are about.
fn pending(project: &Project, findings: &mut Vec<Finding>) -> BTreeMap<u32, usize> {
    let mut pending = BTreeMap::new();
    let Some(file) = project.file(PENDING) else {
        findings.push(Finding::new(PENDING, 1, "the list of clauses without a test is missing"));
        return pending;
    };
    for (number, line) in file.lines().filter(|(_, line)| !line.starts_with('#')) {
        let (name, reason) = line.split_once(' ').unwrap_or((line, ""));
        match name.strip_prefix('S').and_then(two_digits) {
            Some(clause) if (1..=LAST).contains(&clause) => {
                if reason.trim().is_empty() {
                    findings.push(file.finding(number, "say what the test waits for"));
                }
                if pending.insert(clause, number).is_some() {
                    findings.push(file.finding(number, format!("{name} is listed already")));
                }
            }
            _ => findings.push(file.finding(number, "a line is a clause and a reason: `S06 ...`")),
        }
    }
    pending
}

/// 3 of `s03_operation_runs(...)`.
fn clause_of_name(function: &str) -> Option<u32> {
    let (number, _) = function.strip_prefix('s')?.split_once('_')?;
    two_digits(number)
}

fn two_digits(text: &str) -> Option<u32> {
    let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project in which every clause but `without` has a test.
    fn found(without: &[u32], more: &str, pending: &str) -> Vec<String> {
        let tests: String = (1..=LAST)
            .filter(|clause| !without.contains(clause))
            .map(|clause| format!("#[test]\n#[cfg(unix)]\nfn s{clause:02}_holds() {{}}\n"))
            .collect();
        let text = tests + more;
        Project::of(&[("tests/semantics/tests/it/all.rs", &text), (PENDING, pending)]).found(check)
    }

    #[test]
    fn a_clause_has_a_test_or_is_pending() {
        assert_eq!(found(&[], "", "# The list.\n"), [""; 0]);
        assert_eq!(found(&[6], "", "S06 waits for peers\n"), [""; 0]);
        let neither = found(&[6], "fn s06_is_no_test() {}\n", "# The list.\n");
        assert_eq!(neither.len(), 1, "{neither:?}");
        assert!(neither[0].contains("S06 has no test"), "{neither:?}");
        let both = found(&[], "", "# The list.\nS06 waits for peers\n");
        assert_eq!(both, [format!("{PENDING}:2: S06 has a test: remove this line")]);
    }

    #[test]
    fn lines_and_tests_that_mean_no_clause_are_found() {
        for line in ["S06\n", "S6 why\n", "S30 why\n", "peers\n", "S06 why\nS06 why\n"] {
            assert!(!found(&[6], "", line).is_empty(), "{line}");
        }
        let beyond = found(&[], "#[test]\nfn s30_holds() {}\n", "");
        assert!(beyond[0].contains("there is no S30"), "{beyond:?}");
    }
}
