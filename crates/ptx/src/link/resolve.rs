//! Which definition a name means, and what names of one module only are called in the linked one.

use std::collections::{HashMap, HashSet};

use super::LinkError;
use super::object::{ItemKind, Linkage, Object, is_provided};

/// A definition: the number of its module, and that of the item in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Definition {
    pub(super) object: usize,
    pub(super) item: usize,
}

/// The modules without those of libraries that nobody needs.
pub(super) fn without_unneeded(objects: Vec<Object<'_>>) -> Vec<Object<'_>> {
    let mut is_taken: Vec<bool> = objects.iter().map(|object| !object.is_library).collect();
    loop {
        let taken = || objects.iter().zip(&is_taken).filter(|(_, taken)| **taken);
        let defined: HashSet<&str> = taken().flat_map(|(object, _)| exports(object)).collect();
        let missing = taken().flat_map(|(object, _)| object.undefined());
        let missing: HashSet<&str> = missing.filter(|name| !defined.contains(name)).collect();
        let needed = objects.iter().zip(&is_taken).position(|(object, taken)| {
            !taken && exports(object).any(|name| missing.contains(name))
        });
        match needed {
            Some(needed) => is_taken[needed] = true,
            None => break,
        }
    }
    let taken = objects.into_iter().zip(is_taken).filter(|(_, taken)| *taken);
    taken.map(|(object, _)| object).collect()
}

/// The names that a module defines for others.
fn exports<'s>(object: &Object<'s>) -> impl Iterator<Item = &'s str> {
    let linkages = object.linkages();
    let is_exported = move |name: &&str| linkages.get(name) != Some(&Linkage::Local);
    object.definitions().map(|item| item.name).collect::<Vec<_>>().into_iter().filter(is_exported)
}

/// The outcome of linking.
pub(super) struct Resolution<'s> {
    /// The definitions that the linked module has, in the order of the inputs.
    pub(super) definitions: Vec<Definition>,
    /// Declarations of what the driver provides, and of dynamic shared memory.
    pub(super) declarations: Vec<Definition>,
    /// For each module, the new names of those that another one has too.
    pub(super) renamed: Vec<HashMap<&'s str, String>>,
}

impl<'s> Resolution<'s> {
    /// Finds the definition of each name.
    ///
    /// # Errors
    /// The first name with two definitions, or all that have none.
    pub(super) fn new(objects: &[Object<'s>]) -> Result<Resolution<'s>, LinkError> {
        let shared = shared_definitions(objects)?;
        check_defined(objects, &shared)?;
        let mut taken: HashSet<String> = shared.keys().map(|name| (*name).to_owned()).collect();
        let declarations = declarations(objects, &shared);
        taken.extend(declarations.iter().map(|at| objects[at.object].items[at.item].name.into()));
        let mut definitions = Vec::new();
        let mut renamed = Vec::with_capacity(objects.len());
        for (number, object) in objects.iter().enumerate() {
            let linkages = object.linkages();
            let mut new_names = HashMap::new();
            for (index, item) in object.items.iter().enumerate() {
                let own = Definition { object: number, item: index };
                if !item.is_definition {
                    continue;
                }
                if !is_local(linkages[item.name], item.kind) {
                    definitions.extend((shared[item.name] == own).then_some(own));
                    continue;
                }
                definitions.push(own);
                if !taken.insert(item.name.to_owned()) {
                    new_names.insert(item.name, fresh(item.name, &mut taken));
                }
            }
            renamed.push(new_names);
        }
        Ok(Resolution { definitions, declarations, renamed })
    }
}

/// Whether a name is its module's own. Kernels are found by their names, whatever directive they
/// have.
fn is_local(linkage: Linkage, kind: ItemKind) -> bool {
    linkage == Linkage::Local && kind != ItemKind::Kernel
}

/// A name that nothing has, made of another.
fn fresh(name: &str, taken: &mut HashSet<String>) -> String {
    let mut candidates = (1_u32..).map(|number| format!("{name}${number}"));
    let free = candidates.find(|candidate| !taken.contains(candidate)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// The definition of each name that modules share.
fn shared_definitions<'s>(
    objects: &[Object<'s>],
) -> Result<HashMap<&'s str, Definition>, LinkError> {
    let mut found: HashMap<&str, (Definition, Linkage)> = HashMap::new();
    for (number, object) in objects.iter().enumerate() {
        let linkages = object.linkages();
        for (index, item) in object.items.iter().enumerate() {
            let linkage = linkages[item.name];
            if !item.is_definition || is_local(linkage, item.kind) {
                continue;
            }
            let own = Definition { object: number, item: index };
            let Some(&(first, before)) = found.get(item.name) else {
                found.insert(item.name, (own, linkage));
                continue;
            };
            if gives_way(before) && (!gives_way(linkage) || is_larger(objects, own, first)) {
                found.insert(item.name, (own, linkage));
            } else if !gives_way(before) && !gives_way(linkage) {
                return Err(LinkError::Duplicate {
                    name: item.name.to_owned(),
                    first: objects[first.object].name.to_owned(),
                    second: object.name.to_owned(),
                });
            }
        }
    }
    Ok(found.into_iter().map(|(name, (definition, _))| (name, definition)).collect())
}

fn gives_way(linkage: Linkage) -> bool {
    matches!(linkage, Linkage::Weak | Linkage::Common)
}

/// Whether one definition is a common variable and has more elements than another.
fn is_larger(objects: &[Object<'_>], one: Definition, other: Definition) -> bool {
    let elements = |at: Definition| {
        let object = &objects[at.object];
        let item = &object.items[at.item];
        let extents = item.rest.clone().filter_map(|at| object.text(at).parse::<u64>().ok());
        (item.linkage == Linkage::Common).then(|| extents.fold(1, u64::saturating_mul))
    };
    elements(one) > elements(other)
}

fn check_defined(
    objects: &[Object<'_>],
    shared: &HashMap<&str, Definition>,
) -> Result<(), LinkError> {
    let mut names: Vec<(String, String)> = Vec::new();
    for object in objects {
        for name in object.undefined().filter(|name| !shared.contains_key(name)) {
            if !names.iter().any(|(known, _)| known == name) {
                names.push((name.to_owned(), object.name.to_owned()));
            }
        }
    }
    if names.is_empty() { Ok(()) } else { Err(LinkError::Undefined { names }) }
}

/// A declaration of each name that the driver gives a meaning to.
fn declarations(objects: &[Object<'_>], shared: &HashMap<&str, Definition>) -> Vec<Definition> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        for (index, item) in object.items.iter().enumerate() {
            let is_the_drivers = match item.kind {
                ItemKind::DynamicShared => true,
                _ => !item.is_definition && is_provided(item.name),
            };
            if is_the_drivers && !shared.contains_key(item.name) && seen.insert(item.name) {
                found.push(Definition { object: number, item: index });
            }
        }
    }
    found
}
