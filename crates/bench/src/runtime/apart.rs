//! The cases in a process of their own, which has the software driver as a shared library: so the
//! runtime and cudarc load the very same driver, each in its own way.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::GROUP;
use crate::error::{Error, Result};
use crate::harness::Bench;

/// The variable with the folders that the dynamic loader searches first.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Has another process measure, and hands its lines on.
pub(super) fn run(bench: &mut Bench, threads: usize) -> Result<()> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--device", "cuda", "--threads", &threads.to_string()]);
    command.args(["--filter", &bench.prefixes_in(GROUP).join(",")]);
    command.args(["--samples", &bench.samples().to_string(), "--peer", bench.peer()]);
    let others = env::var_os(LIBRARIES).unwrap_or_default();
    let folders = [software_driver()?].into_iter().chain(env::split_paths(&others));
    let folders = env::join_paths(folders).map_err(|error| Error::Apart(error.to_string()))?;
    // "nvidia" is whatever is called libcuda.so.1.
    command.env(LIBRARIES, folders).env("GPU_DRIVER", "nvidia");
    command.env("CUDA_SIM_DEVICES", "2").env("CUDA_SIM_WORKERS", threads.to_string());
    let mut process = command.stdout(Stdio::piped()).spawn()?;
    if let Some(output) = process.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            let told: Option<Value> = serde_json::from_str(&line).ok();
            let case = told.as_ref().and_then(|told| told["case"].as_str());
            bench.hand_on(case.unwrap_or(GROUP), &line)?;
        }
    }
    match process.wait()?.code() {
        // It did not know a prefix, which this process then does not either.
        Some(0 | 2) => Ok(()),
        _ => {
            bench.fail(GROUP, &Error::Apart("the reasons are above".to_owned()));
            Ok(())
        }
    }
}

/// Builds the software driver as a shared library, and tells the folder that it is in.
fn software_driver() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["xtask", "libcuda"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let built = command.stderr(Stdio::inherit()).output()?;
    let folder = String::from_utf8_lossy(&built.stdout).trim().to_owned();
    if built.status.success() && Path::new(&folder).is_dir() {
        Ok(folder.into())
    } else {
        Err(Error::Apart("`cargo xtask libcuda` has built no driver".to_owned()))
    }
}
