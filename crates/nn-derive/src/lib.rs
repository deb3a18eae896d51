//! The derives of `nn::Module` and `parallel::Collate`.
//!
//! Programs depend on `nn`, `parallel` or `sluice`, which export them; what fields of a module may
//! be is said in `nn::fields`.
#![forbid(unsafe_code)]

mod attributes;
mod collate;
mod expand;
mod parts;
mod paths;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Says what a struct or an enum is made of: implements `nn::Module`, and [`Display`](std::fmt::Display) in
/// PyTorch's printed form.
///
/// Each field is a part of the module under its own name, those of a tuple struct under `0`, `1`,
/// ..: a tensor is a parameter, a module is a module inside, and plain values are shown in the
/// printed form.
///
/// # Enums
/// An enum is the module that its variant is. A variant of one unnamed field is the module in that
/// field, without a name in between: of `enum Norm { Layer(LayerNorm), Identity }` as the field
/// `norm`, the state has `norm.weight`. Other variants are as structs, with their own names in the
/// printed form.
///
/// # Attributes of fields
/// - `#[module(buffer)]`: the tensor is a buffer and no parameter; with
///   `#[module(buffer, persistent = false)]` it is no part of the state that is saved.
/// - `#[module(training)]`: the `bool` says whether the module behaves as in training; `train` and
///   `eval` set it.
/// - `#[module(rename = "name")]`: the part has another name.
/// - `#[module(skip)]`: the field is no part of the module. It may be of any type.
///
/// # Attributes of the struct or enum
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
