//! The attributes `#[module(..)]` of a struct and of its fields.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Field, LitStr, Path, Result, Token};

/// The attributes of a struct.
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
                return Err(meta.error("a struct has `extra_repr = path` and `crate = path`"));
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl FieldAttributes {
    pub(crate) fn of(field: &Field) -> Result<FieldAttributes> {
        let mut found = FieldAttributes::default();
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
            let role = role(&meta)?;
            if found.role != FieldRole::ByType {
                return Err(meta.error("a field is one of `buffer`, `training` and `skip`"));
            }
            found.role = role;
            Ok(())
        })?;
        Ok(found)
    }
}

fn role(meta: &ParseNestedMeta<'_>) -> Result<FieldRole> {
    let roles = [
        ("buffer", FieldRole::Buffer),
        ("training", FieldRole::Training),
        ("skip", FieldRole::Skipped),
    ];
    let role = roles.into_iter().find(|(name, _)| meta.path.is_ident(name));
    if meta.input.peek(Token![=]) || role.is_none() {
        return Err(meta.error("a field has `buffer`, `training`, `skip` and `rename = \"name\"`"));
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
