//! Holds the list of names against NVIDIA's headers: each function that these declare, and each
//! type that the headers of function types have for a name and a version, must be in the list.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::names::FunctionNames;

const DECLARATIONS: [&str; 4] = ["cuda.h", "cudaEGL.h", "cudaGL.h", "cudaVDPAU.h"];
const TYPES: [&str; 5] = [
    "cudaTypedefs.h",
    "cudaEGLTypedefs.h",
    "cudaGLTypedefs.h",
    "cudaProfilerTypedefs.h",
    "cudaVDPAUTypedefs.h",
];

/// # Errors
/// If something is not in the list; the message names it.
pub(super) fn check(names: &FunctionNames, include: &Path) -> Result<()> {
    let read = |name: &&str| {
        fs::read_to_string(include.join(name)).with_context(|| format!("cannot read {name}"))
    };
    let declarations = DECLARATIONS.iter().map(read).collect::<Result<Vec<_>>>()?.concat();
    let types = TYPES.iter().map(read).collect::<Result<Vec<_>>>()?.concat();
    let missing: BTreeSet<_> = missing(names, &declarations, &types).collect();
    ensure!(missing.is_empty(), "the list of names lacks {missing:?}");
    Ok(())
}

fn missing(names: &FunctionNames, declarations: &str, types: &str) -> impl Iterator<Item = String> {
    let known: BTreeSet<_> =
        names.meanings().flat_map(|(name, _, exported)| [name, exported]).collect();
    let meanings: BTreeSet<_> =
        names.meanings().map(|(name, since, exported)| (name, since, variant(exported))).collect();
    let functions = declared(declarations).filter(|name| !known.contains(name));
    let versions = versioned(types).filter(|meaning| !meanings.contains(meaning));
    let functions: Vec<_> = functions.map(str::to_owned).collect();
    let versions = versions.map(|(name, since, variant)| format!("{name} {since}{variant}"));
    functions.into_iter().chain(versions.collect::<Vec<_>>())
}

/// The names in declarations such as `CUresult CUDAAPI cuInit(unsigned int Flags);`.
fn declared(header: &str) -> impl Iterator<Item = &str> {
    let after = header.split("CUDAAPI ").skip(1).map(str::trim_start);
    let names = after.filter_map(|text| Some(&text[..text.find('(')?]));
    names.filter(|name| name.starts_with("cu") && name.chars().all(is_of_a_name))
}

/// Name, version and variant in types such as `PFN_cuMemcpy_v7000_ptds`.
fn versioned(header: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    header.split("*PFN_").skip(1).filter_map(|text| {
        let whole = &text[..text.find(|c| !is_of_a_name(c))?];
        let variant = variant(whole);
        let (name, version) = whole.strip_suffix(variant)?.rsplit_once("_v")?;
        Some((name, version, variant))
    })
}

fn variant(name: &str) -> &'static str {
    ["_ptds", "_ptsz"].into_iter().find(|suffix| name.ends_with(suffix)).unwrap_or_default()
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_list_lacks_is_named() {
        let names =
            FunctionNames::from("cuInit 2000 cuInit\ncuMemcpy 4000 cuMemcpy 7000 cuMemcpy_ptds\n");
        let declarations = "CUresult CUDAAPI cuInit(int);\nCUresult CUDAAPI cuNew(void);";
        let types = "(CUDAAPI *PFN_cuInit_v2000)(int); (CUDAAPI *PFN_cuInit_v3000)(int); \
                     (CUDAAPI *PFN_cuMemcpy_v7000_ptds)(); (CUDAAPI *PFN_cuMemcpy_v7000_ptsz)();";
        let missing: Vec<_> = missing(&names, declarations, types).collect();
        assert_eq!(missing, ["cuNew", "cuInit 3000", "cuMemcpy 7000_ptsz"]);
    }
}
