//! The implementations that the derive writes.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{DeriveInput, Generics, Ident, Path, Result, parse_quote};

use crate::attributes::{FieldRole, StructAttributes};
use crate::parts::{self, ModuleShape};
use crate::paths;

/// The roles of what a visitor sees.
const VISITED: &[FieldRole] =
    &[FieldRole::ByType, FieldRole::Buffer, FieldRole::NonPersistentBuffer, FieldRole::Training];

/// `impl Module` and `impl Display` for a struct or an enum.
pub(crate) fn module(input: &DeriveInput) -> Result<TokenStream> {
    let shapes = parts::shapes(input)?;
    let attributes = StructAttributes::of(&input.attrs)?;
    let nn = match attributes.nn {
        Some(path) => path,
        None => paths::nn()?,
    };
    let (visits, visits_mut) = (visits(&shapes, &nn), visits_mut(&shapes, &nn));
    let extra_repr = match attributes.extra_repr {
        Some(function) => quote!(#function(self)),
        None => extra_repr(&shapes, &nn),
    };
    let (type_name, pointees) = (type_name(&shapes, &nn), pointees(&shapes, &nn));
    let (name, generics) = (&input.ident, bounded(&input.generics, &shapes, &nn));
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #nn::Module for #name #arguments #bounds {
            #[allow(unused_variables)]
            fn visit<'module>(
                &'module self,
                visitor: &mut dyn ::core::ops::FnMut(&str, #nn::Member<'module>),
            ) {
                #visits
            }

            #[allow(unused_variables)]
            fn visit_mut(
                &mut self,
                visitor: &mut dyn ::core::ops::FnMut(
                    &str,
                    #nn::MemberMut<'_>,
                ) -> #nn::Result<()>,
            ) -> #nn::Result<()> {
                #visits_mut
                ::core::result::Result::Ok(())
            }

            fn extra_repr(&self) -> ::std::string::String {
                #extra_repr
            }

            #type_name
            #pointees
        }

        #[automatically_derived]
        impl #parameters ::core::fmt::Display for #name #arguments #bounds {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(#nn::AsModule::as_module(self), f)
            }
        }
    })
}

/// A `match` on `self` with an arm for each shape, whose body `body` writes.
fn each(
    shapes: &[ModuleShape<'_>],
    roles: &[FieldRole],
    body: impl Fn(&ModuleShape<'_>) -> TokenStream,
) -> TokenStream {
    let arms = shapes.iter().map(|shape| shape.arm(roles, &body(shape)));
    quote!(match self { #(#arms)* })
}

fn visits(shapes: &[ModuleShape<'_>], nn: &Path) -> TokenStream {
    each(shapes, VISITED, |shape| match shape.inside() {
        Some(part) => part.call(&quote!(#nn::Module>::visit), &quote!(visitor)),
        None => shape.parts.iter().map(|part| part.visit(nn)).collect(),
    })
}

fn visits_mut(shapes: &[ModuleShape<'_>], nn: &Path) -> TokenStream {
    each(shapes, VISITED, |shape| match shape.inside() {
        Some(part) => {
            let call = part.call(&quote!(#nn::Module>::visit_mut), &quote!(visitor));
            quote!(#call?)
        }
        None => shape.parts.iter().map(|part| part.visit_mut(nn)).collect(),
    })
}

/// The description of the fields that are plain values.
fn extra_repr(shapes: &[ModuleShape<'_>], nn: &Path) -> TokenStream {
    each(shapes, &[FieldRole::ByType], |shape| {
        if let Some(part) = shape.inside() {
            return part.call(&quote!(#nn::Module>::extra_repr), &TokenStream::new());
        }
        let by_type = shape.parts.iter().filter(|part| part.role == FieldRole::ByType);
        let describe = by_type.map(|part| part.describe(nn));
        quote! {
            #[allow(unused_mut)]
            let mut extra = #nn::fields::ExtraRepr::new();
            #(#describe)*
            ::std::string::ToString::to_string(&extra)
        }
    })
}

/// The names of variants, in the place of the enum's own.
fn type_name(shapes: &[ModuleShape<'_>], nn: &Path) -> Option<TokenStream> {
    shapes[0].variant?;
    let names = each(shapes, &[FieldRole::ByType], |shape| match (shape.inside(), shape.variant) {
        (Some(part), _) => part.call(&quote!(#nn::Module>::type_name), &TokenStream::new()),
        (None, name) => {
            let name = name.map(ToString::to_string);
            quote!(#name)
        }
    });
    Some(quote! {
        #[allow(unused_variables)]
        fn type_name(&self) -> &'static str {
            #names
        }
    })
}

/// The modules that transparent variants are.
fn pointees(shapes: &[ModuleShape<'_>], nn: &Path) -> Option<TokenStream> {
    if !shapes.iter().any(|shape| shape.is_transparent) {
        return None;
    }
    let [pointees, pointees_mut] = ["as_module", "as_module_mut"].map(|method| {
        each(shapes, &[FieldRole::ByType], |shape| match shape.inside() {
            Some(part) => {
                let method = format_ident!("{method}");
                let module = part.call(&quote!(#nn::AsModule>::#method), &TokenStream::new());
                quote!(::core::option::Option::Some(#module))
            }
            None => quote!(::core::option::Option::None),
        })
    });
    Some(quote! {
        #[allow(unused_variables)]
        fn pointee(&self) -> ::core::option::Option<&(dyn #nn::Module + 'static)> {
            #pointees
        }

        #[allow(unused_variables)]
        fn pointee_mut(&mut self) -> ::core::option::Option<&mut (dyn #nn::Module + 'static)> {
            #pointees_mut
        }
    })
}

/// The generics with what a module needs of them: each type parameter lives and may be sent as long
/// as a module, and a field whose type depends on one may be the field of a module.
fn bounded(generics: &Generics, shapes: &[ModuleShape<'_>], nn: &Path) -> Generics {
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
    for shape in shapes {
        for part in shape.parts.iter().filter(|part| part.role == FieldRole::ByType) {
            let ty = part.ty;
            if mentions(ty.to_token_stream(), &parameters) {
                bounds.predicates.push(match shape.is_transparent {
                    true => parse_quote!(#ty: #nn::Module),
                    false => parse_quote!(#ty: #nn::fields::Field),
                });
            }
        }
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
