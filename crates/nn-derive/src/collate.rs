//! The derive of `parallel::Collate`: a struct of batches for a struct of samples.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Data, DeriveInput, Error, Fields, Generics, Ident, Index, Member, Path, Result, Type,
    WherePredicate, parse_quote,
};

use crate::expand::mentions;
use crate::paths;

/// The attributes `#[collate(..)]` of a struct.
#[derive(Default)]
struct CollateAttributes {
    /// The name of the struct of batches.
    batch: Option<Ident>,
    /// The path under which `parallel` is found.
    parallel: Option<Path>,
}

/// The batch struct, and the implementations of `Collate` for the sample and of `PinMemory`,
/// `ToDevice` and `Split` for the batch.
pub(crate) fn collate(input: &DeriveInput) -> Result<TokenStream> {
    let fields = fields(input)?;
    let attributes = CollateAttributes::of(input)?;
    let parallel = attributes.parallel.map_or_else(paths::parallel, Ok)?;
    let batch = attributes.batch.unwrap_or_else(|| format_ident!("{}Batch", input.ident));
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let generics = bounded(&input.generics, &types, |ty| parse_quote!(#ty: #parallel::Collate));
    let structure = batch_struct(input, fields, &batch, &generics, &parallel);
    let sample = sample_impl(input, fields, &batch, &generics, &parallel);
    let batch = batch_impls(fields, &batch, &generics, &parallel);
    Ok(quote!(#structure #sample #batch))
}

fn fields(input: &DeriveInput) -> Result<&Fields> {
    let why = match &input.data {
        Data::Struct(data) if !data.fields.is_empty() => return Ok(&data.fields),
        Data::Struct(_) => "`Collate` cannot be derived for a struct without fields",
        Data::Enum(_) => {
            "`Collate` cannot be derived for an enum, whose samples may be of different variants: \
             implement it, with `SampleList` as the slot"
        }
        Data::Union(_) => "`Collate` cannot be derived for a union",
    };
    Err(Error::new(input.ident.span(), why))
}

impl CollateAttributes {
    fn of(input: &DeriveInput) -> Result<CollateAttributes> {
        let mut found = CollateAttributes::default();
        for attribute in input.attrs.iter().filter(|one| one.path().is_ident("collate")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("batch") {
                    found.batch = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("crate") {
                    found.parallel = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("a sample has `batch = Name` and `crate = path`"));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

fn batch_struct(
    input: &DeriveInput,
    fields: &Fields,
    batch: &Ident,
    generics: &Generics,
    parallel: &Path,
) -> TokenStream {
    let (visibility, bounds) = (&input.vis, &generics.where_clause);
    let doc =
        format!(" A batch of [`{}`]s: each field is the batch of the samples' field.", input.ident);
    let (parameters, _, _) = generics.split_for_impl();
    let members = fields.iter().map(|field| {
        let (vis, ty) = (&field.vis, &field.ty);
        let name = field.ident.iter();
        quote!(#vis #(#name:)* <#ty as #parallel::Collate>::Batch)
    });
    let body = match fields {
        Fields::Named(_) => quote!(#bounds { #(#members,)* }),
        Fields::Unnamed(_) | Fields::Unit => quote!((#(#members,)*) #bounds;),
    };
    quote! {
        #[doc = #doc]
        #[allow(missing_docs)]
        #visibility struct #batch #parameters #body
    }
}

fn sample_impl(
    input: &DeriveInput,
    fields: &Fields,
    batch: &Ident,
    generics: &Generics,
    parallel: &Path,
) -> TokenStream {
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let (name, members): (_, Vec<Member>) = (&input.ident, fields.members().collect());
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let places: Vec<Index> = (0..members.len()).map(Index::from).collect();
    let collate = quote!(#parallel::Collate);
    let result = quote!(#parallel::derived::Result);
    quote! {
        #[automatically_derived]
        impl #parameters #collate for #name #arguments #bounds {
            type Batch = #batch #arguments;
            type Slot = (#(<#types as #collate>::Slot,)*);

            fn slot(pin_memory: bool) -> Self::Slot {
                (#(<#types as #collate>::slot(pin_memory),)*)
            }

            fn begin(slot: &mut Self::Slot, samples: usize) {
                #(<#types as #collate>::begin(&mut slot.#places, samples);)*
            }

            fn put(self, slot: &mut Self::Slot) -> #result<()> {
                #(<#types as #collate>::put(self.#members, &mut slot.#places)?;)*
                ::core::result::Result::Ok(())
            }

            fn finish(slot: &mut Self::Slot) -> #result<Self::Batch> {
                ::core::result::Result::Ok(#batch {
                    #(#members: <#types as #collate>::finish(&mut slot.#places)?,)*
                })
            }
        }
    }
}

fn batch_impls(
    fields: &Fields,
    batch: &Ident,
    generics: &Generics,
    parallel: &Path,
) -> TokenStream {
    let members: Vec<Member> = fields.members().collect();
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let with = |bound: &str| {
        let bound = Ident::new(bound, Span::call_site());
        bounded(
            generics,
            &types,
            |ty| parse_quote!(<#ty as #parallel::Collate>::Batch: #parallel::#bound),
        )
    };
    let (pinned, moved, split) = (with("PinMemory"), with("ToDevice"), with("Split"));
    let (parameters, arguments, pinned) = pinned.split_for_impl();
    let ((_, _, moved), (_, _, split)) = (moved.split_for_impl(), split.split_for_impl());
    let names: Vec<Ident> = (0..members.len()).map(|index| format_ident!("part{index}")).collect();
    let derived = quote!(#parallel::derived);
    quote! {
        #[automatically_derived]
        impl #parameters #parallel::PinMemory for #batch #arguments #pinned {
            fn into_pinned(self) -> #derived::Result<Self> {
                ::core::result::Result::Ok(Self {
                    #(#members: #parallel::PinMemory::into_pinned(self.#members)?,)*
                })
            }
        }

        #[automatically_derived]
        impl #parameters #parallel::ToDevice for #batch #arguments #moved {
            fn into_device(
                self,
                device: #derived::Device,
                blocking: #derived::Blocking,
            ) -> #derived::Result<Self> {
                ::core::result::Result::Ok(Self {
                    #(#members: #parallel::ToDevice::into_device(self.#members, device, blocking)?,)*
                })
            }
        }

        #[automatically_derived]
        impl #parameters #parallel::Split for #batch #arguments #split {
            fn samples(&self) -> ::core::option::Option<usize> {
                ::core::option::Option::None
                    #(.or_else(|| #parallel::Split::samples(&self.#members)))*
            }

            fn split(
                self,
                sizes: &[usize],
            ) -> #derived::Result<::std::vec::Vec<Self>> {
                #(let mut #names = #parallel::Split::split(self.#members, sizes)?.into_iter();)*
                ::core::result::Result::Ok(
                    sizes
                        .iter()
                        .map_while(|_| {
                            ::core::option::Option::Some(Self { #(#members: #names.next()?,)* })
                        })
                        .collect(),
                )
            }
        }
    }
}

/// The generics with a bound on each type that depends on a type parameter.
fn bounded(
    generics: &Generics,
    types: &[&Type],
    bound: impl Fn(&Type) -> WherePredicate,
) -> Generics {
    let mut generics = generics.clone();
    let parameters: Vec<Ident> = generics.type_params().map(|one| one.ident.clone()).collect();
    if parameters.is_empty() {
        return generics;
    }
    let bounds = generics.make_where_clause();
    for ty in types.iter().filter(|ty| mentions(quote!(#ty), &parameters)) {
        bounds.predicates.push(bound(ty));
    }
    generics
}
