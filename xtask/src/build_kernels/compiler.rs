//! nvcc and ptxas: where they are, and how the kernels are compiled.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::toolkit::NVCC_VERSION;
use crate::{paths, process};

/// The architecture that a file's PTX is for: the oldest that CUDA 13 knows, unless the file needs
/// instructions of a later one. A driver compiles PTX for every later GPU.
fn architecture(name: &str) -> u32 {
    let on_tensor_cores = name.contains("_halves");
    if on_tensor_cores { 80 } else { 75 }
}

/// nvcc's flags for a file.
pub(super) fn flags(name: &str) -> [String; 3] {
    let architecture = format!("-arch=compute_{}", architecture(name));
    ["--ptx".to_owned(), architecture, "-std=c++17".to_owned()]
}

/// The versions of the PTX language from the first with sm_75 to the last that a driver of
/// CUDA 12.0, the oldest that Sluice runs on, takes.
const PTX_VERSIONS: [&str; 13] =
    ["6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0"];

/// An installed nvcc.
pub(super) struct Compiler {
    nvcc: PathBuf,
    version: String,
    /// A folder of its own for what comes in between, since two builds may run at the same time.
    scratch: TempDir,
}

impl Compiler {
    /// The nvcc that `NVCC` names, or that of `CUDA_HOME`, of `PATH`, or of the toolkit below
    /// `target`: the first that there is.
    ///
    /// # Errors
    /// If there is none, with all that was tried; or if `NVCC` names a file that does not exist,
    /// since it would be a surprise to get another compiler than the one asked for.
    pub(super) fn find() -> Result<Compiler> {
        let nvcc = locate()?;
        let banner = process::output(Command::new(&nvcc).arg("--version"))?;
        let version = release(&banner)
            .with_context(|| format!("{} does not tell its version: {banner}", nvcc.display()))?;
        let scratch = TempDir::new().context("cannot create a temporary folder")?;
        Ok(Compiler { version: version.into(), nvcc, scratch })
    }

    pub(super) fn path(&self) -> &Path {
        &self.nvcc
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Whether this is the release that the PTX in the repository is made with.
    pub(super) fn is_pinned(&self) -> bool {
        self.version == NVCC_VERSION
    }

    /// Compiles kernels/`name`.cu to PTX.
    pub(super) fn compile(&self, name: &str) -> Result<String> {
        let output = self.scratch.path().join(format!("{name}.ptx"));
        let mut nvcc = Command::new(&self.nvcc);
        // The source's path gets into the PTX through `assert`, so it must be relative.
        nvcc.current_dir(paths::root())
            .args(arguments(self.scratch.path(), &flags(name))?)
            .arg(format!("kernels/{name}.cu"))
            .arg("-o")
            .arg(&output);
        for hidden in ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"] {
            nvcc.env_remove(hidden);
        }
        process::run(&mut nvcc)?;
        fs::read_to_string(&output).with_context(|| format!("cannot read {}", output.display()))
    }

    /// The first version of the PTX language in which ptxas accepts `text`, whatever version that
    /// names itself: nvcc writes its own, which drivers older than nvcc refuse.
    pub(super) fn least_version(&self, name: &str, text: &str) -> Result<&'static str> {
        let input = self.scratch.path().join(format!("{name}.version.ptx"));
        let mut refusal = None;
        for version in PTX_VERSIONS {
            fs::write(&input, super::ptx::with_version(text, version))
                .with_context(|| format!("cannot write {}", input.display()))?;
            match self.assemble(&input, architecture(name)) {
                Ok(()) => return Ok(version),
                Err(error) => refusal = Some(error),
            }
        }
        let newest = PTX_VERSIONS[PTX_VERSIONS.len() - 1];
        Err(refusal.context("there are versions to try")?)
            .with_context(|| format!("needs more than PTX {newest}, which CUDA 12.0 ends at"))
    }

    /// Lets ptxas read the file, which finds most faults and is quick, and then assemble it.
    fn assemble(&self, input: &Path, architecture: u32) -> Result<()> {
        for kind in ["compute", "sm"] {
            let mut ptxas = Command::new(self.ptxas());
            ptxas.arg(format!("-arch={kind}_{architecture}")).arg(input).args(["-o", "/dev/null"]);
            process::output(&mut ptxas)?;
        }
        Ok(())
    }

    /// The one beside nvcc, whose links are followed: a distribution may put links to both, or to
    /// nvcc only, into another folder.
    fn ptxas(&self) -> PathBuf {
        let nvcc = fs::canonicalize(&self.nvcc).unwrap_or_else(|_| self.nvcc.clone());
        let beside = nvcc.with_file_name("ptxas");
        if beside.exists() { beside } else { "ptxas".into() }
    }
}

