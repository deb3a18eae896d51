//! Limits are named as everywhere: `MAX_` and `MIN_`.

use super::code::{code, words};
use super::finding::Finding;
use super::project::Project;

/// Beginnings of names that are not taken, each with the one that is.
const INSTEAD: [(&str, &str); 2] = [("MOST_", "MAX_"), ("LEAST_", "MIN_")];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in project.with_extension(&["rs"]) {
        for (number, line) in (1..).zip(code(&file.text).lines()) {
            let all: Vec<_> = words(line).collect();
            for pair in all.windows(2).filter(|pair| ["const", "static"].contains(&pair[0])) {
                for (begins, instead) in INSTEAD {
                    if pair[1].starts_with(begins) {
                        let what = format!("`{}`: a limit's name begins with `{instead}`", pair[1]);
                        findings.push(file.finding(number, what));
                    }
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_with_other_names_are_found() {
        let text = "const MOST_LINES: usize = 5;\npub static LEAST_SIZE: u8 = 1;\n\
                    const MAX_LINES: u8 = 2; // const MOST_X\nfn f() { g(MOST_LINES) }";
        let found = Project::of(&[("a.rs", text)]).found(check);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.rs:1: `MOST_LINES`"), "{found:?}");
        assert!(found[1].contains("`LEAST_SIZE`: a limit's name begins with `MIN_`"), "{found:?}");
    }
}
