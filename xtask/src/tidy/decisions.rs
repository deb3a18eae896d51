//! Each record of a decision is in the list of records.

use super::finding::Finding;
use super::project::Project;

const FOLDER: &str = "docs/adr/";
const LIST: &str = "docs/adr/README.md";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let list = project.file(LIST).map_or("", |file| &file.text);
    let mut findings = Vec::new();
    for file in project.with_extension(&["md"]).filter(|file| file.path != LIST) {
        let Some(name) = file.path.strip_prefix(FOLDER) else {
            continue;
        };
        if !list.contains(&format!("]({name})")) {
            findings.push(file.finding(1, format!("add a line for `{name}` to {LIST}")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_not_listed_is_found() {
        let project = Project::of(&[
            ("docs/adr/001-streams.md", "# 001: Streams\n"),
            ("docs/adr/002-order.md", "# 002: Order\n"),
            (LIST, "| [001](001-streams.md) | Streams |\n"),
        ]);
        let found = project.found(check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("docs/adr/002-order.md:1:"), "{found:?}");
    }
}
