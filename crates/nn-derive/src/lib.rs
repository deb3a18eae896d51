//! The derives of `nn::Module` and `parallel::Collate`.
//!
//! Programs depend on `nn`, `parallel` or `sluice`, which export them; what fields of a module may
//! be is said in `nn::fields`.
#![forbid(unsafe_code)]

mod attributes;
mod collate;
mod expand;
mod paths;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Says what a struct is made of: implements `nn::Module`, and [`Display`](std::fmt::Display) in
/// PyTorch's printed form.
///
/// Each field is a part of the module under its own name, those of a tuple struct under `0`, `1`,
/// ..: a tensor is a parameter, a module is a module inside, and plain values are shown in the
/// printed form.
///
/// # Attributes of fields
/// - `#[module(buffer)]`: the tensor is a buffer and no parameter.
/// - `#[module(training)]`: the `bool` says whether the module behaves as in training; `train` and
///   `eval` set it.
/// - `#[module(rename = "name")]`: the part has another name.
/// - `#[module(skip)]`: the field is no part of the module. It may be of any type.
///
/// # Attributes of the struct
/// - `#[module(extra_repr = path)]`: the function `path`, of `&Self`, gives what the printed form
///   says beside the modules inside.
/// - `#[module(crate = path)]`: `nn` is found there.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::module(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Says how samples are joined to a batch: implements `parallel::Collate`.
///
/// Each field of the struct is joined by its own type's `Collate`. The batch is a struct of the same
/// fields, each of which is the batch of the samples' field; for `Image` it is called `ImageBatch`.
/// It can be pinned, moved to a device and split, if its fields can.
///
/// # Attributes of the struct
/// - `#[collate(batch = Name)]`: the struct of batches has this name.
/// - `#[collate(crate = path)]`: `parallel` is found there.
#[proc_macro_derive(Collate, attributes(collate))]
pub fn derive_collate(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    collate::collate(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
