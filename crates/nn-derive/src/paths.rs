//! The paths under which the deriving crate finds `nn` and `parallel`.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span};
use syn::{Error, Path, Result, parse_quote};

/// `::nn`, or `::sluice::nn`, by whichever name the crate depends on one of them.
pub(crate) fn nn() -> Result<Path> {
    found("nn", "nn", "module")
}

/// `::parallel`, or `::sluice::data`, by whichever name the crate depends on one of them.
pub(crate) fn parallel() -> Result<Path> {
    found("parallel", "data", "collate")
}

/// The path of a package, or of the module of `sluice` that exports it.
fn found(package: &str, module: &str, attribute: &str) -> Result<Path> {
    if let Some(own) = dependency(package) {
        return Ok(parse_quote!(::#own));
    }
    if let Some(sluice) = dependency("sluice") {
        let module = Ident::new(module, Span::call_site());
        return Ok(parse_quote!(::#sluice::#module));
    }
    let help = format!(
        "the derive finds neither `{package}` nor `sluice` among the dependencies in Cargo.toml: \
         say where `{package}` is by `#[{attribute}(crate = path)]`"
    );
    Err(Error::new(Span::call_site(), help))
}

/// The name under which the crate knows a package. The package itself knows itself by its own name:
/// its root says `extern crate self as ..`.
fn dependency(package: &str) -> Option<Ident> {
    let name = match crate_name(package).ok()? {
        FoundCrate::Itself => package.replace('-', "_"),
        FoundCrate::Name(name) => name,
    };
    Some(Ident::new(&name, Span::call_site()))
}
