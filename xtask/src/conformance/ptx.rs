//! `cargo xtask conformance ptx`: what nvcc makes of all kernels that are here, for three
//! architectures, has nothing in it that the software driver does not support.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::test_results::Counts;
use crate::{build_kernels, parallel, paths, process, programs};

/// The architectures that CUDA 13 compiles for and this driver reads.
const ARCHITECTURES: [&str; 3] = ["75", "80", "90"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write what nvcc makes of the corpus to where it is checked in.
    #[arg(long)]
    write: bool,
    /// For the newest architecture only, as the gate does.
    #[arg(long, conflicts_with = "write")]
    short: bool,
}

impl Arguments {
    /// The arguments of the gate: it compiles our kernels for the oldest architecture in another step.
    pub(super) fn short() -> Arguments {
        Arguments { write: false, short: true }
    }

    fn architectures(&self) -> &'static [&'static str] {
        if self.short { &ARCHITECTURES[ARCHITECTURES.len() - 1..] } else { &ARCHITECTURES }
    }
}

/// Compiles all kernels and checks their PTX.
pub(super) fn run(arguments: &Arguments) -> Result<(Counts, Result<()>)> {
    let (nvcc, _) = build_kernels::compiler()?;
    let corpus = paths::root().join("crates/ptx/tests/ptx/corpus");
    let output = paths::conformance().join("ptx");
    fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;
    let mut jobs = Vec::new();
    for (source, written) in sources(&corpus)?
        .into_iter()
        .map(|source| (source, arguments.write.then_some(corpus.as_path())))
        .chain(sources(&paths::root().join("kernels"))?.into_iter().map(|source| (source, None)))
    {
        for &architecture in arguments.architectures() {
            jobs.push(PtxCompilation { source: source.clone(), architecture, written });
        }
    }
    let compiled = parallel::map(&jobs, |job| job.compile(&nvcc, &output));
    let files = compiled.into_iter().collect::<Result<Vec<_>>>()?;
    let mut check = programs::built("ptx-check")?;
    check.args(&files);
    let result = process::run(&mut check);
    let count = files.len() as u32;
    let (passed, failed) = if result.is_ok() { (count, 0) } else { (0, count) };
    Ok((Counts { passed, failed, ..Counts::default() }, result))
}

/// A file to be compiled for an architecture.
struct PtxCompilation<'a> {
    source: PathBuf,
    architecture: &'static str,
    /// The folder that the PTX is checked in at.
    written: Option<&'a Path>,
}

impl PtxCompilation<'_> {
    fn compile(&self, nvcc: &Path, output: &Path) -> Result<PathBuf> {
        let PtxCompilation { source, architecture, written } = self;
        let folder = source.parent().context("a source lies in a folder")?;
        let name = source.file_name().context("a source has a name")?;
        let target = output.join(name).with_extension(format!("{architecture}.ptx"));
        let mut command = Command::new(nvcc);
        // The source's path gets into the PTX through `assert`, so it must be relative.
        command
            .current_dir(folder)
            .args(["--ptx", "-std=c++17", "-diag-suppress", "186,550"])
            .args(["-I", "include", "-I"])
            .arg(paths::root().join("kernels/include"))
            .arg(format!("-arch=compute_{architecture}"))
            .arg(name)
            .arg("-o")
            .arg(&target);
        process::run(&mut command)?;
        if let Some(folder) = written {
            let text = fs::read_to_string(&target).context("cannot read nvcc's output")?;
            let place = folder.join(name).with_extension(format!("{architecture}.ptx"));
            fs::write(&place, build_kernels::tidy(&text)?)
                .with_context(|| format!("cannot write {}", place.display()))?;
        }
        Ok(target)
    }
}

/// The `.cu` files of a folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
    files.sort();
    ensure!(!files.is_empty(), "no kernels in {}", folder.display());
    Ok(files)
}
