//! The parts of a module: the fields of a struct, or of a variant of an enum.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, Member, Path, Result, Type};

use crate::attributes::{self, FieldAttributes, FieldRole};

/// A struct, or a variant of an enum, as a module.
pub(crate) struct ModuleShape<'a> {
    /// The name of the variant; none for a struct.
    pub(crate) variant: Option<&'a Ident>,
    pub(crate) parts: Vec<ModulePart<'a>>,
    /// Whether it is nothing but the module that its only part is.
    pub(crate) is_transparent: bool,
}

/// A field as a part of the module.
pub(crate) struct ModulePart<'a> {
    member: Member,
    /// The variable that has it within a pattern.
    variable: Ident,
    name: String,
    pub(crate) ty: &'a Type,
    pub(crate) role: FieldRole,
}

/// The struct, or the variants of the enum.
pub(crate) fn shapes(input: &DeriveInput) -> Result<Vec<ModuleShape<'_>>> {
    match &input.data {
        Data::Struct(data) => {
            let parts = parts(&data.fields)?;
            Ok(vec![ModuleShape { variant: None, parts, is_transparent: false }])
        }
        Data::Enum(data) if data.variants.is_empty() => {
            Err(Error::new(input.ident.span(), "an enum without variants is no module"))
        }
        Data::Enum(data) => data.variants.iter().map(variant).collect(),
        Data::Union(_) => {
            Err(Error::new(input.ident.span(), "`Module` cannot be derived for a union"))
        }
    }
}

fn variant(variant: &syn::Variant) -> Result<ModuleShape<'_>> {
    attributes::none_of_variant(&variant.attrs)?;
    let parts = parts(&variant.fields)?;
    let is_transparent = match (&variant.fields, &parts[..]) {
        (Fields::Unnamed(_), [only]) => only.role == FieldRole::ByType && only.name == "0",
        _ => false,
    };
    Ok(ModuleShape { variant: Some(&variant.ident), parts, is_transparent })
}

fn parts(fields: &Fields) -> Result<Vec<ModulePart<'_>>> {
    let mut parts = Vec::<ModulePart<'_>>::new();
    for (number, (member, field)) in fields.members().zip(fields).enumerate() {
        let FieldAttributes { role, name } = FieldAttributes::of(field)?;
        if role == FieldRole::Training && parts.iter().any(|part| part.role == role) {
            return Err(Error::new(field.span(), "one field of a module is its training mode"));
        }
        let own = match &member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        let variable = format_ident!("part_{number}");
        let name = name.unwrap_or(own);
        parts.push(ModulePart { member, variable, name, ty: &field.ty, role });
    }
    Ok(parts)
}

impl ModuleShape<'_> {
    /// An arm of a `match` on `self`, with the parts of `roles` in their variables.
    pub(crate) fn arm(&self, roles: &[FieldRole], body: &TokenStream) -> TokenStream {
        let variant = self.variant.map(|name| quote!(:: #name));
        let bound = self.parts.iter().filter(|part| roles.contains(&part.role));
        let bound = bound.map(|ModulePart { member, variable, .. }| quote!(#member: #variable));
        quote!(Self #variant { #(#bound,)* .. } => { #body })
    }

    /// The only part of a transparent one.
    pub(crate) fn inside(&self) -> Option<&ModulePart<'_>> {
        self.parts.first().filter(|_| self.is_transparent)
    }
}

impl ModulePart<'_> {
    pub(crate) fn visit(&self, nn: &Path) -> TokenStream {
        let ModulePart { variable, name, ty, role, .. } = self;
        match role {
            FieldRole::ByType => quote_spanned! { ty.span() =>
                <#ty as #nn::fields::Field>::visit_field(#variable, #name, visitor);
            },
            FieldRole::Buffer | FieldRole::NonPersistentBuffer => {
                let kind = kind_of_buffer(*role);
                quote_spanned! { ty.span() =>
                    if let ::core::option::Option::Some(tensor) =
                        <#ty as #nn::fields::BufferField>::buffer(#variable)
                    {
                        visitor(#name, #nn::Member::#kind(tensor));
                    }
                }
            }
            FieldRole::Training => quote_spanned! { ty.span() =>
                visitor(#name, #nn::Member::Training(*#variable));
            },
            FieldRole::Skipped => TokenStream::new(),
        }
    }

    pub(crate) fn visit_mut(&self, nn: &Path) -> TokenStream {
        let ModulePart { variable, name, ty, role, .. } = self;
        match role {
            FieldRole::ByType => quote_spanned! { ty.span() =>
                <#ty as #nn::fields::Field>::visit_field_mut(#variable, #name, visitor)?;
            },
            FieldRole::Buffer | FieldRole::NonPersistentBuffer => {
                let kind = kind_of_buffer(*role);
                quote_spanned! { ty.span() =>
                    if let ::core::option::Option::Some(tensor) =
                        <#ty as #nn::fields::BufferField>::buffer_mut(#variable)
                    {
                        visitor(#name, #nn::MemberMut::#kind(tensor))?;
                    }
                }
            }
            FieldRole::Training => quote_spanned! { ty.span() =>
                visitor(#name, #nn::MemberMut::Training(#variable))?;
            },
            FieldRole::Skipped => TokenStream::new(),
        }
    }

    /// Adds the field to the printed form, if it is a plain value.
    pub(crate) fn describe(&self, nn: &Path) -> TokenStream {
        let ModulePart { variable, name, ty, .. } = self;
        quote_spanned! { ty.span() =>
            <#ty as #nn::fields::Field>::describe(#variable, #name, &mut extra);
        }
    }

    /// A call of a method of `Module`, or of another trait that each module has, on the field, which
    /// is a module itself.
    pub(crate) fn call(&self, method: &TokenStream, arguments: &TokenStream) -> TokenStream {
        let ModulePart { variable, ty, .. } = self;
        quote_spanned!(ty.span() => <#ty as #method(#variable, #arguments))
    }
}

/// The variant of `Member` and `MemberMut`.
fn kind_of_buffer(role: FieldRole) -> Ident {
    let name = if role == FieldRole::Buffer { "Buffer" } else { "NonPersistentBuffer" };
    format_ident!("{name}")
}
