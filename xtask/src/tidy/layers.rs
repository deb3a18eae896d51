//! Within a crate imports go down, too: its root states the layers of its modules, and each module
//! imports only from layers below its own.
//!
//! The layers are a comment above the modules, the top one first:
//!
//! ```text
//! // Layers, the top one first; a module imports only from lines below its own.
//! //
//! //   launch, graph
//! //   stream, memory
//! ```
//!
//! Modules on one line do not import each other, and nothing imports what the root declares, except
//! macros. Tests are exempt. Calls of methods are not seen.

use std::collections::{BTreeMap, BTreeSet};

use surface::Import;

use super::crates::{self, Crate, line_of_word};
use super::finding::Finding;
use super::project::{Project, SourceFile};

/// A crate of no more files than this one need not state its layers.
const MAX_FILES_WITHOUT_LAYERS: usize = 8;

const TITLE: &str = "// Layers";
const LAYER: &str = "//   ";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in &crates::all(project, &mut findings) {
        // The tests' order is nobody's concern.
        if krate.root.text.lines().any(|line| line == "#![cfg(test)]") {
            continue;
        }
        let layers = Layers::of(krate.root);
        findings.extend(check_layers(project, krate, layers.as_ref()));
        findings.extend(both_ways(project, krate));
        findings.extend(imports_of_root(project, krate));
    }
    findings
}

/// The layers that a root states.
struct Layers<'a> {
    /// The line of the title.
    line: usize,
    /// The line that each module is named in, in the order in which they are named.
    modules: Vec<(&'a str, usize)>,
}

impl<'a> Layers<'a> {
    fn of(root: &'a SourceFile) -> Option<Layers<'a>> {
        let (line, _) = root.lines().find(|(_, text)| text.starts_with(TITLE))?;
        let below = root.lines().skip(line).take_while(|(_, text)| text.starts_with("//"));
        let mut modules = Vec::new();
        for (line, text) in below {
            let names = text.strip_prefix(LAYER).into_iter().flat_map(|text| text.split(','));
            modules.extend(names.map(|name| (name.trim(), line)));
        }
        Some(Layers { line, modules })
    }

    /// The line that names a module: the greater, the lower.
    fn line_of(&self, module: &str) -> Option<usize> {
        self.modules.iter().find(|(name, _)| *name == module).map(|(_, line)| *line)
    }
}

fn check_layers(project: &Project, krate: &Crate, layers: Option<&Layers>) -> Vec<Finding> {
    let Some(layers) = layers else {
        let files = project.with_extension(&["rs"]).filter(|f| f.path.starts_with(krate.folder));
        let count = files.count();
        let what = format!("state the layers of the modules in a block `{TITLE}`: {count} files");
        let is_missing = count > MAX_FILES_WITHOUT_LAYERS;
        return is_missing.then(|| krate.root.finding(1, what)).into_iter().collect();
    };
    let mut findings = wrong_names(krate, layers);
    for import in &krate.imports {
        let (Some(from), Some(to)) = (krate.top_module(&import.from), krate.top_module(&import.to))
        else {
            continue;
        };
        let (Some(here), Some(there)) = (layers.line_of(from), layers.line_of(to)) else {
            continue;
        };
        if from != to && there <= here {
            let place = if there == here { "the same layer" } else { "a layer above" };
            let what = format!("{}: `{to}` is on {place} as `{from}`", imported(import));
            findings.push(finding(project, import, what.replace("above as", "above")));
        }
    }
    findings
}

/// Finds modules that the layers name twice or not at all, and names that are no module.
fn wrong_names(krate: &Crate, layers: &Layers) -> Vec<Finding> {
    let mut findings = Vec::new();
    let modules = krate.top_modules();
    let mut named = BTreeSet::new();
    for &(name, line) in &layers.modules {
        if !named.insert(name) {
            findings.push(krate.root.finding(line, format!("`{name}` has a layer already")));
        }
        let is_declared = |line: &str| line.ends_with(&format!("mod {name};"));
        if !modules.contains(&name) && !krate.root.text.lines().any(is_declared) {
            findings.push(krate.root.finding(line, format!("there is no module `{name}`")));
        }
    }
    for name in modules.into_iter().filter(|name| !named.contains(name)) {
        findings.push(krate.root.finding(layers.line, format!("`{name}` has no layer")));
    }
    findings
}

/// Top-level modules that import each other.
fn both_ways(project: &Project, krate: &Crate) -> Vec<Finding> {
    let mut edges = BTreeMap::new();
    for import in &krate.imports {
        if let (Some(from), Some(to)) =
            (krate.top_module(&import.from), krate.top_module(&import.to))
            && from != to
        {
            edges.entry((from, to)).or_insert(import);
        }
    }
    let back = |(from, to)| edges.get(&(to, from)).filter(|_| from < to);
    let pairs = edges.iter().filter_map(|(pair, import)| Some((import, back(*pair)?)));
    pairs
        .map(|(import, back)| {
            let back = format!("{} {}", back.from, imported(back));
            finding(project, import, format!("{}, and {back}: one way only", imported(import)))
        })
        .collect()
}

/// The root is above all modules: what several of them need belongs into one of them.
fn imports_of_root(project: &Project, krate: &Crate) -> Vec<Finding> {
    let declares = |name: &str| krate.root.text.contains(&format!("macro_rules! {name} "));
    let is_root = |import: &&Import| import.to == krate.root.path;
    let imports = krate.imports.iter().filter(is_root);
    let with_items = imports.filter(|import| !import.names.iter().all(|name| declares(name)));
    with_items
        .map(|import| finding(project, import, format!("{}: move it down", imported(import))))
        .collect()
}

fn imported(import: &Import) -> String {
    format!("imports `{}` from {}", import.names.join("`, `"), import.to)
}

fn finding(project: &Project, import: &Import, what: String) -> Finding {
    let line = line_of_word(project, &import.from, &import.names[0]);
    Finding::new(&import.from, line, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "crates/x/src/lib.rs";

    /// The findings in a crate with these layers and these files beside its root.
    fn found(layers: &str, files: &[(&str, &str)]) -> Vec<String> {
        let names = files.iter().map(|(name, _)| name.trim_end_matches(".rs"));
        let modules: String = names.map(|name| format!("mod {name};\n")).collect();
        let root = format!("//! A crate.\n\n// Layers.\n//\n{layers}{modules}");
        found_below(&root, files)
    }

    fn found_below(root: &str, files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<_> = files.iter().map(|(name, _)| format!("crates/x/src/{name}")).collect();
        let mut all = vec![(ROOT, root)];
        all.extend(paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)));
        Project::of(&all).found(check)
    }

