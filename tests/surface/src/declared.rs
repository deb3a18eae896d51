//! The functions that are declared where a program can reach them.

use std::collections::BTreeMap;

use syn::{
    Attribute, FnArg, GenericParam, Generics, ImplItem, Item, ItemImpl, ItemTrait, Pat,
    ReceiverKind, ReturnType, Signature, TraitItem, Type, Visibility,
};

use crate::function::{FunctionArgument, PublicFunction, Receiver};
use crate::modules::{CrateModule, is_hidden};
use crate::scope::{ItemPlace, ModuleScopes};
use crate::text::text;

pub(crate) fn functions(
    modules: &[CrateModule],
    scopes: &ModuleScopes,
    names: &BTreeMap<ItemPlace, String>,
) -> Vec<PublicFunction> {
    let mut functions = Vec::new();
    for (index, module) in modules.iter().enumerate() {
        for item in &module.items {
            match item {
                Item::Fn(item) => {
                    if let Some(path) = names.get(&(index, item.sig.ident.to_string())) {
                        functions.push(function(module, path.clone(), &item.sig));
                    }
                }
                Item::Impl(item) if item.trait_.is_none() => {
                    if let Some(owner) = owner(scopes, names, index, item) {
                        functions.extend(methods(module, &owner, item));
                    }
                }
                Item::Trait(item) => {
                    if let Some(path) = names.get(&(index, item.ident.to_string())) {
                        functions.extend(required(module, path, item));
                    }
                }
                _ => {}
            }
        }
    }
    functions
}

/// The type that an implementation is of: its public path, and whether it has parameters.
struct ImplOwner {
    path: String,
    is_generic: bool,
}

fn owner(
    scopes: &ModuleScopes,
    names: &BTreeMap<ItemPlace, String>,
    module: usize,
    item: &ItemImpl,
) -> Option<ImplOwner> {
    let Type::Path(own) = &*item.self_ty else { return None };
    let name = own.path.segments.last()?.ident.to_string();
    let path = names.get(&scopes.declaration(module, &[name])?)?.clone();
    Some(ImplOwner { path, is_generic: settles_more(&item.generics) })
}

fn methods(module: &CrateModule, owner: &ImplOwner, item: &ItemImpl) -> Vec<PublicFunction> {
    let public = item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => Some(method),
        _ => None,
    });
    let shown = public.filter(|method| is_shown(&method.attrs));
    shown.map(|method| of_type(module, owner, &method.sig)).collect()
}

fn required(module: &CrateModule, path: &str, item: &ItemTrait) -> Vec<PublicFunction> {
    let owner = ImplOwner { path: path.to_owned(), is_generic: settles_more(&item.generics) };
    let methods = item.items.iter().filter_map(|item| match item {
        TraitItem::Fn(method) if is_shown(&method.attrs) => Some(method),
        _ => None,
    });
    let of_trait = |method: &syn::TraitItemFn| PublicFunction {
        is_of_trait: true,
        ..of_type(module, &owner, &method.sig)
    };
    methods.map(of_trait).collect()
}

fn of_type(module: &CrateModule, owner: &ImplOwner, signature: &Signature) -> PublicFunction {
    let path = format!("{}::{}", owner.path, signature.ident);
    let mut function = function(module, path, signature);
    if let Some(receiver) = &mut function.receiver {
        receiver.path.clone_from(&owner.path);
        receiver.is_generic = owner.is_generic;
    } else {
        function.is_generic |= owner.is_generic;
    }
    function
}

fn function(module: &CrateModule, path: String, signature: &Signature) -> PublicFunction {
    let mut receiver = None;
    let mut arguments = Vec::new();
    for argument in &signature.inputs {
        match argument {
            FnArg::Receiver(own) => receiver = Some(taken(own)),
            FnArg::Typed(argument) => {
                let name = match &*argument.pat {
                    Pat::Ident(name) => name.ident.to_string(),
                    _ => String::new(),
                };
                arguments.push(FunctionArgument { name, kind: text(&argument.ty) });
            }
        }
    }
    PublicFunction {
        line: module.line_of("fn", &signature.ident.to_string()),
        path,
        file: module.file.clone(),
        receiver,
        is_generic: unsettled(&signature.generics, &arguments),
        arguments,
        result: match &signature.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, result) => text(result),
        },
        is_unsafe: text(&signature.safety) == "unsafe",
        is_of_trait: false,
    }
}

fn taken(own: &syn::Receiver) -> Receiver {
    let taken = match &own.kind {
        ReceiverKind::Typed(_, taken) => text(taken),
        ReceiverKind::Reference(_, _, Some(_)) => "&mut self".to_owned(),
        ReceiverKind::Reference(_, _, None) => "&self".to_owned(),
        _ => "self".to_owned(),
    };
    Receiver { path: String::new(), taken, is_generic: false }
}

fn is_shown(attributes: &[Attribute]) -> bool {
    !attributes.iter().any(is_hidden)
}

/// Whether there are parameters besides lifetimes.
fn settles_more(generics: &Generics) -> bool {
    generics.params.iter().any(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
}

/// Whether there is a parameter that is neither the result of a closure among the arguments nor the
/// type of what a list among them holds.
fn unsettled(generics: &Generics, arguments: &[FunctionArgument]) -> bool {
    generics.params.iter().any(|parameter| match parameter {
        GenericParam::Lifetime(_) => false,
        GenericParam::Const(_) => true,
        GenericParam::Type(parameter) => {
            let result = format!(")->{}", parameter.ident);
            let list = format!("[{}]", parameter.ident);
            !arguments
                .iter()
                .any(|argument| argument.kind.ends_with(&result) || argument.kind.contains(&list))
        }
    })
}
