//! `cargo xtask bindgen`: the generated files of cuda-sys, from cuda.h and an allow-list, and the
//! list of what the software driver refuses.

#[cfg(feature = "bindgen")]
mod allow;
#[cfg(feature = "bindgen")]
mod functions;
#[cfg(feature = "bindgen")]
mod generate;
#[cfg(feature = "bindgen")]
mod headers;
#[cfg(feature = "bindgen")]
mod names;
#[cfg(feature = "bindgen")]
mod types;

use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail where the files differ from what would be written.
    #[arg(long)]
    check: bool,
}

impl Arguments {
    /// The arguments of a run with `--check`.
    pub(crate) fn check() -> Arguments {
        Arguments { check: true }
    }
}

#[cfg(feature = "bindgen")]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    generate::run(arguments.check)
}

/// Starts this command again with bindgen compiled in, which takes long to build and which no
/// other command needs. The path of libclang is handed over by the environment, where bindgen
/// looks for it.
#[cfg(not(feature = "bindgen"))]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut cargo = crate::process::cargo(&[
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--features",
        "bindgen",
        "--",
        "bindgen",
    ]);
    if arguments.check {
        cargo.arg("--check");
    }
    if std::env::var_os("LIBCLANG_PATH").is_none() {
        cargo.env("LIBCLANG_PATH", crate::paths::toolkit_libclang());
    }
    crate::process::run(&mut cargo)
}
