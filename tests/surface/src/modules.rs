//! The modules of a crate, from its files.

use std::fmt;

use syn::{Attribute, ImplItem, Item};

use crate::text::text;

/// Why a crate cannot be read.
#[derive(Debug)]
pub struct UnreadableSource {
    /// The file that is missing or no Rust.
    pub file: String,
    /// The reason why it cannot be read.
    pub reason: String,
}

impl fmt::Display for UnreadableSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.reason)
    }
}

impl std::error::Error for UnreadableSource {}

/// A module, with what it declares.
pub(crate) struct CrateModule {
    pub(crate) parent: Option<usize>,
    pub(crate) name: String,
    pub(crate) file: String,
    /// The file's text, to find lines in.
    pub(crate) text: String,
    pub(crate) items: Vec<Item>,
}

impl CrateModule {
    /// The line, from 1, in which the file declares something: `struct` and its name.
    pub(crate) fn line_of(&self, keyword: &str, name: &str) -> usize {
        let declared = format!("{keyword} {name}");
        let is_end = |c: char| !c.is_alphanumeric() && c != '_';
        let begins = |line: &str| {
            let rest = line.split_once(&declared).map(|(_, rest)| rest);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(is_end))
        };
        self.text.lines().position(begins).map_or(1, |line| line + 1)
    }
}

/// All modules of the crate whose root is in `root`, without the items that have an attribute which
/// leaves them out; the root is the first.
pub(crate) fn load(
    root: &str,
    read: &dyn Fn(&str) -> Option<String>,
    leaves_out: fn(&Attribute) -> bool,
) -> Result<Vec<CrateModule>, UnreadableSource> {
    let mut loader = Loader { read, leaves_out, modules: Vec::new() };
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    loader.file(None, String::new(), root, folder)?;
    Ok(loader.modules)
}

struct Loader<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    leaves_out: fn(&Attribute) -> bool,
    modules: Vec<CrateModule>,
}

impl Loader<'_> {
    /// Reads a file and the modules in it; its children's files lie in `folder`.
    fn file(
        &mut self,
        parent: Option<usize>,
        name: String,
        file: &str,
        folder: &str,
    ) -> Result<(), UnreadableSource> {
        let unreadable = |reason: String| UnreadableSource { file: file.to_owned(), reason };
        let text = (self.read)(file).ok_or_else(|| unreadable("there is no such file".into()))?;
        let parsed = syn::parse_file(&text).map_err(|error| unreadable(error.to_string()))?;
        let is_left_out = parsed.attrs.iter().any(self.leaves_out);
        let items = if is_left_out { Vec::new() } else { parsed.items };
        self.module(CrateModule { parent, name, file: file.to_owned(), text, items }, folder)
    }

    /// Enters a module and goes on to those in it.
    fn module(&mut self, mut module: CrateModule, folder: &str) -> Result<(), UnreadableSource> {
        let leaves_out = self.leaves_out;
        module.items.retain(|item| !attributes(item).iter().any(leaves_out));
        for item in &mut module.items {
            let Item::Impl(item) = item else { continue };
            item.items.retain(|item| !member_attributes(item).iter().any(leaves_out));
        }
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
                    self.module(
                        CrateModule { parent: Some(here), name, file, text, items },
                        &below,
                    )?;
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

/// Whether an attribute leaves an item to tests, loom and fuzzers.
pub(crate) fn is_of_tests(attribute: &Attribute) -> bool {
    let text = text(&attribute.meta);
    let conditions = ["test", "doctest", "loom", "fuzzing", "any(test,fuzzing)"];
    conditions.iter().any(|condition| text == format!("cfg({condition})"))
        || text.starts_with("cfg(all(test,")
}

/// The same, or leaves it out of the documentation: what a program does not get, or is not told of.
pub(crate) fn is_hidden(attribute: &Attribute) -> bool {
    is_of_tests(attribute) || text(&attribute.meta) == "doc(hidden)"
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

fn member_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        _ => &[],
    }
}