fn locate() -> Result<PathBuf> {
    if let Some(nvcc) = env::var_os("NVCC").map(PathBuf::from) {
        ensure!(nvcc.exists(), "NVCC is {}, which does not exist", nvcc.display());
        return Ok(nvcc);
    }
    let mut candidates = Vec::new();
    candidates.extend(env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin/nvcc")));
    let path = env::var_os("PATH").unwrap_or_default();
    candidates.extend(env::split_paths(&path).map(|folder| folder.join("nvcc")));
    candidates.push(paths::toolkit_cuda().join("bin/nvcc"));
    if let Some(nvcc) = candidates.iter().find(|candidate| candidate.is_file()) {
        return Ok(nvcc.clone());
    }
    let tried: String = candidates.iter().map(|c| format!("\n  {}", c.display())).collect();
    bail!("there is no nvcc: run `cargo xtask toolkit`. NVCC is not set; tried{tried}")
}

/// The release in what `nvcc --version` prints, `13.0.88`.
fn release(banner: &str) -> Option<&str> {
    banner.split_whitespace().find_map(|word| word.strip_prefix('V'))
}

/// The options that the cc crate gives nvcc.
///
/// cc adds flags from variables such as `CXXFLAGS`. They are refused: the PTX is to depend on the
/// sources and on nothing else.
fn arguments(out_dir: &Path, flags: &[String]) -> Result<Vec<OsString>> {
    const INCLUDE: &str = "kernels/include";
    // How cc tells nvcc that warnings of the host compiler are not wanted.
    const QUIET: [&str; 2] = ["-Xcompiler", "-w"];
    let machine = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let tool = cc::Build::new()
        .cuda(true)
        // nvcc finds a host compiler that it supports by itself.
        .ccbin(false)
        .no_default_flags(true)
        .warnings(false)
        .cargo_metadata(false)
        // cc asks the nvcc of `PATH` for its kind, and would report that there is none.
        .cargo_warnings(false)
        // What a build script would get from cargo.
        .host(&machine)
        .target(&machine)
        .opt_level(3)
        .out_dir(out_dir)
        .include(INCLUDE)
        .flags(flags)
        .try_get_compiler()
        .context("cc finds no C++ compiler, which nvcc needs")?;
    let known = ["-I", INCLUDE].into_iter().chain(QUIET).chain(flags.iter().map(String::as_str));
    if let Some(foreign) =
        tool.args().iter().find(|argument| !known.clone().any(|k| *argument == k))
    {
        bail!("the option {foreign:?} comes from the environment (CXXFLAGS?): unset it");
    }
    Ok(tool.args().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read_from_nvccs_banner() {
        let banner = "nvcc: NVIDIA (R) Cuda compiler driver\nBuilt on a day\n\
                      Cuda compilation tools, release 13.0, V13.0.88\n";
        assert_eq!(release(banner), Some("13.0.88"));
        assert_eq!(release("gcc 12"), None);
    }

    #[test]
    fn versions_to_try_go_up() {
        let number = |version: &str| version.replace('.', "").parse::<u32>().expect("a number");
        assert!(PTX_VERSIONS.is_sorted_by_key(|version| number(version)));
    }
}
