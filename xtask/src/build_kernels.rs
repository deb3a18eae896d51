//! `cargo xtask build-kernels`: `kernels/*.cu` to `kernels/ptx/*.ptx`, or a check that what is
//! there is what the sources give.

mod compiler;
mod ptx;
mod sources;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use self::compiler::Compiler;
use self::sources::Sources;
use crate::toolkit::NVCC_VERSION;
use crate::{parallel, paths};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail where the PTX differs from what would be written. Without the nvcc that
    /// `cargo xtask toolkit` installs, compare only the hashes of the sources.
    #[arg(long)]
    check: bool,
    /// The kernel files to build, `saxpy` for kernels/saxpy.cu; all of them if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

impl Arguments {
    /// The arguments of a run with `--check`.
    pub(crate) fn check() -> Arguments {
        Arguments { check: true, names: Vec::new() }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let job = KernelBuild::new(&arguments.names)?;
    if arguments.check { job.check() } else { job.build() }
}

/// The PTX files that were made from other sources than those that are here.
pub(crate) fn stale() -> Result<Vec<PathBuf>> {
    Ok(KernelBuild::new(&[])?.stale())
}

/// nvcc's output without what differs from build to build.
pub(crate) fn tidy(raw: &str) -> Result<String> {
    ptx::tidy(raw)
}

/// The path of the nvcc that would be used, and its version.
pub(crate) fn compiler() -> Result<(PathBuf, String)> {
    let compiler = Compiler::find()?;
    Ok((compiler.path().to_owned(), compiler.version().to_owned()))
}

/// The kernel files that are to be built or checked, and where their PTX goes.
struct KernelBuild {
    sources: Sources,
    names: Vec<String>,
    ptx: PathBuf,
}

impl KernelBuild {
    /// All kernel files, or those that are asked for by name.
    fn new(asked: &[String]) -> Result<KernelBuild> {
        let folder = paths::root().join("kernels");
        let sources = Sources::read(&folder)?;
        let all: Vec<String> = sources.names().map(str::to_owned).collect();
        if let Some(unknown) = asked.iter().find(|name| !all.contains(name)) {
            bail!("there is no kernels/{unknown}.cu");
        }
        let names = if asked.is_empty() { all } else { asked.to_vec() };
        Ok(KernelBuild { sources, names, ptx: folder.join("ptx") })
    }

    fn build(&self) -> Result<()> {
        let compiler = Compiler::find()?;
        if !compiler.is_pinned() {
            eprintln!(
                "note: this is nvcc {}; what is checked in must come from {NVCC_VERSION}, which \
                 `cargo xtask toolkit` installs",
                compiler.version()
            );
        }
        fs::create_dir_all(&self.ptx).context("cannot create kernels/ptx")?;
        for (name, text) in self.compile_all(&compiler)? {
            let path = self.ptx_path(name);
            fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
            println!("{}: {} KiB", paths::relative(&path), text.len().div_ceil(1024));
        }
        for path in self.orphans()? {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            println!("{}: removed, since it has no source", paths::relative(&path));
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let mut wrong = self.orphans()?;
        wrong.extend(match Compiler::find() {
            Ok(compiler) if compiler.is_pinned() => self.differing(&compiler)?,
            Ok(compiler) => self.only_stale(&format!("this is nvcc {}", compiler.version())),
            Err(error) => self.only_stale(&error.to_string()),
        });
        let wrong: Vec<_> = wrong.iter().map(|path| paths::relative(path).to_string()).collect();
        ensure!(
            wrong.is_empty(),
            "not what the sources in kernels/ give: {}; run `cargo xtask build-kernels`",
            wrong.join(", ")
        );
        Ok(())
    }

    /// The files that differ from what the compiler makes now.
    fn differing(&self, compiler: &Compiler) -> Result<Vec<PathBuf>> {
        let mut compiled = self.compile_all(compiler)?;
        compiled.retain(|(name, text)| self.present(name).as_deref() != Some(text));
        Ok(compiled.iter().map(|(name, _)| self.ptx_path(name)).collect())
    }

    /// All that can be said without the compiler.
    fn only_stale(&self, why: &str) -> Vec<PathBuf> {
        eprintln!(
            "{why}\nOnly the hashes of the sources are compared: to compare the PTX takes nvcc \
             {NVCC_VERSION}, which `cargo xtask toolkit` installs."
        );
        self.stale()
    }

    /// The files that were made from other sources.
    fn stale(&self) -> Vec<PathBuf> {
        let stale = self.names.iter().filter(|name| !self.has_current_hash(name));
        stale.map(|name| self.ptx_path(name)).collect()
    }

    /// The PTX of every kernel file by name, or all that is wrong with them.
    fn compile_all(&self, compiler: &Compiler) -> Result<Vec<(&str, String)>> {
        let results = parallel::map(&self.names, |name| {
            self.compile(compiler, name).with_context(|| format!("kernels/{name}.cu"))
        });
        let errors: Vec<_> =
            results.iter().filter_map(|r| r.as_ref().err()).map(|e| format!("{e:#}")).collect();
        ensure!(errors.is_empty(), "{}", errors.join("\n"));
        Ok(self.names.iter().map(String::as_str).zip(results.into_iter().flatten()).collect())
    }

    fn compile(&self, compiler: &Compiler, name: &str) -> Result<String> {
        let text = ptx::tidy(&compiler.compile(name)?)?;
        ptx::ensure_reproducible(&text)?;
        let version = compiler.least_version(name, &text)?;
        let text = ptx::with_version(&text, version);
        Ok(self.sources.header(name, compiler.version()) + &text)
    }

    fn has_current_hash(&self, name: &str) -> bool {
        let header = self.sources.header(name, NVCC_VERSION);
        self.present(name).is_some_and(|text| text.starts_with(&header))
    }

    fn present(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.ptx_path(name)).ok()
    }

    fn ptx_path(&self, name: &str) -> PathBuf {
        self.ptx.join(name).with_extension("ptx")
    }

    /// PTX files that no source gives.
    fn orphans(&self) -> Result<Vec<PathBuf>> {
        let has_source = |path: &PathBuf| self.sources.names().any(|n| self.ptx_path(n) == *path);
        let mut files = paths::files(&self.ptx, "ptx")?;
        files.retain(|path| !has_source(path));
        Ok(files)
    }
}
