//! The tables that the crate includes: its modules, and which of them holds an entry.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use crate::pack;

/// The bytes of images after which a group is full. Kernels beside each other are alike, and the
/// compression finds what repeats; but who needs one unpacks its group.
const GROUP: usize = 1 << 19;

/// A module to be embedded: an image that a driver loads as a whole.
pub(crate) struct EmbeddedModule {
    pub(crate) name: String,
    pub(crate) entries: Vec<String>,
    pub(crate) image: Vec<u8>,
}

/// Rust source of `GROUPS`, the images in groups that are compressed together, in files in `out`; of
/// `MODULES`, and of `ENTRIES` in the order of names.
pub(crate) fn render(modules: &[EmbeddedModule], out: &Path) -> Result<String, Box<dyn Error>> {
    let mut groups = vec![Vec::new()];
    let mut places = Vec::new();
    for module in modules {
        if groups.last().is_some_and(|group| group.len() >= GROUP) {
            groups.push(Vec::new());
        }
        let number = groups.len() - 1;
        let start = groups[number].len();
        groups[number].extend(&module.image);
        places.push((number, start..groups[number].len()));
    }
    let mut source = format!("static GROUPS: [Packed; {}] = [\n", groups.len());
    for (number, group) in groups.iter().enumerate() {
        let packed = out.join(format!("kernels.{number}.lz4"));
        pack(group, &packed)?;
        writeln!(source, "Packed::new(include_bytes!({packed:?})),")?;
    }
    writeln!(source, "];\nstatic MODULES: [KernelModule; {}] = [", modules.len())?;
    let mut owners = BTreeMap::new();
    for (index, EmbeddedModule { name, entries, .. }) in modules.iter().enumerate() {
        let (group, place) = &places[index];
        writeln!(
            source,
            "KernelModule {{ name: {name:?}, entries: &{entries:?}, group: {group}, \
             place: {place:?} }},"
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
