//! The functions of `scalar.cu`, which printed kernels contain.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use crate::{pack, ptx};

/// Rust source of `ITEMS`, the text of all functions and variables in the order of the file; and of
/// `FUNCTIONS` in the order of names, with the place of each and what else a text that contains it
/// needs.
pub(crate) fn render(file: &ptx::PtxFile, out: &Path) -> Result<String, Box<dyn Error>> {
    let (mut text, mut places) = (String::new(), Vec::new());
    for (_, item) in file.items() {
        places.push(text.len()..text.len() + item.len());
        text += item;
    }
    let packed = out.join("scalar.ptx.lz4");
    pack(text.as_bytes(), &packed)?;
    let mut source = format!(
        "static ITEMS: Packed = Packed::new(include_bytes!({packed:?}));\n\
         static PLACES: &[Range<usize>] = &{places:?};\n\
         static FUNCTIONS: &[(&str, ScalarFunction)] = &[\n"
    );
    let mut functions: Vec<(&str, usize)> =
        file.items().enumerate().map(|(index, (name, _))| (name, index)).collect();
    functions.retain(|(name, _)| !name.starts_with('_'));
    functions.sort_unstable();
    for (name, index) in functions {
        let mut needs = file.needed_by(name);
        needs.retain(|&needed| needed != index);
        writeln!(source, "({name:?}, ScalarFunction {{ item: {index}, needs: &{needs:?} }}),")?;
    }
    Ok(source + "];\n")
}
