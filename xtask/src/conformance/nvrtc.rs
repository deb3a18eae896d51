//! NVIDIA's run-time compiler, from pip wheels.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{paths, toolkit};

/// The folders of two versions of the library.
pub(super) struct Compilers {
    /// The last one for GPUs before compute capability 7.5.
    pub(super) old: PathBuf,
    /// The library of the toolkit's release.
    pub(super) new: PathBuf,
}

impl Compilers {
    /// Installs both, if they are not there.
    pub(super) fn install() -> Result<Compilers> {
        let old = install("nvrtc-12", "nvidia-cuda-nvrtc-cu12==12.9.86")?;
        let new = install("nvrtc-13", "nvidia-cuda-nvrtc==13.0.88")?;
        let compilers =
            Compilers { old: old.join("nvidia/cuda_nvrtc/lib"), new: new.join("nvidia/cu13/lib") };
        // Some programs look for the release that they were made for, or for this name.
        let plain = compilers.old.join("libnvrtc.so");
        if !plain.exists() {
            symlink("libnvrtc.so.12", &plain)
                .with_context(|| format!("cannot make {}", paths::relative(&plain)))?;
        }
        Ok(compilers)
    }
}

fn install(name: &str, package: &str) -> Result<PathBuf> {
    let target = paths::conformance().join(name);
    toolkit::install(&target, &[package])?;
    Ok(target)
}
