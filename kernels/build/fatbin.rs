//! `CUDA_ARCHS`: compiling the kernels for chosen architectures, where the user has an nvcc.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::ptx;
use crate::table::EmbeddedModule;

/// The architectures to make machine code for, and the compiler that does it.
pub(crate) struct Architectures {
    names: Vec<String>,
    nvcc: PathBuf,
}

impl Architectures {
    /// Reads `CUDA_ARCHS`, such as `80,90`; none if it is not set.
    pub(crate) fn from_env() -> Result<Option<Architectures>, Box<dyn Error>> {
        println!("cargo::rerun-if-env-changed=CUDA_ARCHS");
        let list = env::var("CUDA_ARCHS").unwrap_or_default();
        let names: Vec<_> =
            list.split(',').map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect();
        if names.is_empty() {
            return Ok(None);
        }
        if let Some(wrong) = names.iter().find(|name| !is_architecture(name)) {
            return Err(format!(
                "CUDA_ARCHS={list}: `{wrong}` is no architecture; write a list such as 80,90"
            )
            .into());
        }
        println!("cargo::rerun-if-changed=.");
        for variable in ["NVCC", "CUDA_HOME", "PATH"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        Ok(Some(Architectures { names, nvcc: find_nvcc(&list)? }))
    }

    /// Makes a fatbin of the source of a PTX file. Beside the machine code it has PTX, so that GPUs
    /// of other architectures can run it as well.
    pub(crate) fn compile(
        &self,
        package: &Path,
        path: &Path,
        file: &ptx::PtxFile,
    ) -> Result<EmbeddedModule, Box<dyn Error>> {
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| format!("{} is not UTF-8", path.display()))?.to_owned();
        let image = PathBuf::from(env::var("OUT_DIR")?).join(&name).with_extension("fatbin");
        let mut build = cc::Build::new();
        build
            .cuda(true)
            .compiler(&self.nvcc)
            // nvcc finds a host compiler that it supports by itself.
            .ccbin(false)
            .no_default_flags(true)
            .warnings(false)
            .cargo_metadata(false)
            .include("kernels/include")
            .flags(["-fatbin", "-std=c++17"]);
        let least = file.architecture();
        build.flag(format!("-gencode=arch=compute_{least},code=compute_{least}"));
        // A file that needs a later architecture has nothing for an older one.
        for name in self.names.iter().filter(|name| number(name) >= least) {
            build.flag(format!("-gencode=arch=compute_{name},code=sm_{name}"));
        }
        let status = build
            .try_get_compiler()?
            .to_command()
            // Assertions contain the path of their source as nvcc got it.
            .current_dir(package.parent().ok_or("the package has no parent folder")?)
            .arg(format!("kernels/{name}.cu"))
            .arg("-o")
            .arg(&image)
            .status()?;
        if !status.success() {
            return Err(format!("nvcc cannot compile {name}.cu ({status})").into());
        }
        let entries = file.entries().map(str::to_owned).collect();
        Ok(EmbeddedModule { name, entries, image: fs::read(&image)? })
    }
}

/// 90 for `90` or `90a`.
fn number(name: &str) -> u32 {
    name.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().unwrap_or(0)
}

/// Such as `90` or `90a`.
fn is_architecture(name: &str) -> bool {
    let number = name.trim_end_matches(|c: char| c.is_ascii_lowercase());
    !number.is_empty()
        && name.len() - number.len() <= 1
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first of `NVCC`, `CUDA_HOME`, `PATH` and the toolkit of this workspace that has one.
fn find_nvcc(architectures: &str) -> Result<PathBuf, Box<dyn Error>> {
    let mut candidates = Vec::new();
    candidates.extend(env::var_os("NVCC").map(PathBuf::from));
    candidates.extend(env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin/nvcc")));
    let path = env::var_os("PATH").unwrap_or_default();
    candidates.extend(env::split_paths(&path).map(|folder| folder.join("nvcc")));
    candidates.push("../target/toolkit/nvidia/cu13/bin/nvcc".into());
    let found = candidates.iter().find_map(|candidate| candidate.canonicalize().ok());
    found.ok_or_else(|| {
        let tried: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        format!(
            "CUDA_ARCHS={architectures} asks for machine code, and there is no nvcc to make it; \
             tried {}. Unset CUDA_ARCHS to use the PTX that is checked in, or name your nvcc in \
             NVCC, or run `cargo xtask toolkit`.",
            tried.join(", ")
        )
        .into()
    })
}
