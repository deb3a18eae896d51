//! Embeds the kernels: the PTX that is checked in, or with `CUDA_ARCHS` what nvcc makes of the
//! sources for these architectures.

#![expect(clippy::print_stdout, reason = "a build script talks to cargo on its standard output")]

mod fatbin;
mod functions;
mod ptx;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use fatbin::Architectures;
use table::EmbeddedModule;

/// The file that has functions and no kernels.
const FUNCTIONS: &str = "scalar.ptx";

fn main() -> ExitCode {
    match embed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={}", error.to_string().replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn embed() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=ptx");
    println!("cargo::rerun-if-changed=build");
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let architectures = Architectures::from_env()?;
    let mut modules = Vec::new();
    let mut functions = None;
    for path in ptx_files(&package.join("ptx"))? {
        let file = ptx::PtxFile::parse(&fs::read_to_string(&path)?);
        match &architectures {
            // Functions go into kernels that are printed, and those are text.
            _ if path.ends_with(FUNCTIONS) => functions = Some(functions::render(&file, &out)?),
            None => modules.extend(split(&file)),
            Some(architectures) => modules.push(architectures.compile(&package, &path, &file)?),
        }
    }
    let functions = functions.ok_or_else(|| format!("there is no {FUNCTIONS}"))?;
    fs::write(out.join("functions.rs"), functions)?;
    fs::write(out.join("table.rs"), table::render(&modules, &out)?)?;
    Ok(())
}

/// Writes what the crate embeds, compressed.
fn pack(bytes: &[u8], file: &Path) -> Result<(), std::io::Error> {
    // Kernels of one family differ little, and are longer than the window of deflate. Level 19 saves a
    // fifth of the bytes, and takes forty times as long, in every build.
    const LEVEL: i32 = 9;
    fs::write(file, zstd::bulk::compress(bytes, LEVEL)?)
}

/// A module for each kernel of a file.
fn split(file: &ptx::PtxFile) -> Vec<EmbeddedModule> {
    let mut modules = Vec::new();
    for name in file.entries().map(str::to_owned) {
        let image = (file.module_of(&name) + "\0").into_bytes();
        modules.push(EmbeddedModule { entries: vec![name.clone()], name, image });
    }
    modules
}

/// In the order of their names, so that two builds give the same crate.
fn ptx_files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
