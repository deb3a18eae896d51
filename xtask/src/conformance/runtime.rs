//! Programs of the runtime API, compiled by nvcc and the host's compiler, over the software driver.

mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use self::program::{RuntimeProgram, programs};
use crate::libcuda::{self, BuildProfile};
use crate::test_results::Counts;
use crate::{parallel, paths, process, toolkit};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave out the programs on CUB and Thrust, and run the others on two devices only.
    #[arg(long)]
    short: bool,
}

impl Arguments {
    /// The arguments of the gate.
    pub(crate) fn short() -> Arguments {
        Arguments { short: true }
    }
}

/// The headers of version 12.
const HEADERS_12: [&str; 1] = ["nvidia-cuda-runtime-cu12==12.9.79"];

/// No program takes longer, unless it hangs.
const MAX_SECONDS: u64 = 300;

/// The folders that programs are compiled with.
struct Folders {
    /// Our libraries.
    libraries: PathBuf,
    /// Our runtime libraries without a driver.
    without_driver: PathBuf,
    headers_12: PathBuf,
    binaries: PathBuf,
}

/// One run of a program.
struct ProgramRun<'p> {
    program: &'p RuntimeProgram,
    devices: u32,
    checked: bool,
}

/// Compiles all programs and runs each on 1, 2 and 4 devices, with and without checks.
pub(crate) fn run(arguments: &Arguments) -> Result<(Counts, Result<()>)> {
    let nvcc = paths::toolkit_cuda().join("bin/nvcc");
    ensure!(nvcc.exists(), "there is no nvcc; `cargo xtask toolkit` installs it");
    // The gate has the one profile built, and 10 million elements want the other.
    let profile = if arguments.short { BuildProfile::Dev } else { BuildProfile::Release };
    let folders = Folders::prepare(profile)?;
    let programs = programs(&paths::root().join("tests/runtime-api"), arguments.short)?;
    let compiled = parallel::map(&programs, |program| folders.compile(program));
    let mut counts = Counts::default();
    let mut fine = Vec::new();
    for (program, result) in programs.iter().zip(compiled) {
        match result {
            Ok(()) => fine.push(program),
            Err(error) => {
                println!("{}: {error:#}", program.name());
                counts.failed += 1;
            }
        }
    }
    let devices: &[u32] = if arguments.short { &[2] } else { &[1, 2, 4] };
    let runs: Vec<_> = fine
        .iter()
        .flat_map(|program| {
            let checks = devices.iter().flat_map(|devices| [(*devices, false), (*devices, true)]);
            checks.map(|(devices, checked)| ProgramRun { program, devices, checked })
        })
        .collect();
    for (run, outcome) in runs.iter().zip(parallel::map(&runs, |run| folders.outcome(run))) {
        match outcome? {
            None => counts.passed += 1,
            Some(text) => {
                let (devices, checked) = (run.devices, run.checked);
                let name = run.program.name();
                println!("{name}, {devices} devices, checked: {checked}:\n{}", text.trim_end());
                counts.failed += 1;
            }
        }
    }
    let result = match counts.failed {
        0 => Ok(()),
        failed => Err(anyhow::anyhow!("{failed} programs of the runtime API failed")),
    };
    Ok((counts, result))
}

impl Folders {
    fn prepare(profile: BuildProfile) -> Result<Folders> {
        let folder = paths::target().join("conformance");
        let headers = folder.join("runtime-12");
        toolkit::install(&headers, &HEADERS_12)?;
        let binaries = folder.join("runtime");
        let without_driver = binaries.join("without-driver");
        fs::create_dir_all(&without_driver)?;
        let libraries = libcuda::build(profile)?;
        for name in ["libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1"] {
            fs::copy(libraries.join(name), without_driver.join(name))?;
        }
        let headers_12 = headers.join("nvidia/cuda_runtime/include");
        Ok(Folders { libraries, without_driver, headers_12, binaries })
    }

    fn binary(&self, program: &RuntimeProgram) -> PathBuf {
        self.binaries.join(program.name().replace('/', "-"))
    }

    /// Compiles a program, unless that was done since it last changed.
    fn compile(&self, program: &RuntimeProgram) -> Result<()> {
        let binary = self.binary(program);
        if is_newer(&binary, &program.sources)? {
            return Ok(());
        }
        let cuda = paths::toolkit_cuda();
        let mut command = match program.version {
            None => {
                let mut nvcc = Command::new(cuda.join("bin/nvcc"));
                nvcc.args(["-std=c++17", "-cudart", "shared"]);
                if !program.flags.iter().any(|flag| flag == "-gencode") {
                    nvcc.args(["-gencode", "arch=compute_75,code=compute_75"]);
                }
                nvcc.arg("-I").arg(cuda.join("include/cccl"));
                nvcc.args(&program.flags).arg("-L").arg(&self.libraries);
                // What code for devices links against; there is nothing of it in these programs.
                nvcc.arg("-L").arg(cuda.join("lib"));
                nvcc
            }
            Some(version) => {
                let mut compiler = Command::new("cc");
                compiler.args(["-std=gnu11", "-D_GNU_SOURCE", "-Wno-deprecated-declarations"]);
                compiler.arg(format!("-DLIBRARY=\"libcudart.so.{version}\""));
                if version == 12 {
                    compiler.arg("-I").arg(&self.headers_12);
                }
                // After the others: the wheel of version 12 lacks headers that both have.
                compiler.arg("-idirafter").arg(cuda.join("include")).args(&program.flags);
                compiler
            }
        };
        command.arg("-o").arg(&binary).arg(&program.sources[0]).args(&program.parts);
        command.args(program.libraries.iter().map(|name| format!("-l{name}"))).arg("-ldl");
        process::output(&mut command).map(drop)
    }

    /// Runs a program: what it printed, if it failed.
    fn outcome(&self, run: &ProgramRun<'_>) -> Result<Option<String>> {
        let program = run.program;
        let mut command = Command::new(self.binary(program));
        let libraries = if program.without_driver { &self.without_driver } else { &self.libraries };
        command.env_remove("CUDA_VISIBLE_DEVICES").env("LD_LIBRARY_PATH", libraries);
        command.env("CUDA_SIM_DEVICES", run.devices.to_string());
        let checks = program.checks.as_deref().unwrap_or("1");
        command.env("CUDA_SIM_CHECK", if run.checked { checks } else { "0" });
        // Checks make a kernel many times slower.
        command.env("MAX_ELEMENTS", if run.checked { "70000" } else { "10000000" });
        command.envs(program.environment.iter().map(|(name, value)| (name, value)));
        let end = process::ended_within(&mut command, Duration::from_secs(MAX_SECONDS))?;
        let is_fine = end.succeeded && end.text.lines().any(|line| line == "ok");
        Ok((!is_fine).then_some(end.text))
    }
}

/// Whether a file is there and newer than all of the others.
fn is_newer(file: &Path, others: &[PathBuf]) -> Result<bool> {
    let changed = |path: &Path| {
        let time = fs::metadata(path).and_then(|metadata| metadata.modified());
        time.with_context(|| format!("cannot look at {}", paths::relative(path)))
    };
    let Ok(made) = changed(file) else {
        return Ok(false);
    };
    for other in others {
        if changed(other)? >= made {
            return Ok(false);
        }
    }
    Ok(true)
}
