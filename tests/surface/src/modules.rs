//! The modules of a crate, from its files.

use syn::{Attribute, Item};

use crate::Unreadable;

/// A module, with what it declares.
pub(crate) struct Module {
    pub(crate) parent: Option<usize>,
    pub(crate) name: String,
    pub(crate) file: String,
    /// The file's text, to find lines in.
    pub(crate) text: String,
    pub(crate) items: Vec<Item>,
}

/// All modules of the crate whose root is in `root`; the root is the first.
pub(crate) fn load(
    root: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Module>, Unreadable> {
    let mut loader = Loader { read, modules: Vec::new() };
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    loader.file(None, String::new(), root, folder)?;
    Ok(loader.modules)
}

struct Loader<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    modules: Vec<Module>,
}

impl Loader<'_> {
    /// Reads a file and the modules in it; its children's files lie in `folder`.
    fn file(
        &mut self,
        parent: Option<usize>,
        name: String,
        file: &str,
        folder: &str,
    ) -> Result<(), Unreadable> {
        let unreadable = |reason: String| Unreadable { file: file.to_owned(), reason };
        let text = (self.read)(file).ok_or_else(|| unreadable("there is no such file".into()))?;
        let parsed = syn::parse_file(&text).map_err(|error| unreadable(error.to_string()))?;
        self.module(
            Module { parent, name, file: file.to_owned(), text, items: parsed.items },
            folder,
        )
    }

    /// Enters a module and goes on to those in it.
    fn module(&mut self, mut module: Module, folder: &str) -> Result<(), Unreadable> {
        module.items.retain(|item| !attributes(item).iter().any(leaves_out));
        let (here, file, text) = (self.modules.len(), module.file.clone(), module.text.clone());
        let children: Vec<_> = module
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Mod(child) => {
                    let items = child.content.as_ref().map(|(_, items)| items.clone());
                    Some((child.ident.to_string(), items))
                }
                _ => None,
            })
            .collect();
        self.modules.push(module);
        for (name, items) in children {
            let below = format!("{folder}/{name}");
            match items {
                Some(items) => {
                    let (file, text) = (file.clone(), text.clone());
                    self.module(Module { parent: Some(here), name, file, text, items }, &below)?;
                }
                None => {
                    let beside = format!("{below}.rs");
                    let within = format!("{below}/mod.rs");
                    let file = if (self.read)(&within).is_some() { within } else { beside };
                    self.file(Some(here), name, &file, &below)?;
                }
            }
        }
        Ok(())
    }
}

/// What a program of a user does not get, or is not told of.
pub(crate) fn leaves_out(attribute: &Attribute) -> bool {
    let text = crate::declared::text(&attribute.meta);
    ["cfg(test)", "cfg(doctest)", "cfg(loom)", "doc(hidden)"].contains(&text.as_str())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
