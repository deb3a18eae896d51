//! numba-cuda, which finds our `libcuda.so.1` as it would NVIDIA's: its own tests, and kernels of ours
//! with and without checks.

mod packages;
mod suite;

use std::path::Path;

use anyhow::{Result, ensure};

use self::packages::{CompilerRelease, PythonEnvironment};
pub(crate) use self::suite::SuiteScore;
use self::suite::{NumbaTests, SHORT};
use crate::libcuda::{self, BuildProfile};
use crate::{paths, process};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run a few modules only.
    #[arg(long)]
    short: bool,
    /// The release of NVIDIA's compilers.
    #[arg(long, value_enum, default_value = "13.1")]
    compilers: CompilerRelease,
    /// Run modules only whose name has this in it, such as `test_array`.
    #[arg(long)]
    module: Vec<String>,
}

impl Arguments {
    /// The arguments of the gate.
    pub(crate) fn short() -> Arguments {
        Arguments { short: true, compilers: CompilerRelease::Release13_1, module: Vec::new() }
    }
}

/// Runs the kernels and the suite.
///
/// # Errors
/// If they cannot be run, if a kernel fails, or if the list is wrong. Whether tests failed is in the
/// score.
pub(crate) fn run(arguments: &Arguments) -> Result<SuiteScore> {
    // The gate has the one profile built, and a program of a stranger is faster with the other.
    let profile = if arguments.short { BuildProfile::Dev } else { BuildProfile::Release };
    let libraries = libcuda::build(profile)?;
    let environment = PythonEnvironment::install(arguments.compilers)?;
    kernels(&environment, &libraries)?;
    let suite = NumbaTests {
        release: arguments.compilers,
        environment: &environment,
        libraries: &libraries,
    };
    if arguments.short { suite.run(&SHORT) } else { suite.run(&arguments.module) }
}

/// Fails if a test did.
pub(crate) fn verdict(score: &SuiteScore) -> Result<()> {
    ensure!(score.failed == 0, "{} tests of numba-cuda fail", score.failed);
    Ok(())
}

/// Runs the kernels twice, without checks and with all of them.
fn kernels(environment: &PythonEnvironment, libraries: &Path) -> Result<()> {
    for checks in ["0", "1"] {
        let mut python = environment.command(libraries)?;
        python.arg(paths::root().join("xtask/src/conformance/numba/kernels.py"));
        process::transcript(python.env("CUDA_SIM_CHECK", checks))?.result?;
    }
    Ok(())
}
