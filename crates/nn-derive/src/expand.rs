//! The implementations that the derive writes.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Fields, Generics, Ident, Member, Path, Result, Type, parse_quote,
};

use crate::attributes::{FieldAttributes, FieldRole, StructAttributes};
use crate::paths;

/// A field as a part of the module.
struct ModulePart<'a> {
    member: Member,
    name: String,
    ty: &'a Type,
    role: FieldRole,
}

/// `impl Module` and `impl Display` for a struct.
pub(crate) fn module(input: &DeriveInput) -> Result<TokenStream> {
    let parts = parts(fields(input)?)?;
    let attributes = StructAttributes::of(&input.attrs)?;
    let nn = match attributes.nn {
        Some(path) => path,
        None => paths::nn()?,
    };
    let visits = parts.iter().map(|part| part.visit(&nn));
    let visits_mut = parts.iter().map(|part| part.visit_mut(&nn));
    let extra_repr = match attributes.extra_repr {
        Some(function) => quote!(#function(self)),
        None => extra_repr(&parts, &nn),
    };
    let (name, generics) = (&input.ident, bounded(&input.generics, &parts, &nn));
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #nn::Module for #name #arguments #bounds {
            #[allow(unused_variables)]
            fn visit<'module>(
                &'module self,
                visitor: &mut dyn ::core::ops::FnMut(&str, #nn::Member<'module>),
            ) {
                #(#visits)*
            }

            #[allow(unused_variables)]
            fn visit_mut(
                &mut self,
                visitor: &mut dyn ::core::ops::FnMut(
                    &str,
                    #nn::MemberMut<'_>,
                ) -> #nn::Result<()>,
            ) -> #nn::Result<()> {
                #(#visits_mut)*
                ::core::result::Result::Ok(())
            }

            fn extra_repr(&self) -> ::std::string::String {
                #extra_repr
            }
        }

        #[automatically_derived]
        impl #parameters ::core::fmt::Display for #name #arguments #bounds {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self as &dyn #nn::Module, f)
            }
        }
    })
}

fn fields(input: &DeriveInput) -> Result<&Fields> {
    let why = match &input.data {
        Data::Struct(data) => return Ok(&data.fields),
        Data::Enum(_) => {
            "`Module` cannot be derived for an enum, whose parts are others for each variant: put a \
             `Box<dyn Forward<Input, Output = ..>>` into a struct, or implement `Module` with a \
             `match`"
        }
        Data::Union(_) => "`Module` cannot be derived for a union",
    };
    Err(Error::new(input.ident.span(), why))
}

fn parts(fields: &Fields) -> Result<Vec<ModulePart<'_>>> {
    let mut parts = Vec::<ModulePart<'_>>::new();
    for (member, field) in fields.members().zip(fields) {
        let FieldAttributes { role, name } = FieldAttributes::of(field)?;
        if role == FieldRole::Training && parts.iter().any(|part| part.role == role) {
            return Err(Error::new(field.span(), "one field of a module is its training mode"));
        }
        let own = match &member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        parts.push(ModulePart { member, name: name.unwrap_or(own), ty: &field.ty, role });
    }
    Ok(parts)
}

impl ModulePart<'_> {
    fn visit(&self, nn: &Path) -> TokenStream {
        let ModulePart { member, name, ty, role } = self;
        match role {
            FieldRole::ByType => quote_spanned! { ty.span() =>
                <#ty as #nn::fields::Field>::visit_field(&self.#member, #name, visitor);
            },
            FieldRole::Buffer => quote_spanned! { ty.span() =>
                if let ::core::option::Option::Some(tensor) =
                    <#ty as #nn::fields::BufferField>::buffer(&self.#member)
                {
                    visitor(#name, #nn::Member::Buffer(tensor));
                }
            },
            FieldRole::Training => quote_spanned! { ty.span() =>
                visitor(#name, #nn::Member::Training(self.#member));
            },
            FieldRole::Skipped => TokenStream::new(),
        }
    }

    fn visit_mut(&self, nn: &Path) -> TokenStream {
        let ModulePart { member, name, ty, role } = self;
        match role {
            FieldRole::ByType => quote_spanned! { ty.span() =>
                <#ty as #nn::fields::Field>::visit_field_mut(&mut self.#member, #name, visitor)?;
            },
            FieldRole::Buffer => quote_spanned! { ty.span() =>
                if let ::core::option::Option::Some(tensor) =
                    <#ty as #nn::fields::BufferField>::buffer_mut(&mut self.#member)
                {
                    visitor(#name, #nn::MemberMut::Buffer(tensor))?;
                }
            },
            FieldRole::Training => quote_spanned! { ty.span() =>
                visitor(#name, #nn::MemberMut::Training(&mut self.#member))?;
            },
            FieldRole::Skipped => TokenStream::new(),
        }
    }
}

/// The description of the fields that are plain values.
fn extra_repr(parts: &[ModulePart<'_>], nn: &Path) -> TokenStream {
    let by_type = parts.iter().filter(|part| part.role == FieldRole::ByType);
    let describe = by_type.map(|ModulePart { member, name, ty, .. }| {
        quote_spanned! { ty.span() =>
            <#ty as #nn::fields::Field>::describe(&self.#member, #name, &mut extra);
        }
    });
    quote! {
        #[allow(unused_mut)]
        let mut extra = #nn::fields::ExtraRepr::new();
        #(#describe)*
        ::std::string::ToString::to_string(&extra)
    }
}

/// The generics with what a module needs of them: each type parameter lives and may be sent as long
/// as a module, and a field whose type depends on one may be the field of a module.
fn bounded(generics: &Generics, parts: &[ModulePart<'_>], nn: &Path) -> Generics {
    let mut generics = generics.clone();
    let parameters: Vec<Ident> = generics.type_params().map(|one| one.ident.clone()).collect();
    if parameters.is_empty() {
        return generics;
    }
    let bounds = generics.make_where_clause();
    for parameter in &parameters {
        bounds.predicates.push(parse_quote! {
            #parameter: ::core::marker::Send + ::core::marker::Sync + 'static
        });
    }
    let by_type = parts.iter().filter(|part| part.role == FieldRole::ByType);
    for ModulePart { ty, .. } in
        by_type.filter(|part| mentions(part.ty.to_token_stream(), &parameters))
    {
        bounds.predicates.push(parse_quote!(#ty: #nn::fields::Field));
    }
    generics
}

/// Whether the text of a type names one of the parameters.
pub(crate) fn mentions(tokens: TokenStream, parameters: &[Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => parameters.contains(&ident),
        TokenTree::Group(group) => mentions(group.stream(), parameters),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
