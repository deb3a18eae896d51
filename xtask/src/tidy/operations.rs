//! The page of operations has every operation that the exam's table has a row for. A test of `golden` compares its names with the whole table, of which macros write a part.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::project::Project;
use crate::operations::PAGE;

/// The folder of the exam's table.
const TABLE: &str = "tests/golden/src/adapter/";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let Some(page) = project.file(PAGE) else {
        return vec![Finding::new(PAGE, 1, "the page of operations is missing")];
    };
    let mut findings = Vec::new();
    let rows = page.lines().filter_map(|(_, line)| line.strip_prefix("| `"));
    let listed: BTreeSet<&str> = rows.filter_map(|row| Some(row.split_once('`')?.0)).collect();
    for file in project.with_extension(&["rs"]).filter(|file| file.path.starts_with(TABLE)) {
        for (number, line) in file.lines() {
            let row = line.trim_start().strip_prefix("row(\"");
            let names = row.and_then(|row| row.split_once('"')).map_or("", |(names, _)| names);
            let names = names.split('|').filter(|name| !name.is_empty());
            for name in names.filter(|name| !name.starts_with("torch.") && !listed.contains(name)) {
                let what =
                    format!("{PAGE} lacks `{name}`: write it anew with cargo xtask operations");
                findings.push(file.finding(number, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str, row: &str) -> Vec<String> {
        let files = [(PAGE, page), ("tests/golden/src/adapter/pointwise.rs", row)];
        Project::of(&files).found(check)
    }

    #[test]
    fn a_row_of_the_table_has_a_row_on_the_page() {
        let page = "| `abs` | all | all | 2 |\n";
        assert_eq!(found(page, "    row(\"abs\", \"x\", |c| give(c.x()?.abs())),\n"), [""; 0]);
        let lacks = found(page, "    row(\"abs|absolute\", \"x\", |c| give(c.x()?.abs())),\n");
        assert_eq!(lacks.len(), 1, "{lacks:?}");
        assert!(lacks[0].contains("lacks `absolute`"), "{lacks:?}");
    }
}
