//! `wmma.load`, `wmma.mma` and `wmma.store`, which are read as loads, products (`mma.sync`) and stores.
//!
//! PTX leaves open which lane has which elements in which register (PTX ISA 9.0, 9.7.14.4.1). Here it
//! is as in `mma.sync`: see [`fragment`].

mod fragment;
mod memory;
mod product;

pub(super) use memory::{load, store};
pub(super) use product::multiply;

use super::expander::Expander;
use super::matrix::what_is_missing;
use crate::error::{Error, ErrorKind};

/// The refusal of a form that is not supported, by its name if it has one.
fn refusal(expander: &Expander<'_, '_>, modifiers: &str) -> Error {
    let missing = what_is_missing(modifiers).unwrap_or("wmma of this shape and these types");
    expander.refusal(ErrorKind::Unsupported(missing))
}
