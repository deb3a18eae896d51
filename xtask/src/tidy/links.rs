//! Links from a document into the repository lead somewhere.

use super::finding::Finding;
use super::project::{Project, SourceFile};

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in project.with_extension(&["md"]) {
        for (number, target) in links(file) {
            if !resolve(&file.path, target).is_some_and(|path| project.exists(&path)) {
                let what = format!("the link to `{target}` leads nowhere in the repository");
                findings.push(file.finding(number, what));
            }
        }
    }
    findings
}

/// The targets of links that stay in the repository, without those in code.
fn links(file: &SourceFile) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut links = Vec::new();
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if !in_code {
            links.extend(targets(line).map(|target| (number, target)));
        }
    }
    links
}

fn targets(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.match_indices("](").filter(|(at, _)| {
        let is_in_code = line[..*at].matches('`').count() % 2 == 1;
        !is_in_code
    });
    let inside = ends.filter_map(|(at, mark)| line[at + mark.len()..].split(')').next());
    // A title may follow the target.
    let targets = inside.filter_map(|inside| inside.split_whitespace().next());
    let is_elsewhere = |target: &&str| target.contains(':') || target.starts_with('#');
    targets.filter(move |target| !is_elsewhere(target))
}

/// The path from the repository's root, if it does not leave the repository.
fn resolve(document: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or(target);
    let mut path: Vec<_> = document.split('/').collect();
    path.pop();
    for part in target.split('/').filter(|part| !["", "."].contains(part)) {
        if part == ".." {
            path.pop()?;
        } else {
            path.push(part);
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Map\n\n[up](../README.md#use), [beside](adr/), [far](https://example.org),\n\
        [here](#map), `[code](nothing)`\n```md\n[code](nothing)\n```\n\
        [gone](gone.md \"A title\") and [out](../../x)\n";

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let files = [("README.md", ""), ("docs/adr/001.md", ""), ("docs/map.md", TEXT)];
        let expected = [
            "docs/map.md:8: the link to `gone.md` leads nowhere in the repository",
            "docs/map.md:8: the link to `../../x` leads nowhere in the repository",
        ];
        assert_eq!(Project::of(&files).found(check), expected);
    }
}
