//! What the floors export is found under `sluice`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Item, UseTree, Visibility};

/// The public names at the root of the crates that a program would otherwise import itself.
const FLOORS: [&str; 3] = ["tensor", "nn", "parallel"];

#[test]
fn each_public_name_of_tensor_nn_and_parallel_is_exported_by_the_face() {
    let face: BTreeSet<String> = sources(&crates().join("sluice/src"))
        .iter()
        .flat_map(|source| names_in(source, true))
        .collect();
    let missing: Vec<String> = FLOORS
        .iter()
        .flat_map(|floor| names_in(&crates().join(floor).join("src/lib.rs"), false))
        .filter(|name| !face.contains(name))
        .collect();
    assert!(missing.is_empty(), "not exported by sluice: {missing:?}");
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// The names that a file exports at its top: by `pub use`, and as public modules; with `all`, those
/// of public functions and types too.
fn names_in(file: &Path, all: bool) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a source");
    let parsed = syn::parse_file(&text).expect("Rust");
    let mut names = Vec::new();
    for item in parsed.items {
        match item {
            Item::Use(item) if is_public(&item.vis) => used(&item.tree, &mut names),
            Item::Mod(item) if is_public(&item.vis) => names.push(item.ident.to_string()),
            Item::Enum(item) if all && is_public(&item.vis) => names.push(item.ident.to_string()),
            Item::Type(item) if all && is_public(&item.vis) => names.push(item.ident.to_string()),
            _ => {}
        }
    }
    names
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn used(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => used(&path.tree, names),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) => names.push(rename.rename.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, names)),
        UseTree::Glob(_) => {}
    }
}
