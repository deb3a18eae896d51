//! The documentation follows four things through the files: an operation, an allocation, a launch,
//! and a text in PTX.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::map::spans;
use super::project::{Project, SourceFile};

const MAP: &str = "docs/architecture.md";

/// The walks, each with the headings that it may have.
const WALKS: [(&str, &[&str]); 4] = [
    ("`a + b`", &["`a + b`"]),
    ("`allocate`", &["`allocate`", "`gpu_alloc::allocate`"]),
    ("a launch", &[" launch"]),
    ("a PTX text", &["PTX text", "text in PTX", "PTX"]),
];

/// A walk passes at least so many files.
const MIN_FILES: usize = 5;

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (walk, words) in WALKS {
        let counts = sections(project, words).map(|(file, line)| {
            let count = files(project, file, line).len();
            (count, file, line)
        });
        match counts.max_by_key(|(count, ..)| *count) {
            None => {
                let what = format!("follow {walk} through the files, below a heading that says so");
                findings.push(Finding::new(MAP, 1, what));
            }
            Some((count, file, line)) if count < MIN_FILES => {
                let what = format!("the walk of {walk} passes {count} files, name {MIN_FILES}");
                findings.push(file.finding(line, what));
            }
            Some(_) => {}
        }
    }
    findings
}

/// The headings, in the map and the pages beside it, that say one of these words.
fn sections<'a>(
    project: &'a Project,
    words: &'a [&str],
) -> impl Iterator<Item = (&'a SourceFile, usize)> {
    let is_linked = |file: &&SourceFile| {
        let name = file.path.strip_prefix("docs/").filter(|name| !name.contains('/'));
        let map = project.file(MAP);
        file.path == MAP
            || name
                .is_some_and(|name| map.is_some_and(|map| map.text.contains(&format!("({name}"))))
    };
    let pages = project.with_extension(&["md"]).filter(is_linked);
    pages.flat_map(move |file| {
        let is_it =
            |line: &str| line.starts_with('#') && words.iter().any(|words| line.contains(words));
        file.lines().filter(move |(_, line)| is_it(line)).map(move |(line, _)| (file, line))
    })
}

/// The files that a section names: those up to the next heading of its level.
fn files<'a>(project: &Project, file: &'a SourceFile, heading: usize) -> BTreeSet<&'a str> {
    let level = |line: &str| line.len() - line.trim_start_matches('#').len();
    let mut lines = file.lines().skip(heading - 1);
    let own = lines.next().map_or(1, |(_, line)| level(line));
    let ends = |line: &str| line.starts_with('#') && level(line) <= own;
    let end = lines.find(|(_, line)| ends(line)).map_or(usize::MAX, |(number, _)| number);
    let named = spans(file).filter(|(number, _)| (heading + 1..end).contains(number));
    named.map(|(_, span)| span).filter(|span| project.file(span).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: &str = "`a/1.rs` and `a/2.rs`, `a/3.rs`\n### On\n`a/4.rs` `a/5.rs`\n";

    fn found(map: &str, page: &str) -> Vec<String> {
        let sources = ["a/1.rs", "a/2.rs", "a/3.rs", "a/4.rs", "a/5.rs"].map(|path| (path, ""));
        let pages = [(MAP, map), ("docs/walks.md", page)];
        Project::of(&[&sources[..], &pages[..]].concat()).found(check)
    }

    fn three() -> String {
        format!("## The way of `a + b`\n{WALK}## `allocate`\n{WALK}## A launch\n{WALK}")
    }

    #[test]
    fn four_walks_of_five_files_are_enough() {
        let fourth = format!("# A PTX text\n{WALK}");
        assert_eq!(found(&(three() + &fourth), ""), [""; 0]);
        assert_eq!(found(&(three() + "See [walks](walks.md)."), &fourth), [""; 0]);
    }

    #[test]
    fn a_walk_that_is_missing_or_short_is_found() {
        let none = found(&three(), &format!("# A PTX text\n{WALK}"));
        assert_eq!(none.len(), 1, "{none:?}");
        assert!(none[0].contains("follow a PTX text through the files"), "{none:?}");
        let short = found(&(three() + "## PTX\n`a/1.rs` `a/1.rs` `a/9.rs`\n"), "");
        assert_eq!(short, [format!("{MAP}:13: the walk of a PTX text passes 1 files, name 5")]);
    }
}
