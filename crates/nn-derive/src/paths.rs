//! The path under which the deriving crate finds `nn`.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span};
use syn::{Error, Path, Result, parse_quote};

/// `::nn`, or `::sluice::nn`, by whichever name the crate depends on one of them.
pub(crate) fn nn() -> Result<Path> {
    if let Some(nn) = dependency("nn") {
        return Ok(parse_quote!(::#nn));
    }
    if let Some(sluice) = dependency("sluice") {
        return Ok(parse_quote!(::#sluice::nn));
    }
    let help = "the derive finds neither `nn` nor `sluice` among the dependencies in Cargo.toml: \
                say where `nn` is by `#[module(crate = path)]`";
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
