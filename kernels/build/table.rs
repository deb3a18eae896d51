//! The tables that the crate includes: its modules, and which of them holds an entry.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One kernel file.
pub(crate) struct Module {
    pub(crate) name: String,
    entries: Vec<String>,
    /// Where what the crate embeds is written to.
    pub(crate) image: PathBuf,
}

impl Module {
    /// The module of the PTX file at `path`, which contains `text`.
    pub(crate) fn new(path: &Path, text: &str, out: &Path) -> Result<Module, Box<dyn Error>> {
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| format!("{} is not UTF-8", path.display()))?.to_owned();
        let entries: Vec<_> = entries(text).map(str::to_owned).collect();
        if entries.is_empty() {
            return Err(format!("{} has no .entry", path.display()).into());
        }
        let image = out.join(&name).with_extension("image");
        Ok(Module { name, entries, image })
    }
}

/// Rust source of `MODULES`, and of `ENTRIES` in the order of names.
pub(crate) fn render(modules: &[Module]) -> Result<String, Box<dyn Error>> {
    let mut source = String::from("static MODULES: &[Module] = &[\n");
    let mut owners = BTreeMap::new();
    for (index, Module { name, entries, image }) in modules.iter().enumerate() {
        writeln!(
            source,
            "Module {{ name: {name:?}, image: include_bytes!({image:?}), entries: &{entries:?} }},"
        )?;
        for entry in entries {
            if let Some(other) = owners.insert(entry, index) {
                let other = &modules[other].name;
                return Err(format!("{name} and {other} both have an entry {entry}").into());
            }
        }
    }
    source += "];\nstatic ENTRIES: &[(&str, usize)] = &[\n";
    for (entry, index) in owners {
        writeln!(source, "({entry:?}, {index}),")?;
    }
    Ok(source + "];\n")
}

/// The names of a PTX file's kernels.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(".entry ")?;
        rest.split('(').next().map(str::trim)
    })
}
