//! Kernels of numba-cuda, which finds our `libcuda.so.1` as it would NVIDIA's.

use std::env::join_paths;
use std::process::Command;

use anyhow::{Context, Result};

use super::folder;
use crate::libcuda::{self, BuildProfile};
use crate::test_results::Counts;
use crate::{paths, process, toolkit};

/// Exact versions. Without nvJitLink, which makes machine code, the driver is asked to link PTX.
const PACKAGES: [&str; 13] = [
    "numba==0.68.1",
    "numba-cuda==0.30.4",
    "llvmlite==0.50.0",
    "numpy==2.4.6",
    "packaging==26.3",
    "cuda-bindings==13.5.0",
    "cuda-core==1.2.2",
    "cuda-pathfinder==1.9.0",
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
];

/// Runs the kernels twice, without checks and with all of them.
pub(super) fn run() -> Result<(Counts, Result<()>)> {
    let packages = folder().join("numba");
    toolkit::install(&packages, &PACKAGES)?;
    let driver = libcuda::build(BuildProfile::Dev)?;
    let toolkit = packages.join("nvidia/cu13");
    let libraries = join_paths([driver, toolkit.join("lib")])
        .context("a folder's name cannot be in LD_LIBRARY_PATH")?;
    let mut lines = Vec::new();
    let mut result = Ok(());
    for checks in ["0", "1"] {
        let mut python = Command::new("python3");
        python.arg(paths::root().join("xtask/src/conformance/numba_kernels.py")).arg(&packages);
        python.env("CUDA_HOME", &toolkit).env("LD_LIBRARY_PATH", &libraries);
        python.env("CUDA_SIM_CHECK", checks).env_remove("CUDA_VISIBLE_DEVICES");
        let transcript = process::transcript(&mut python)?;
        lines.extend(transcript.lines);
        result = result.and(transcript.result);
    }
    Ok((Counts::of(&lines), result))
}
