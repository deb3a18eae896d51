//! A reason why `unsafe` code is sound says something: which obligation holds, and why it does here.

use super::finding::Finding;
use super::project::{Project, SourceFile};

const COMMENT: &str = "// SAFETY:";
const SECTION: &str = "/// # Safety";

/// Reasons that say only that somebody else has thought of it.
const EMPTY: [&str; 9] = [
    "as above",
    "as before",
    "as below",
    "as the callers",
    "as the caller promises",
    "see above",
    "the caller promises it",
    "the caller promises so",
    "the callers promise",
];

/// Endings of such reasons that add nothing.
const ENDINGS: [&str; 4] =
    ["here and below", "here and in the closure", "here and above", "as above"];

/// Fewer words are no sentence.
const MIN_WORDS: usize = 3;

pub(super) fn check(project: &Project) -> Vec<Finding> {
    project.with_extension(&["rs"]).flat_map(in_file).collect()
}

fn in_file(file: &SourceFile) -> Vec<Finding> {
    let lines: Vec<_> = file.text.lines().map(str::trim).collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let reason = if let Some(begun) = line.strip_prefix(COMMENT) {
            joined(begun, &lines[index + 1..], "//")
        } else if *line == SECTION {
            joined("", &lines[index + 1..], "///")
        } else {
            continue;
        };
        if is_empty(&reason) {
            let what = "say which obligation holds and why it does here: this is no reason";
            findings.push(file.finding(index + 1, what));
        }
    }
    findings
}

/// The text that begins so and goes on in the lines of comments that follow.
fn joined(begun: &str, lines: &[&str], mark: &str) -> String {
    let more = lines.iter().map_while(|line| line.strip_prefix(mark));
    std::iter::once(begun).chain(more).collect::<Vec<_>>().join(" ")
}

fn is_empty(reason: &str) -> bool {
    // To say where the obligations are written down is enough, for a function that has the same.
    if reason.contains("[`") {
        return false;
    }
    let is_kept = |c: &char| c.is_alphanumeric() || c.is_whitespace();
    let plain: String = reason.to_lowercase().chars().filter(is_kept).collect();
    let words: Vec<_> = plain.split_whitespace().collect();
    let mut text = words.join(" ");
    for ending in ENDINGS {
        if let Some(before) = text.strip_suffix(ending).filter(|before| !before.is_empty()) {
            text = before.trim_end().to_owned();
        }
    }
    words.len() < MIN_WORDS || EMPTY.contains(&text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        Project::of(&[("crates/x/src/lib.rs", text)]).found(check)
    }

    #[test]
    fn formulas_are_no_reasons() {
        for reason in [
            "the caller's promise.",
            "The caller's promise, here and below.",
            "as above.",
            "as the caller\n    // promises.",
            "sound",
            "",
        ] {
            let text = format!("fn f() {{\n    // SAFETY: {reason}\n    unsafe {{ g() }}\n}}");
            let found = found(&text);
            assert_eq!(found.len(), 1, "{reason}");
            assert!(found[0].starts_with("crates/x/src/lib.rs:2: say which"), "{found:?}");
        }
        assert_eq!(found("/// # Safety\n/// The caller's promise.\nunsafe fn f() {}").len(), 1);
    }

    #[test]
    fn reasons_that_say_something_are_fine() {
        for reason in [
            "`count` is writable.",
            "the caller promises that `at` is in bounds, and `T` has no padding.",
            "the stream lives\n// as long as `self`.",
        ] {
            assert_eq!(found(&format!("// SAFETY: {reason}\n")), [""; 0], "{reason}");
        }
        assert_eq!(found("/// # Safety\n/// As [`launch`].\nunsafe fn f() {}"), [""; 0]);
        assert_eq!(
            found("/// # Safety\n///\n/// `at` must be aligned.\nunsafe fn f() {}"),
            [""; 0]
        );
    }
}
