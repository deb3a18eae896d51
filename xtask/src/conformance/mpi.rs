//! The communicator over MPI, in jobs of several processes on this machine.

use std::env;
use std::process::Command;

use anyhow::Result;

use crate::test_results::Counts;
use crate::unavailable::Unavailable;
use crate::{paths, process, toolkit};

/// Debian's packages of OpenMPI.
const PACKAGES: [&str; 2] = ["libopenmpi-dev", "openmpi-bin"];

/// The programs that the library is built with and jobs are started with.
const PROGRAMS: [&str; 2] = ["mpicc", "mpirun"];

/// The targets that have the crate's examples, which its tests start, and these.
const EXAMPLES: [&str; 4] = ["--example", "first_job", "--example", "distributed_digits"];
const TESTS: [&str; 2] = ["--test", "jobs"];

/// Runs the crate's tests: their counts, and an error if any failed.
///
/// # Errors
/// [`Unavailable`] if OpenMPI or libclang is not installed and cannot be.
pub(crate) fn run() -> Result<(Counts, Result<()>)> {
    install()?;
    install_libclang()?;
    process::run(&mut cargo("build", &EXAMPLES)?)?;
    let transcript = process::transcript(&mut cargo("test", &TESTS)?)?;
    Ok((Counts::of(&transcript.lines), transcript.result))
}

/// Runs clippy on the crate, which commands for the workspace see without MPI only.
pub(crate) fn clippy() -> Result<()> {
    let mut clippy = cargo("clippy", &[&EXAMPLES[..], &TESTS].concat())?;
    process::run(clippy.args(["--", "-D", "warnings"]))
}

/// A command of cargo on the crate with MPI.
///
/// It names the whole workspace, so that all packages have the features that other commands for the
/// workspace build them with, and the translator of kernels is not built again.
fn cargo(command: &str, targets: &[&str]) -> Result<Command> {
    let mut cargo = process::cargo(&[command, "--workspace", "--features", "mpi-communicator/mpi"]);
    cargo.args(targets);
    // The build reads MPI's headers. The wheel of libclang comes without the compiler's own, and
    // gcc has them.
    let libclang = paths::toolkit_libclang();
    if env::var_os("LIBCLANG_PATH").is_none() && libclang.exists() {
        let gcc = process::output(Command::new("gcc").arg("-print-file-name=include"))?;
        cargo.env("LIBCLANG_PATH", libclang);
        cargo.env("BINDGEN_EXTRA_CLANG_ARGS", format!("-isystem {}", gcc.trim()));
    }
    Ok(cargo)
}

/// Installs OpenMPI where it is missing and this process may.
fn install() -> Result<()> {
    if PROGRAMS.iter().all(|program| is_there(program)) {
        return Ok(());
    }
    let packages = PACKAGES.join(" ");
    let by_hand = format!("MPI is not installed: run `apt-get install {packages}`");
    let user = process::output(Command::new("id").arg("-u")).unwrap_or_default();
    if user.trim() != "0" || !is_there("apt-get") {
        return Err(Unavailable(by_hand + " as root").into());
    }
    let install = ["install", "--yes", "--no-install-recommends"];
    let installed = apt(&["update"]).and_then(|()| apt(&[&install[..], &PACKAGES].concat()));
    installed.map_err(|error| Unavailable(format!("{by_hand}; it could not be: {error:#}")).into())
}

/// Installs the toolkit, which has libclang, where none is named and it is missing.
fn install_libclang() -> Result<()> {
    if env::var_os("LIBCLANG_PATH").is_some() || paths::toolkit_libclang().exists() {
        return Ok(());
    }
    toolkit::run().map_err(|error| {
        let by_hand = "MPI's headers are read with libclang: set LIBCLANG_PATH to its folder";
        Unavailable(format!("{by_hand}; it could not be installed: {error:#}")).into()
    })
}

fn apt(arguments: &[&str]) -> Result<()> {
    let mut apt = Command::new("apt-get");
    apt.arg("--quiet=2").args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    process::run(&mut apt)
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}
