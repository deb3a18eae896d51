//! Which items have a path that a program can write, and what that is.

use std::collections::BTreeMap;

use syn::{Item, UseTree, Visibility};

use crate::modules::CrateModule;

/// A module and the name of an item in it.
pub(crate) type ItemPlace = (usize, String);

/// The shortest public path of each item that has one.
pub(crate) fn public(name: &str, modules: &[CrateModule]) -> BTreeMap<ItemPlace, String> {
    let mut found = BTreeMap::new();
    export(modules, 0, name, &mut found, &mut Vec::new());
    found
}

/// Enters all that is public in a module that itself is, under `path`.
fn export(
    modules: &[CrateModule],
    module: usize,
    path: &str,
    found: &mut BTreeMap<ItemPlace, String>,
    open: &mut Vec<usize>,
) {
    if open.contains(&module) {
        return;
    }
    open.push(module);
    for item in &modules[module].items {
        if let Some((name, visibility)) = named(item)
            && is_public(visibility)
        {
            reach(modules, (module, name.clone()), &format!("{path}::{name}"), found, open);
        }
        if let Item::Use(item) = item
            && is_public(&item.vis)
        {
            for (target, name) in imported(&item.tree) {
                if name == "*" {
                    if let Some(target) = walk(modules, module, &target) {
                        export(modules, target, path, found, open);
                    }
                } else if let Some(place) = resolve_path(modules, module, &target, 0) {
                    reach(modules, place, &format!("{path}::{name}"), found, open);
                }
            }
        }
    }
    open.pop();
}

/// Enters an item, and what is public in it if it is a module.
fn reach(
    modules: &[CrateModule],
    place: ItemPlace,
    path: &str,
    found: &mut BTreeMap<ItemPlace, String>,
    open: &mut Vec<usize>,
) {
    if let Some(child) = child(modules, place.0, &place.1) {
        export(modules, child, path, found, open);
    }
    let known = found.entry(place).or_insert_with(|| path.to_owned());
    if path.len() < known.len() {
        path.clone_into(known);
    }
}

/// Where the item is declared that `name` means in a module.
pub(crate) fn resolve(modules: &[CrateModule], module: usize, name: &str) -> Option<ItemPlace> {
    resolve_in(modules, module, name, 0)
}

fn resolve_in(
    modules: &[CrateModule],
    module: usize,
    name: &str,
    depth: usize,
) -> Option<ItemPlace> {
    let declares = |item: &Item| named(item).is_some_and(|(own, _)| own == name);
    if modules[module].items.iter().any(declares) {
        return Some((module, name.to_owned()));
    }
    let uses = modules[module].items.iter().filter_map(|item| match item {
        Item::Use(item) => Some(imported(&item.tree)),
        _ => None,
    });
    let (target, _) = uses.flatten().find(|(_, own)| own == name)?;
    resolve_path(modules, module, &target, depth)
}

fn resolve_path(
    modules: &[CrateModule],
    module: usize,
    path: &[String],
    depth: usize,
) -> Option<ItemPlace> {
    // Imports of other crates lead nowhere, and a circle of imports would not end.
    if depth > 8 {
        return None;
    }
    let (name, before) = path.split_last()?;
    let target = walk(modules, module, before)?;
    if target == module && before.is_empty() {
        let is_here = child(modules, module, name).is_some();
        return is_here.then(|| (module, name.clone()));
    }
    resolve_in(modules, target, name, depth + 1)
}

/// The module that a path leads to from another one.
fn walk(modules: &[CrateModule], from: usize, path: &[String]) -> Option<usize> {
    path.iter().try_fold(from, |module, segment| match segment.as_str() {
        "crate" => Some(0),
        "self" => Some(module),
        "super" => modules[module].parent,
        name => child(modules, module, name),
    })
}

pub(crate) fn child(modules: &[CrateModule], module: usize, name: &str) -> Option<usize> {
    modules.iter().position(|child| child.parent == Some(module) && child.name == name)
}

/// The paths that an import names, each with the name that it has afterwards; `*` for all.
pub(crate) fn imported(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            let prepend = |(mut rest, name): (Vec<String>, String)| {
                rest.insert(0, path.ident.to_string());
                (rest, name)
            };
            imported(&path.tree).into_iter().map(prepend).collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(name) => vec![(vec![name.ident.to_string()], name.rename.to_string())],
        UseTree::Glob(_) => vec![(Vec::new(), "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(imported).collect(),
    }
}

/// The name and the visibility of what can be called, called on, or looked into.
fn named(item: &Item) -> Option<(String, &Visibility)> {
    let (name, visibility) = match item {
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Fn(item) => (&item.sig.ident, &item.vis),
        Item::Mod(item) => (&item.ident, &item.vis),
        Item::Struct(item) => (&item.ident, &item.vis),
        Item::Trait(item) => (&item.ident, &item.vis),
        Item::Type(item) => (&item.ident, &item.vis),
        Item::Union(item) => (&item.ident, &item.vis),
        _ => return None,
    };
    Some((name.to_string(), visibility))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}
