//! Nothing is left for later in the source: no notes to oneself, no placeholders, no tests put aside.

use super::code::{code, words};
use super::finding::Finding;
use super::project::{Project, SourceFile};

const NOTES: [&str; 3] = ["TODO", "FIXME", "XXX"];
const PLACEHOLDERS: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];
const IGNORED: &str = "#[ignore";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let written = project.with_extension(&["rs", "cu", "cuh", "h", "md", "toml", "py", "sh"]);
    // This file has to name what it looks for.
    let mut findings: Vec<_> =
        written.filter(|file| file.path != file!()).flat_map(notes).collect();
    findings.extend(project.with_extension(&["rs"]).flat_map(unfinished));
    findings
}

fn notes(file: &SourceFile) -> impl Iterator<Item = Finding> {
    file.lines().filter_map(|(number, line)| {
        let note = words(line).find(|word| NOTES.contains(word))?;
        Some(file.finding(number, format!("{note}: do it, or open an issue that says it")))
    })
}

fn unfinished(file: &SourceFile) -> Vec<Finding> {
    let code = code(&file.text);
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        if let Some(found) = PLACEHOLDERS.iter().find(|macro_| calls(line, macro_)) {
            findings.push(file.finding(number, format!("`{found}`: write what belongs here")));
        }
        if line.contains(IGNORED) {
            let what = "a test runs or says why it cannot, through `test_support::skipped`";
            findings.push(file.finding(number, what));
        }
    }
    findings
}

/// Whether a line calls a macro of exactly that name.
fn calls(line: &str, macro_: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(macro_).any(|(at, _)| !line[..at].ends_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_later_is_found() {
        for text in [
            "// TODO: later",
            "//! FIXME",
            "fn f() { todo!() }",
            "fn f() { std::unimplemented!(\"f\") }",
            "let x = dbg!(y);",
            "#[ignore = \"slow\"]",
        ] {
            assert_eq!(Project::of(&[("a.rs", text)]).found(check).len(), 1, "{text}");
        }
    }

    #[test]
    fn similar_words_are_fine() {
        for text in ["// a TODOs b", "let todo = \"todo!()\";", "my_todo!();", "#[must_use]"] {
            assert_eq!(Project::of(&[("a.rs", text)]).found(check), [""; 0], "{text}");
        }
    }
}
