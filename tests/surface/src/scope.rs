//! The meaning of the names in the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Item, UseTree};

use crate::modules::CrateModule;

/// A module and the name of an item in it.
pub(crate) type ItemPlace = (usize, String);

/// The names of all modules of a crate.
pub(crate) struct ModuleScopes(Vec<ModuleScope>);

/// The names of one module.
#[derive(Default)]
struct ModuleScope {
    parent: Option<usize>,
    name: String,
    children: BTreeMap<String, usize>,
    declared: BTreeSet<String>,
    /// The path behind each name that a `use` brings in.
    imported: BTreeMap<String, Vec<String>>,
    /// The paths of the modules all of whose names a `use` brings in.
    globs: Vec<Vec<String>>,
}

impl ModuleScopes {
    pub(crate) fn new(modules: &[CrateModule]) -> ModuleScopes {
        let mut scopes: Vec<_> = modules.iter().map(ModuleScope::new).collect();
        for (index, module) in modules.iter().enumerate() {
            let Some(parent) = module.parent else { continue };
            scopes[parent].children.insert(module.name.clone(), index);
        }
        for (index, module) in modules.iter().enumerate() {
            for name in exported_macros(module) {
                let mut path = path_of(modules, index);
                path.push(name.clone());
                scopes[0].imported.entry(name).or_insert(path);
            }
        }
        ModuleScopes(scopes)
    }

    /// The module that declares what a path means in the module `from`, and the name that it has
    /// there. None for a path to a module, and for one to another crate.
    ///
    /// What follows after an item, as a variant after its enum, is left aside.
    pub(crate) fn declaration(&self, from: usize, path: &[String]) -> Option<ItemPlace> {
        match self.find(from, path, &mut BTreeSet::new())? {
            PathTarget::Item(place) => Some(place),
            PathTarget::Module(_) => None,
        }
    }

    /// The same for a path to an item or a module, which its parent declares.
    pub(crate) fn item_or_module(&self, from: usize, path: &[String]) -> Option<ItemPlace> {
        match self.find(from, path, &mut BTreeSet::new())? {
            PathTarget::Item(place) => Some(place),
            PathTarget::Module(module) => {
                let ModuleScope { parent, name, .. } = &self.0[module];
                Some(((*parent)?, name.clone()))
            }
        }
    }

    /// The module that a path names by modules alone.
    pub(crate) fn module(&self, from: usize, path: &[String]) -> Option<usize> {
        let (module, rest) = self.walk(from, path);
        rest.is_empty().then_some(module)
    }

    /// The module of that name in a module.
    pub(crate) fn child(&self, module: usize, name: &str) -> Option<usize> {
        self.0[module].children.get(name).copied()
    }

    /// `passed` are the places that were passed on the way here: of `use` declarations that lead in
    /// a circle each is passed once.
    fn find(
        &self,
        from: usize,
        path: &[String],
        passed: &mut BTreeSet<ItemPlace>,
    ) -> Option<PathTarget> {
        let (module, rest) = self.walk(from, path);
        let Some(name) = rest.first() else { return Some(PathTarget::Module(module)) };
        let place = (module, name.clone());
        let scope = &self.0[module];
        if scope.declared.contains(&place.1) {
            return Some(PathTarget::Item(place));
        }
        if !passed.insert(place.clone()) {
            return None;
        }
        if let Some(path) = scope.imported.get(&place.1) {
            return self.find(module, &[path, &rest[1..]].concat(), passed);
        }
        let through_glob = scope.globs.iter().find_map(|glob| {
            let found = self.find(module, &[glob, rest].concat(), passed);
            found.filter(|found| self.is_declared(found))
        });
        // What a module has and no item of it declares, a macro does.
        let is_within_crate = rest.len() < path.len();
        through_glob.or_else(|| is_within_crate.then_some(PathTarget::Item(place)))
    }

    /// Whether an item that was found is one that is written down, and not taken for a macro's.
    fn is_declared(&self, found: &PathTarget) -> bool {
        match found {
            PathTarget::Item((module, name)) => self.0[*module].declared.contains(name),
            PathTarget::Module(_) => false,
        }
    }

    /// Goes along a path as far as it names modules: the last one, and what is left of the path.
    fn walk<'a>(&self, from: usize, mut path: &'a [String]) -> (usize, &'a [String]) {
        let mut module = from;
        while let Some((segment, rest)) = path.split_first() {
            let next = match segment.as_str() {
                "crate" | "$crate" => Some(0),
                "self" | "Self" => Some(module),
                "super" => self.0[module].parent,
                name => self.child(module, name),
            };
            let Some(next) = next else { break };
            (module, path) = (next, rest);
        }
        (module, path)
    }
}

/// The item that a path leads to.
enum PathTarget {
    Item(ItemPlace),
    Module(usize),
}

impl ModuleScope {
    fn new(module: &CrateModule) -> ModuleScope {
        let (parent, name) = (module.parent, module.name.clone());
        let mut scope = ModuleScope { parent, name, ..ModuleScope::default() };
        for item in &module.items {
            scope.declared.extend(declared(item));
            let Item::Use(item) = item else { continue };
            for (path, name) in imported(&item.tree) {
                if name == "*" {
                    scope.globs.push(path);
                } else {
                    scope.imported.entry(name).or_insert(path);
                }
            }
        }
        scope
    }
}

/// The path of a module from the root on.
fn path_of(modules: &[CrateModule], module: usize) -> Vec<String> {
    match modules[module].parent {
        None => vec!["crate".to_owned()],
        Some(parent) => {
            let mut path = path_of(modules, parent);
            path.push(modules[module].name.clone());
            path
        }
    }
}

/// The macros of a module that are named from the root.
fn exported_macros(module: &CrateModule) -> impl Iterator<Item = String> {
    let is_export = |attribute: &Attribute| attribute.path().is_ident("macro_export");
    module
        .items
        .iter()
        .filter_map(move |item| match item {
            Item::Macro(item) if item.attrs.iter().any(is_export) => Some(item.ident.as_ref()?),
            _ => None,
        })
        .map(ToString::to_string)
}

/// The name that an item declares, other than that of a module.
fn declared(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
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
