//! Which file of a crate names what another file declares.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, Visibility};

use crate::Import;
use crate::modules::Module;
use crate::names::{child, imported};

/// All imports between the files of a crate, each pair of files once.
pub(crate) fn between_files(modules: &[Module]) -> Vec<Import> {
    let mut found = BTreeMap::new();
    for (here, module) in modules.iter().enumerate() {
        let mut paths = Vec::new();
        for item in &module.items {
            match item {
                Item::Mod(_) => {}
                Item::Use(item) => {
                    let is_reexport = !matches!(item.vis, Visibility::Inherited);
                    let named = imported(&item.tree).into_iter();
                    paths.extend(
                        named
                            .filter(|(_, name)| !is_reexport || says(module, name))
                            .map(|(path, _)| path),
                    );
                }
                item => paths.extend(paths_in(item.to_token_stream())),
            }
        }
        for path in paths {
            let Some((target, name)) = declared_at(modules, here, &path, 0) else {
                continue;
            };
            let (from, to) = (&module.file, &modules[target].file);
            if from != to {
                found.entry((from.clone(), to.clone())).or_insert(name);
            }
        }
    }
    found.into_iter().map(|((from, to), name)| Import { from, to, name }).collect()
}

/// Whether a name stands in a module elsewhere than in its `use` declarations.
fn says(module: &Module, name: &str) -> bool {
    let others = module.items.iter().filter(|item| !matches!(item, Item::Use(_) | Item::Mod(_)));
    others.into_iter().any(|item| holds(item.to_token_stream(), name))
}

fn holds(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => holds(group.stream(), name),
        _ => false,
    })
}

/// All paths of two segments and more in the code of an item, macros' arguments among them.
fn paths_in(tokens: TokenStream) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    finish(&mut path, &mut paths);
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                finish(&mut path, &mut paths);
                colons = 0;
                paths.extend(paths_in(group.stream()));
            }
            _ => {
                finish(&mut path, &mut paths);
                colons = 0;
            }
        }
    }
    finish(&mut path, &mut paths);
    paths
}

fn finish(path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let path = std::mem::take(path);
    if path.len() > 1 {
        paths.push(path);
    }
}

/// The module that declares what a path means in another one, and the name that it has there.
/// What follows after an item, as a variant after its enum, is left aside.
fn declared_at(
    modules: &[Module],
    from: usize,
    path: &[String],
    depth: usize,
) -> Option<(usize, String)> {
    // A circle of imports would not end.
    if depth > 8 {
        return None;
    }
    let mut module = from;
    for (at, segment) in path.iter().enumerate() {
        let next = match segment.as_str() {
            "crate" => Some(0),
            "self" | "Self" => Some(module),
            "super" => modules[module].parent,
            name => child(modules, module, name),
        };
        match next {
            Some(next) => module = next,
            None => return item(modules, module, &path[at..], at == 0, depth),
        }
    }
    // To name a module is to use nothing of it yet.
    None
}

/// The same for a path whose first segment is no module's own child.
fn item(
    modules: &[Module],
    module: usize,
    path: &[String],
    is_first: bool,
    depth: usize,
) -> Option<(usize, String)> {
    let name = &path[0];
    let declares = |item: &Item| declared(item).is_some_and(|own| own == *name);
    if modules[module].items.iter().any(declares) {
        return Some((module, name.clone()));
    }
    let mut globs = Vec::new();
    for item in &modules[module].items {
        let Item::Use(item) = item else { continue };
        for (mut target, own) in imported(&item.tree) {
            if own == *name && target.first() != Some(name) {
                target.extend_from_slice(&path[1..]);
                return declared_at(modules, module, &target, depth + 1);
            } else if own == "*" {
                globs.push(target);
            }
        }
    }
    let through_glob = globs.into_iter().find_map(|mut target| {
        target.extend_from_slice(path);
        declared_at(modules, module, &target, depth + 1)
            .filter(|(found, name)| says_declared(&modules[*found], name))
    });
    // What no item declares, a macro does; a path that only begins so leads to another crate.
    through_glob.or_else(|| (!is_first && depth == 0).then(|| (module, name.clone())))
}

fn says_declared(module: &Module, name: &str) -> bool {
    module.items.iter().any(|item| declared(item).is_some_and(|own| own == name))
}

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
