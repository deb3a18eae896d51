//! The programs that work on Sluice itself needs: none of them to build or to use it.

use std::process::Command;

use super::diagnosis::Diagnosis;
use crate::toolkit::NVCC_VERSION;
use crate::{build_kernels, paths, process};

const TOOLKIT: &str = "run `cargo xtask toolkit`, which needs python3 with pip";

pub(super) fn entries() -> Vec<Diagnosis> {
    vec![nvcc(), libclang(), python(), torch()]
}

fn nvcc() -> Diagnosis {
    match build_kernels::compiler() {
        Ok((path, version)) if version == NVCC_VERSION => {
            Diagnosis::new("nvcc", format!("{version}, {}", paths::relative(&path)))
        }
        Ok((path, version)) => Diagnosis::new("nvcc", format!("{version}, {}", path.display()))
            .advice(format!("to change kernels/ptx takes {NVCC_VERSION}: set NVCC to it")),
        Err(error) => Diagnosis::new("nvcc", format!("none: {error}"))
            .advice(format!("to change a kernel, {TOOLKIT}")),
    }
}

fn libclang() -> Diagnosis {
    let folder = paths::toolkit_libclang();
    if folder.exists() {
        return Diagnosis::new("libclang", paths::relative(&folder).to_string());
    }
    Diagnosis::new("libclang", "none").advice(format!("for `cargo xtask bindgen`, {TOOLKIT}"))
}

fn python() -> Diagnosis {
    match ask_python("import platform; print(platform.python_version())") {
        Some(version) => Diagnosis::new("python3", version),
        None => Diagnosis::new("python3", "none").advice("install it, for `cargo xtask toolkit`"),
    }
}

fn torch() -> Diagnosis {
    match ask_python("import torch; print(torch.__version__)") {
        Some(version) => Diagnosis::new("PyTorch", version),
        None => Diagnosis::new("PyTorch", "none, and none is needed")
            .advice("to make the tests' expected numbers anew, `python3 -m pip install torch`"),
    }
}

fn ask_python(program: &str) -> Option<String> {
    let answer = process::output(Command::new("python3").args(["-c", program])).ok()?;
    Some(answer.trim().to_owned())
}
