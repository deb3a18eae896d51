//! PyTorch's own wheel, whose libraries are linked to the shared runtime library, over ours.

use std::process::Command;

use anyhow::Result;

use crate::libcuda::{self, BuildProfile};
use crate::test_results::Counts;
use crate::{paths, process};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The Python that has torch, in an environment of its own or not.
    #[arg(long, default_value = "python3")]
    python: String,
}

/// Runs the tests with that Python. They say that they are skipped where it has no torch: the wheel
/// and what it needs take several gigabytes, which nothing here installs.
pub(crate) fn run(arguments: &Arguments) -> Result<(Counts, Result<()>)> {
    let libraries = libcuda::build(BuildProfile::Release)?;
    let mut python = Command::new(&arguments.python);
    python.arg(paths::root().join("tests/runtime-api/python/torch_wheel.py"));
    python.env("LD_LIBRARY_PATH", &libraries);
    // The wheel's libraries have a path to NVIDIA's runtime library built in, which the loader follows
    // before LD_LIBRARY_PATH. What is preloaded has the name already, and is not looked for.
    python.env("LD_PRELOAD", libraries.join("libcudart.so.13"));
    python.env("CUDA_SIM_DEVICES", "2").env("CUDA_SIM_MEMORY", "8GiB");
    // PyTorch makes segments that grow of memory that other processes can open, unless it is told that
    // nobody will.
    python.env("TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC", "0");
    python.env_remove("CUDA_VISIBLE_DEVICES").env_remove("PYTORCH_CUDA_ALLOC_CONF");
    python.env_remove("PYTORCH_ALLOC_CONF");
    let transcript = process::transcript(&mut python)?;
    Ok((Counts::of(&transcript.lines), transcript.result))
}
