//! The tables that the crate includes: its modules, and which of them holds an entry.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;

/// A module to be embedded: an image that a driver loads as a whole.
pub(crate) struct EmbeddedModule {
    pub(crate) name: String,
    pub(crate) entries: Vec<String>,
    /// The file that the crate embeds: the image, compressed.
    pub(crate) packed: PathBuf,
}

/// Rust source of `MODULES`, and of `ENTRIES` in the order of names.
pub(crate) fn render(modules: &[EmbeddedModule]) -> Result<String, Box<dyn Error>> {
    let mut source = format!("static MODULES: [KernelModule; {}] = [\n", modules.len());
    let mut owners = BTreeMap::new();
    for (index, EmbeddedModule { name, entries, packed }) in modules.iter().enumerate() {
        writeln!(
            source,
            "KernelModule {{ name: {name:?}, entries: &{entries:?}, \
             image: Packed::new(include_bytes!({packed:?})) }},"
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
