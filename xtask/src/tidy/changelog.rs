//! The changelog is kept: it has a section for what comes next.

use super::finding::Finding;
use super::project::Project;

const CHANGELOG: &str = "CHANGELOG.md";
const SECTION: &str = "## [Unreleased]";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let changelog = project.file(CHANGELOG);
    if changelog.is_some_and(|file| file.text.lines().any(|line| line == SECTION)) {
        return Vec::new();
    }
    let what = format!("needs a section `{SECTION}` that says what changed for users");
    vec![Finding::new(CHANGELOG, 1, what)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_without_the_section_is_found() {
        let with = Project::of(&[(CHANGELOG, "# Changelog\n\n## [Unreleased]\n")]);
        assert_eq!(with.found(check), [""; 0]);
        let without = Project::of(&[(CHANGELOG, "# Changelog\n\n## [0.1.0]\n")]);
        assert_eq!(without.found(check).len(), 1);
        assert_eq!(Project::of(&[]).found(check).len(), 1);
    }
}
