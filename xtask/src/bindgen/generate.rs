//! Runs bindgen over cuda.h, and writes or compares the files made from what it says.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use bindgen::callbacks::{ItemInfo, ParseCallbacks};
use bindgen::{Builder, EnumVariation};

use super::allow::{self, AllowList};
use super::headers;
use super::names::FunctionNames;
use super::{functions, types};
use crate::{paths, process};

/// The driver's functions for profilers, whose header comes with them and not with the toolkit.
const PROFILER: &str = "CUresult cuProfilerStart(void); CUresult cuProfilerStop(void);";

/// Writes the generated files, or with `check` compares them with what they should be.
pub(super) fn run(check: bool) -> Result<()> {
    let allow = allow::read()?;
    let declarations = declarations(&allow)?;
    let (functions, types) = functions::split(&declarations)?;
    let source = paths::root().join("crates/cuda-sys/src");
    let api = paths::root().join("crates/cuda-sim/src/api");
    let names = FunctionNames::read()?;
    headers::check(&names, &toolkit_include())?;
    let files = [
        (source.join("bindings.rs"), types::file(&types)?),
        (source.join("functions.rs"), functions::file(&functions, &allow)?),
        (source.join("per_thread.rs"), names.per_thread(&functions, &allow)?),
        (api.join("refused_names.rs"), names.refused(&allow)),
    ];
    for (path, text) in files {
        let text = format(&text)?;
        if check { compare(&path, &text)? } else { write(&path, &text)? }
    }
    Ok(())
}

/// All that the allow-list names, as bindgen translates it.
fn declarations(allow: &AllowList) -> Result<String> {
    let header = header()?;
    let profiler = format!("#include \"{}\"\n{PROFILER}", header.display());
    let mut builder = Builder::default()
        .header(header.to_string_lossy())
        .header_contents("profiler.h", &profiler)
        .clang_args(clang_arguments()?)
        .parse_callbacks(Box::new(TypedefNames))
        // A driver may be newer than these headers and give values that no variant has.
        .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: false })
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(false)
        .merge_extern_blocks(true)
        .disable_header_comment()
        .ctypes_prefix("core::ffi");
    for (_, name) in &allow.functions {
        builder = builder.allowlist_function(name);
    }
    for name in &allow.types {
        builder = builder.allowlist_type(name);
    }
    for name in &allow.constants {
        builder = builder.allowlist_var(name);
    }
    Ok(builder.generate().context("bindgen cannot read cuda.h")?.to_string())
}

/// Gives structures and enumerations the names that cuda.h's typedefs give them, so that
/// `CUresult` is called so and not `cudaError_enum`.
#[derive(Debug)]
struct TypedefNames;

impl ParseCallbacks for TypedefNames {
    fn item_name(&self, item: ItemInfo<'_>) -> Option<String> {
        match item.name {
            "cudaError_enum" => Some("CUresult".into()),
            "CUuuid_st" => Some("CUuuid".into()),
            name => name.strip_suffix("_enum").map(Into::into),
        }
    }
}

fn toolkit_include() -> PathBuf {
    paths::toolkit_cuda().join("include")
}

fn header() -> Result<PathBuf> {
    let header = toolkit_include().join("cuda.h");
    if !header.exists() {
        bail!("there is no {}: run `cargo xtask toolkit`", paths::relative(&header));
    }
    Ok(header)
}

/// One target on every machine, and the compiler's own headers from gcc: the wheel of libclang
/// comes without them.
fn clang_arguments() -> Result<[String; 5]> {
    let gcc = process::output(Command::new("gcc").arg("-print-file-name=include"))?;
    Ok([
        "--target=x86_64-unknown-linux-gnu".into(),
        "-isystem".into(),
        gcc.trim().into(),
        // Without it cuda.h declares only the newest version of each function.
        "-D__CUDA_API_VERSION_INTERNAL".into(),
        // Keeps that switch from adding a last member to some enumerations.
        "-D__CUDA_API_VERSION_INTERNAL_ODR".into(),
    ])
}

/// `text` as rustfmt lays it out, by way of a file below `target`.
fn format(text: &str) -> Result<String> {
    let path = paths::target().join("bindgen.rs");
    write(&path, text)?;
    process::run(
        Command::new("rustfmt")
            .args(["--edition", "2024", "--config-path"])
            .arg(paths::root().join("rustfmt.toml"))
            .arg(&path),
    )?;
    std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", paths::relative(&path)))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", paths::relative(path)))
}

fn compare(path: &Path, text: &str) -> Result<()> {
    let present = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {}", paths::relative(path)))?;
    if present != text {
        bail!("{} is not what cuda.h gives: run `cargo xtask bindgen`", paths::relative(path));
    }
    Ok(())
}
