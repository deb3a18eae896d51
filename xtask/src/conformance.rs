//! `cargo xtask conformance`: programs of others against the software driver.

use anyhow::Result;
use clap::Subcommand;

use crate::test_results::Counts;
use crate::{libcuda, process};

#[derive(Subcommand)]
pub(crate) enum Suite {
    /// A client that was built from another header, linked against our libcuda.so: calls,
    /// constants, signatures and sizes.
    Abi,
}

/// Runs a suite and prints `passed N failed N`.
pub(crate) fn run(suite: &Suite) -> Result<()> {
    let (counts, result) = match suite {
        Suite::Abi => abi()?,
    };
    println!("{counts}");
    result
}

/// What came of the tests in tests/abi-client, and whether all is well.
pub(crate) fn abi() -> Result<(Counts, Result<()>)> {
    let folder = libcuda::build()?;
    let mut cargo = process::cargo(&["test", "--manifest-path", "tests/abi-client/Cargo.toml"]);
    // The one is for the linker, by way of cuda-driver-sys' build script, the other for the loader.
    cargo.env("CUDA_LIBRARY_PATH", &folder).env("LD_LIBRARY_PATH", &folder);
    // The tests need two devices, and none of what the caller's environment may have set.
    cargo.env("CUDA_SIM_DEVICES", "2").env_remove("CUDA_VISIBLE_DEVICES");
    let transcript = process::transcript(&mut cargo)?;
    Ok((Counts::of(&transcript.lines), transcript.result))
}
