//! `cargo xtask toolkit`: nvcc, the CUDA headers and libclang, from pip wheels into `target`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{paths, process};

/// The release of nvcc that the PTX in the repository is made with.
pub(crate) const NVCC_VERSION: &str = "13.0.88";

/// Exact versions, so that every machine makes the same PTX and the same bindings.
const PACKAGES: [&str; 6] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-cccl==13.0.85",
    "libclang==18.1.1",
];

/// The file in such a folder that says which packages it was made from.
const STAMP: &str = "packages.txt";

pub(crate) fn run() -> Result<()> {
    if !install(&paths::toolkit(), &PACKAGES)? {
        println!("the toolkit is up to date");
    }
    println!("nvcc: {}", paths::relative(&paths::toolkit_cuda().join("bin/nvcc")));
    Ok(())
}

/// Installs packages into a folder, unless that holds these packages already. Says whether it did.
///
/// It installs into a new folder and then puts it in the old one's place, so that an interrupted
/// installation leaves nothing that looks complete.
pub(crate) fn install(folder: &Path, packages: &[&str]) -> Result<bool> {
    let wanted = packages.join("\n") + "\n";
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|present| present == wanted) {
        return Ok(false);
    }
    let new = folder.with_extension("new");
    let old = folder.with_extension("old");
    remove(&new)?;
    remove(&old)?;
    pip(&new, packages)?;
    fs::write(new.join(STAMP), wanted).context("cannot write the list of packages")?;
    if folder.exists() {
        rename(folder, &old)?;
    }
    rename(&new, folder)?;
    remove(&old)?;
    Ok(true)
}

fn pip(folder: &Path, packages: &[&str]) -> Result<()> {
    println!("installing {}", packages.join(", "));
    process::run(
        Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--only-binary", ":all:", "--target"])
            .arg(folder)
            .args(packages)
            // It warns root about system packages, which a folder of our own never touches.
            .env("PIP_ROOT_USER_ACTION", "ignore"),
    )
    .context("cannot install it: that needs python3 with pip, and a package index")
}

fn remove(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", paths::relative(folder)))
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to)
        .with_context(|| format!("cannot rename {} to {}", paths::relative(from), to.display()))
}
