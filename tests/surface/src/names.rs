//! The items that have a path which a program can write, and these paths.

use std::collections::BTreeMap;

use syn::{Item, Visibility};

use crate::modules::CrateModule;
use crate::scope::{ItemPlace, ModuleScopes, imported};

/// The shortest public path of each item that has one.
pub(crate) fn public(
    name: &str,
    modules: &[CrateModule],
    scopes: &ModuleScopes,
) -> BTreeMap<ItemPlace, String> {
    let mut exports = Exports { modules, scopes, found: BTreeMap::new(), open: Vec::new() };
    exports.enter_module(0, name);
    exports.found
}

/// The public items that a walk from the root has found so far.
struct Exports<'a> {
    modules: &'a [CrateModule],
    scopes: &'a ModuleScopes,
    found: BTreeMap<ItemPlace, String>,
    /// The modules that the walk is in.
    open: Vec<usize>,
}

impl Exports<'_> {
    /// Enters all that is public in a module that itself is, under `path`.
    fn enter_module(&mut self, module: usize, path: &str) {
        if self.open.contains(&module) {
            return;
        }
        self.open.push(module);
        for item in &self.modules[module].items {
            if let Some((name, visibility)) = named(item)
                && is_public(visibility)
            {
                self.enter((module, name.clone()), &format!("{path}::{name}"));
            }
            if let Item::Use(item) = item
                && is_public(&item.vis)
            {
                for (target, name) in imported(&item.tree) {
                    if name == "*" {
                        if let Some(target) = self.scopes.module(module, &target) {
                            self.enter_module(target, path);
                        }
                    } else if let Some(place) = self.scopes.item_or_module(module, &target) {
                        self.enter(place, &format!("{path}::{name}"));
                    }
                }
            }
        }
        self.open.pop();
    }

    /// Enters an item, and what is public in it if it is a module.
    fn enter(&mut self, place: ItemPlace, path: &str) {
        if let Some(child) = self.scopes.child(place.0, &place.1) {
            self.enter_module(child, path);
        }
        let known = self.found.entry(place).or_insert_with(|| path.to_owned());
        if path.len() < known.len() {
            path.clone_into(known);
        }
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
