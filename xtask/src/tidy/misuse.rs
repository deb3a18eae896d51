//! Each public function that takes values is tried by `tests/misuse`, or a line says why not.

use std::collections::{BTreeMap, BTreeSet};

use surface::PublicFunction;

use super::finding::Finding;
use super::project::{Project, SourceFile};

/// The crates that are tried, by their folders.
const CRATES: [&str; 7] =
    ["gpu-runtime", "gpu-alloc", "tensor", "serialization", "nn", "collectives", "parallel"];

/// The folder of the calls that are written by hand.
const BY_HAND: &str = "tests/misuse/src/calls/by_hand/";

/// The list of functions that are not tried: a path and a reason in each line.
const EXEMPT: &str = "tests/misuse/exempt.txt";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    let functions: Vec<_> =
        CRATES.iter().flat_map(|folder| of_crate(project, folder, &mut findings)).collect();
    let by_hand = by_hand(project);
    let exempt = exempt(project, &mut findings);
    for function in functions.iter().filter(|function| must_be_tried(function)) {
        let path = function.path.as_str();
        let is_called = function.entry().is_some() || by_hand.contains_key(path);
        match (is_called, exempt.get(path)) {
            (true, Some(line)) => {
                findings.push(Finding::new(
                    EXEMPT,
                    *line,
                    format!("{path} is tried: remove this line"),
                ));
            }
            (false, None) => {
                let what = format!(
                    "`{path}` is tried nowhere: call it in {BY_HAND}, or say in {EXEMPT} why not"
                );
                findings.push(Finding::new(&function.file, function.line, what));
            }
            _ => {}
        }
    }
    let known: BTreeSet<_> = functions.iter().map(|function| function.path.as_str()).collect();
    for (path, line) in exempt.iter().filter(|(path, _)| !known.contains(*path)) {
        findings.push(Finding::new(
            EXEMPT,
            *line,
            format!("there is no `{path}`: remove this line"),
        ));
    }
    for (path, (file, line)) in by_hand.iter().filter(|(path, _)| !known.contains(*path)) {
        findings.push(file.finding(*line, format!("there is no public function `{path}`")));
    }
    findings
}

/// Whether values can be wrong at all. Who calls an `unsafe` function promises that they are not.
fn must_be_tried(function: &PublicFunction) -> bool {
    function.takes_values() && !function.is_unsafe
}

fn of_crate(project: &Project, folder: &str, findings: &mut Vec<Finding>) -> Vec<PublicFunction> {
    let (name, root) = (folder.replace('-', "_"), format!("crates/{folder}/src/lib.rs"));
    let read = |path: &str| project.file(path).map(|file| file.text.clone());
    surface::functions(&name, &root, &read).unwrap_or_else(|error| {
        findings.push(Finding::new(&error.file, 1, error.reason));
        Vec::new()
    })
}

/// The functions that are named in calls written by hand, with their places.
fn by_hand(project: &Project) -> BTreeMap<&str, (&SourceFile, usize)> {
    let mut named = BTreeMap::new();
    for file in project.with_extension(&["rs"]).filter(|file| file.path.starts_with(BY_HAND)) {
        for (number, line) in file.lines() {
            let literals = line.split('"').skip(1).step_by(2);
            for path in literals.filter(|literal| is_of_ours(literal)) {
                named.insert(path, (file, number));
            }
        }
    }
    named
}

fn is_of_ours(path: &str) -> bool {
    let krate = path.split_once("::").map_or("", |(krate, _)| krate);
    CRATES.iter().any(|folder| folder.replace('-', "_") == krate)
}

/// The lines of the list by the functions that they are about.
fn exempt<'a>(project: &'a Project, findings: &mut Vec<Finding>) -> BTreeMap<&'a str, usize> {
    let mut exempt = BTreeMap::new();
    let lines = project.file(EXEMPT).into_iter().flat_map(|file| file.lines());
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let (path, reason) = line.split_once(' ').unwrap_or((line, ""));
        if reason.trim().is_empty() {
            findings.push(Finding::new(EXEMPT, number, "say why it is not tried"));
        }
        if exempt.insert(path, number).is_some() {
            findings.push(Finding::new(EXEMPT, number, format!("{path} is listed already")));
        }
    }
    exempt
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings in a project whose crate tensor has this text, with these calls and exemptions.
    fn found(tensor: &str, by_hand: &str, exempt: &str) -> Vec<String> {
        let crates = CRATES.map(|folder| format!("crates/{folder}/src/lib.rs"));
        let calls = format!("{BY_HAND}tensors.rs");
        let mut files: Vec<(&str, &str)> = crates.iter().map(|path| (path.as_str(), "")).collect();
        files[2].1 = tensor;
        files.extend([(calls.as_str(), by_hand), (EXEMPT, exempt)]);
        Project::of(&files).found(check)
    }

    #[test]
    fn a_function_is_drawn_by_hand_or_exempt() {
        let strange = "pub fn odd(a: Strange) {}";
        assert_eq!(found("pub fn plain(a: usize) {}", "", ""), [""; 0]);
        assert_eq!(found(strange, "\"tensor::odd\" => |d| {", ""), [""; 0]);
        assert_eq!(found(strange, "", "# Why.\ntensor::odd it takes no harm\n"), [""; 0]);
        let nowhere = found(strange, "", "");
        assert_eq!(nowhere.len(), 1, "{nowhere:?}");
        assert!(nowhere[0].starts_with("crates/tensor/src/lib.rs:1: `tensor::odd`"), "{nowhere:?}");
    }

    #[test]
    fn what_takes_nothing_or_asks_for_a_promise_need_not_be_tried() {
        assert_eq!(
            found("pub fn now() -> u8 {} pub unsafe fn raw(a: Strange) {}", "", ""),
            [""; 0]
        );
    }

    #[test]
    fn lines_about_what_there_is_not_are_found() {
        assert!(found("", "\"tensor::gone\" => |d| {", "")[0].contains("no public function"));
        assert!(found("", "", "tensor::gone it was harmless\n")[0].contains("remove this line"));
        let both = found("pub fn plain(a: usize) {}", "", "tensor::plain it is harmless\n");
        assert!(both[0].contains("is tried"), "{both:?}");
        assert!(found("pub fn odd(a: Strange) {}", "", "tensor::odd\n")[0].contains("say why"));
    }
}
