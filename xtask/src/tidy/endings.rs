//! Lines end without blanks, and files with a newline.

use super::finding::Finding;
use super::project::Project;

/// The extensions of files that people write by hand. Data and generated text are as their programs
/// make them.
const WRITTEN: [&str; 9] = ["rs", "cu", "cuh", "h", "md", "toml", "py", "sh", "txt"];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in project.with_extension(&WRITTEN) {
        for (number, line) in file.lines() {
            if line.ends_with(char::is_whitespace) {
                findings.push(file.finding(number, "remove the blanks at the line's end"));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(file.finding(file.text.lines().count(), "end the file with a newline"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_a_missing_newline_are_found() {
        let project = Project::of(&[
            ("a.rs", "fn f() {\n\n}\n"),
            ("b.rs", "fn f() {\t\n}"),
            ("c.json", "{} "),
            ("d.rs", ""),
        ]);
        let expected =
            ["b.rs:1: remove the blanks at the line's end", "b.rs:2: end the file with a newline"];
        assert_eq!(project.found(check), expected);
    }
}
