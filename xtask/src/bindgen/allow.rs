//! The allow-list: which names of cuda.h go into cuda-sys.

use anyhow::{Result, bail};

/// The parsed `allow.txt`, each list in the order of the file.
pub(super) struct AllowList {
    pub(super) functions: Vec<(Presence, &'static str)>,
    pub(super) types: Vec<&'static str>,
    pub(super) constants: Vec<&'static str>,
}

/// Whether each driver that Sluice runs on exports a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
}

/// Reads the list beside this file.
pub(super) fn read() -> Result<AllowList> {
    parse(include_str!("allow.txt"))
}

fn parse(text: &'static str) -> Result<AllowList> {
    let mut list = AllowList { functions: vec![], types: vec![], constants: vec![] };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.filter(|line| !line.starts_with('#')) {
        match line.split_once(' ') {
            Some(("required", name)) => list.functions.push((Presence::Required, name)),
            Some(("optional", name)) => list.functions.push((Presence::Optional, name)),
            Some(("type", name)) => list.types.push(name),
            Some(("constant", name)) => list.constants.push(name),
            _ => bail!("allow.txt: cannot read the line `{line}`"),
        }
    }
    Ok(list)
}
