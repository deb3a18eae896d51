//! A name of a type means one thing in the whole workspace.

use std::collections::BTreeMap;

use surface::TypeName;

use super::finding::Finding;
use super::project::{Project, SourceFile};

/// Names that mean the same wherever they are declared.
const MEAN_THE_SAME: [(&str, &str); 9] = [
    ("Arguments", "the command line of a program or of a command of xtask"),
    ("Device", "a GPU, or the CPU beside them, as the crate sees it"),
    ("Error", "the error of the crate or of the program"),
    ("Event", "a CUDA event, as the crate sees it"),
    ("Options", "the numbers and switches that something is made with"),
    ("Readme", "carries the README's examples, which are run as tests"),
    ("Result", "the standard library's, with the crate's own error"),
    ("Sealed", "keeps others from implementing a trait"),
    ("Stream", "a CUDA stream, as the crate sees it"),
];

/// Names that several crates have, each once, and keep for a reason.
const KEPT: [(&str, &[&str], &str); 6] = [
    ("ExecutionContext", &["crates/gpu-runtime/", "crates/tensor/"], "one wraps the other"),
    ("ExecutionContextGuard", &["crates/gpu-runtime/", "crates/tensor/"], "one wraps the other"),
    ("Function", &["crates/gpu-runtime/", "crates/ptx/"], "CUDA's term, and PTX's"),
    (
        "Module",
        &["crates/gpu-runtime/", "crates/nn/", "crates/ptx/"],
        "CUDA's term, PyTorch's, and PTX's",
    ),
    (
        "Program",
        &["crates/cpu-kernels/", "crates/ptx-jit/"],
        "an expression, and a kernel, compiled for the processor",
    ),
    (
        "VectorClock",
        &["crates/cuda-check/", "crates/gpu-runtime/"],
        "the same, over each crate's own streams",
    ),
];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut declared = BTreeMap::<String, Vec<TypeName>>::new();
    for root in project.with_extension(&["rs"]).filter(|file| is_root(file)) {
        let read = |path: &str| project.file(path).map(|file| file.text.clone());
        match surface::type_names(&root.path, &read) {
            Ok(names) => {
                for name in names {
                    declared.entry(name.name.clone()).or_default().push(name);
                }
            }
            Err(error) => findings.push(Finding::new(error.file, 1, error.reason)),
        }
    }
    for (name, places) in &declared {
        let is_shared = MEAN_THE_SAME.iter().any(|(shared, _)| shared == name);
        if places.len() > 1 && !is_shared && !is_kept(name, places) {
            findings.extend(places.iter().map(|place| finding(place, places)));
        }
    }
    findings
}

/// Whether a file is the root of a library, a program, a build script, an example or a benchmark; not
/// of tests.
fn is_root(file: &SourceFile) -> bool {
    let parts: Vec<_> = file.path.split('/').collect();
    let within = match parts[..] {
        ["crates", _, ref within @ ..] => within,
        ["tests", package, ref within @ ..] if package != "abi-client" => within,
        ["kernels" | "xtask", ref within @ ..] => within,
        _ => return false,
    };
    matches!(
        within,
        ["build.rs"]
            | ["build" | "src", "main.rs"]
            | ["src", "lib.rs"]
            | ["src", "bin", _]
            | ["examples", _, "main.rs"]
    ) || within.len() == 2 && matches!(within[0], "benches" | "examples")
}

/// Whether each place is in another one of the crates that keep the name.
fn is_kept(name: &str, places: &[TypeName]) -> bool {
    let Some((_, crates, _)) = KEPT.iter().find(|(kept, ..)| *kept == name) else { return false };
    let count = |krate: &str| places.iter().filter(|place| place.file.starts_with(krate)).count();
    let known: usize = crates.iter().map(|krate| count(krate)).sum();
    known == places.len() && crates.iter().all(|krate| count(krate) <= 1)
}

fn finding(place: &TypeName, places: &[TypeName]) -> Finding {
    let others = places.iter().filter(|other| *other != place);
    let others: Vec<_> = others.map(|other| other.file.as_str()).collect();
    let what = format!("`{}` is also in {}: a name means one thing", place.name, others.join(", "));
    Finding::new(&place.file, place.line, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(alloc: &str, runtime: &str) -> Vec<String> {
        let alloc = ("crates/gpu-alloc/src/lib.rs", alloc);
        let runtime = ("crates/gpu-runtime/src/lib.rs", runtime);
        let test = ("crates/gpu-alloc/tests/it/main.rs", "struct Block; struct Model;");
        Project::of(&[alloc, runtime, test]).found(check)
    }

    #[test]
    fn a_name_that_stands_twice_is_found_at_both_places() {
        let found = found("struct Block;", "mod deep {\n enum Block {} }\nstruct Model;");
        let [first, second] = &found[..] else { panic!("{found:?}") };
        assert!(first.starts_with("crates/gpu-alloc/src/lib.rs:1: `Block` is also in"), "{first}");
        assert!(second.starts_with("crates/gpu-runtime/src/lib.rs:2: `Block`"), "{second}");
    }

    #[test]
    fn names_that_mean_the_same_and_names_in_functions_may_stand_twice() {
        let text = "type Result = u8; struct Stream; fn f() { struct Local; }";
        assert_eq!(found(text, text), [""; 0]);
    }

    #[test]
    fn a_name_that_is_kept_stands_once_in_each_of_its_crates() {
        let context = "struct ExecutionContext;";
        let tensor = ("crates/tensor/src/lib.rs", context);
        let runtime = ("crates/gpu-runtime/src/lib.rs", context);
        assert_eq!(Project::of(&[tensor, runtime]).found(check), [""; 0]);
        assert_eq!(found(context, context).len(), 2);
    }
}
