//! The table from PyTorch's modules to the library's: the signature of the constructor, and the
//! module that it makes. A file for each family; a new one is a list of rows more in [`table`].

mod activations;
mod images;
mod layers;
mod losses;
mod module_row;
mod recurrent;
mod transformers;

use std::collections::HashMap;
use std::sync::OnceLock;

use tensor::Device;

use self::module_row::{BoundCall, BuiltModule, ModuleRow};
use super::signature::OperationSignature;
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

/// Builds a module from the arguments of PyTorch's constructor.
///
/// # Errors
/// There is no such module, or its constructor has no such arguments; the library gave an error.
pub(crate) fn build(
    name: &str,
    args: &[CaseArgument],
    kwargs: &[(String, CaseArgument)],
    device: Device,
) -> BuiltModule {
    let unsupported = |why: &str| CaseFailure::Unsupported(format!("{name}: {why}"));
    let row = table().get(name).ok_or_else(|| unsupported("no such module"))?;
    let arguments = OperationSignature::parse(row.signature).bind(args, kwargs);
    let arguments = arguments.map_err(|why| unsupported(&why))?;
    (row.build)(&BoundCall { device, arguments })
}

/// The names of all modules.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    table().keys().copied()
}

/// The rows by name.
fn table() -> &'static HashMap<&'static str, &'static ModuleRow> {
    static TABLE: OnceLock<HashMap<&'static str, &'static ModuleRow>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let families = [
            activations::ROWS,
            images::ROWS,
            layers::ROWS,
            losses::ROWS,
            losses::OF_PAIRS,
            losses::OTHERS,
            recurrent::ROWS,
            transformers::ROWS,
        ];
        families.into_iter().flatten().map(|row| (row.name, row)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constructor_can_be_read() {
        for row in table().values() {
            OperationSignature::parse(row.signature);
        }
    }
}
