//! The attributes `#[module(..)]` of a struct and of its fields.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Field, LitBool, LitStr, Path, Result, Token};

/// The attributes of a struct or an enum.
#[derive(Default)]
pub(crate) struct StructAttributes {
    /// The function that describes the module.
    pub(crate) extra_repr: Option<Path>,
    /// The path under which `nn` is found.
    pub(crate) nn: Option<Path>,
}

/// The part that a field is of its module.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FieldRole {
    /// The part that follows from its type.
    #[default]
    ByType,
    Buffer,
    /// A buffer that is not saved.
    NonPersistentBuffer,
    Training,
    Skipped,
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) role: FieldRole,
    pub(crate) name: Option<String>,
}

impl StructAttributes {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<StructAttributes> {
        let mut found = StructAttributes::default();
        each(attributes, |meta| {
            if meta.path.is_ident("extra_repr") {
                found.extra_repr = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("crate") {
                found.nn = Some(meta.value()?.parse()?);
            } else {
                return Err(
                    meta.error("a struct and an enum have `extra_repr = path` and `crate = path`")
                );
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl FieldAttributes {
    pub(crate) fn of(field: &Field) -> Result<FieldAttributes> {
        let mut found = FieldAttributes::default();
        let mut persistent = None;
        each(&field.attrs, |meta| {
            if meta.path.is_ident("rename") {
                let name: LitStr = meta.value()?.parse()?;
                if name.value().is_empty() || name.value().contains('.') {
                    let why = "a name is not empty and has no dot, which stands between names";
                    return Err(syn::Error::new(name.span(), why));
                }
                found.name = Some(name.value());
                return Ok(());
            }
            if meta.path.is_ident("persistent") {
                persistent = Some(meta.value()?.parse::<LitBool>()?);
                return Ok(());
            }
            let role = role(&meta)?;
            if found.role != FieldRole::ByType {
                return Err(meta.error("a field is one of `buffer`, `training` and `skip`"));
            }
            found.role = role;
            Ok(())
        })?;
        match persistent {
            Some(word) if found.role != FieldRole::Buffer => {
                return Err(syn::Error::new(word.span(), "only a `buffer` is persistent or not"));
            }
            Some(word) if !word.value => found.role = FieldRole::NonPersistentBuffer,
            _ => {}
        }
        Ok(found)
    }
}

/// Checks that a variant has no attribute of the derive.
///
/// # Errors
/// It has one.
pub(crate) fn none_of_variant(attributes: &[Attribute]) -> Result<()> {
    each(attributes, |meta| Err(meta.error("attributes stand above the enum and above fields")))
}

fn role(meta: &ParseNestedMeta<'_>) -> Result<FieldRole> {
    let roles = [
        ("buffer", FieldRole::Buffer),
        ("training", FieldRole::Training),
        ("skip", FieldRole::Skipped),
    ];
    let role = roles.into_iter().find(|(name, _)| meta.path.is_ident(name));
    if meta.input.peek(Token![=]) || role.is_none() {
        return Err(meta.error(
            "a field has `buffer`, `persistent = false`, `training`, `skip` and `rename = \"name\"`",
        ));
    }
    Ok(role.map_or(FieldRole::ByType, |(_, role)| role))
}

/// Calls `read` with each entry of each `#[module(..)]`.
fn each(
    attributes: &[Attribute],
    mut read: impl FnMut(ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("module"));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}
