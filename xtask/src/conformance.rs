//! `cargo xtask conformance`: programs of others against the software driver, and jobs of several
//! processes.

pub(crate) mod cudarc;
mod lists;
pub(crate) mod mpi;
pub(crate) mod numba;
mod nvrtc;
mod package;
mod ptx;
mod runtime;
mod torch;

use anyhow::Result;
use clap::Subcommand;

use crate::libcuda::BuildProfile;
use crate::test_results::Counts;
use crate::{libcuda, process};

#[derive(Subcommand)]
pub(crate) enum ConformanceSuite {
    /// A client that was built from another header, linked against our libcuda.so: calls,
    /// constants, signatures and sizes.
    Abi,
    /// The unit tests of published versions of cudarc, which open our libcuda.so.
    Cudarc,
    /// The communicator over MPI: trainings on several processes, and ranks that fail. Installs
    /// OpenMPI where it is missing, as root and with apt.
    Mpi,
    /// The tests of a published version of numba-cuda, and kernels of it with and without checks.
    /// Needs a python3 for which there are wheels of it.
    Numba(numba::Arguments),
    /// Checks that all PTX is supported that nvcc makes of the kernels here, ours and the software
    /// driver's corpus, for three architectures.
    Ptx(ptx::Arguments),
    /// Programs of the runtime API, on CUB and Thrust too, over the software driver: with checks and
    /// without, on 1, 2 and 4 devices.
    Runtime(runtime::Arguments),
    /// PyTorch's own wheel over our runtime library: devices, memory, streams, events and graphs.
    /// Skipped where the Python has no torch.
    Torch(torch::Arguments),
}

/// Runs a suite and prints `passed N failed N`, with the suite's own counts after it.
pub(crate) fn run(suite: &ConformanceSuite) -> Result<()> {
    match suite {
        ConformanceSuite::Abi => {
            let (counts, result) = abi()?;
            println!("{counts}");
            result
        }
        ConformanceSuite::Mpi => {
            let (counts, result) = mpi::run()?;
            println!("{counts}");
            result
        }
        ConformanceSuite::Numba(arguments) => {
            let score = numba::run(arguments)?;
            println!("{score}");
            numba::verdict(&score)
        }
        ConformanceSuite::Ptx(arguments) => {
            let (counts, result) = ptx::run(arguments)?;
            println!("{counts}");
            result
        }
        ConformanceSuite::Runtime(arguments) => {
            let (counts, result) = runtime::run(arguments)?;
            println!("{counts}");
            result
        }
        ConformanceSuite::Torch(arguments) => {
            let (counts, result) = torch::run(arguments)?;
            println!("{counts}");
            result
        }
        ConformanceSuite::Cudarc => {
            let scores = cudarc::run()?;
            scores.iter().for_each(|score| println!("{score}"));
            cudarc::verdict(&scores)
        }
    }
}

/// Runs the tests in tests/abi-client: their counts, and an error if any failed.
pub(crate) fn abi() -> Result<(Counts, Result<()>)> {
    let folder = libcuda::build(BuildProfile::Dev)?;
    let mut cargo = process::cargo(&["test", "--manifest-path", "tests/abi-client/Cargo.toml"]);
    // The one is for the linker, by way of cuda-driver-sys' build script, the other for the loader.
    cargo.env("CUDA_LIBRARY_PATH", &folder).env("LD_LIBRARY_PATH", &folder);
    // The tests need two devices, and none of what the caller's environment may have set.
    cargo.env("CUDA_SIM_DEVICES", "2").env_remove("CUDA_VISIBLE_DEVICES");
    let transcript = process::transcript(&mut cargo)?;
    Ok((Counts::of(&transcript.lines), transcript.result))
}

/// Runs `cargo xtask conformance ptx --short`.
pub(crate) fn ptx() -> Result<(Counts, Result<()>)> {
    ptx::run(&ptx::Arguments::short())
}

/// Runs `cargo xtask conformance runtime --short`.
pub(crate) fn runtime() -> Result<(Counts, Result<()>)> {
    runtime::run(&runtime::Arguments::short())
}
