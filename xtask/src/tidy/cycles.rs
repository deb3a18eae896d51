//! Files that import each other in a circle are read as one, so there are few of them.

use std::collections::{BTreeMap, BTreeSet};

use super::crates::{self, Crate};
use super::finding::Finding;
use super::project::Project;

/// A circle has at most so many files.
const MAX_FILES: usize = 6;

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in &crates::all(project, &mut findings) {
        for cycle in cycles(krate).iter().filter(|cycle| cycle.len() > MAX_FILES) {
            let names: Vec<_> = cycle.iter().filter_map(|p| p.strip_prefix(krate.folder)).collect();
            let count = names.len();
            let what = format!(
                "{count} files import each other in a circle, {MAX_FILES} may: {}",
                names.join(", ")
            );
            findings.push(Finding::new(cycle[0], 1, what));
        }
    }
    findings
}

/// The strongly connected components of the files of a crate, each in the order of the paths.
fn cycles<'a>(krate: &'a Crate) -> Vec<Vec<&'a str>> {
    let mut edges = BTreeMap::<&str, Vec<&str>>::new();
    // The root names all modules, and is above them.
    for import in krate.imports.iter().filter(|import| import.from != krate.root.path) {
        edges.entry(&import.from).or_default().push(&import.to);
    }
    let reached: BTreeMap<_, _> = edges.keys().map(|file| (*file, reached(&edges, file))).collect();
    let mut cycles = BTreeSet::new();
    for (file, from_here) in &reached {
        let comes_back = |other: &&&str| reached.get(**other).is_some_and(|all| all.contains(file));
        let cycle: Vec<_> = from_here.iter().filter(comes_back).copied().collect();
        cycles.insert(cycle);
    }
    cycles.into_iter().filter(|cycle| !cycle.is_empty()).collect()
}

/// The files that a file imports, and those that they import, and so on.
fn reached<'a>(edges: &BTreeMap<&'a str, Vec<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for &next in edges.get(file).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings in a crate whose files each import the next one, and the last the first.
    fn found(count: usize) -> Vec<String> {
        let root: String = (0..count).map(|n| format!("mod m{n};\n")).collect();
        let mut files = vec![("crates/x/src/lib.rs".to_owned(), root)];
        for n in 0..count {
            let next = (n + 1) % count;
            let text = format!("pub struct S{n}(crate::m{next}::S{next});");
            files.push((format!("crates/x/src/m{n}.rs"), text));
        }
        let files: Vec<_> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        Project::of(&files).found(check)
    }

    #[test]
    fn a_large_circle_is_found_with_its_files() {
        assert_eq!(found(MAX_FILES), [""; 0]);
        let found = found(MAX_FILES + 1);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/x/src/m0.rs:1: 7 files"), "{found:?}");
        assert!(found[0].ends_with("m0.rs, m1.rs, m2.rs, m3.rs, m4.rs, m5.rs, m6.rs"), "{found:?}");
    }
}