    const A: (&str, &str) = ("a.rs", "use crate::b::B;\npub struct A;");
    const B: (&str, &str) = ("b.rs", "pub struct B;");

    #[test]
    fn imports_may_go_down() {
        assert_eq!(found("//   a\n//   b\n", &[A, B]), [""; 0]);
    }

    #[test]
    fn imports_up_or_along_a_layer_are_found() {
        let up = found("//   b\n//   a\n", &[A, B]);
        let expected = "crates/x/src/a.rs:1: imports `B` from crates/x/src/b.rs: \
                        `b` is on a layer above `a`";
        assert_eq!(up, [expected]);
        let along = found("//   a, b\n", &[A, B]);
        assert_eq!(along, [expected.replace("a layer above", "the same layer as")]);
    }

    #[test]
    fn a_module_is_named_once() {
        assert!(found("//   a\n", &[A, B])[0].contains("`b` has no layer"));
        assert!(found("//   a\n//   b, a\n", &[A, B])[0].contains("`a` has a layer already"));
        assert!(found("//   a\n//   b, c\n", &[A, B])[0].contains("there is no module `c`"));
    }

    #[test]
    fn two_modules_that_import_each_other_are_found() {
        let b = ("b.rs", "pub struct B(crate::a::A);");
        let found = found_below("mod a;\nmod b;\n", &[A, b]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/x/src/a.rs:1: imports `B`"), "{found:?}");
        assert!(found[0].contains("crates/x/src/b.rs imports `A`"), "{found:?}");
    }

    #[test]
    fn nothing_but_macros_is_imported_from_the_root() {
        let a = ("a.rs", "use crate::near;");
        assert_eq!(found_below("macro_rules! near { () => {} }\nmod a;\n", &[a]), [""; 0]);
        let found = found_below("mod a;\nfn near() {}\n", &[a]);
        assert_eq!(
            found,
            ["crates/x/src/a.rs:1: imports `near` from crates/x/src/lib.rs: move it down"]
        );
    }

    #[test]
    fn a_crate_of_many_files_states_its_layers() {
        let names: Vec<_> = (0..MAX_FILES_WITHOUT_LAYERS).map(|n| format!("m{n}.rs")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(found_below("", &files[1..]), [""; 0]);
        let found = found_below("", &files);
        assert!(found[0].starts_with("crates/x/src/lib.rs:1: state the layers"), "{found:?}");
    }

    #[test]
    fn tests_may_import_everything() {
        let b = ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }");
        assert_eq!(found("//   a\n//   b\n", &[A, b]), [""; 0]);
        assert_eq!(
            found_below("#![cfg(test)]\nfn f() {}\nmod a;", &[("a.rs", "use crate::f;")]),
            [""; 0]
        );
    }
}
