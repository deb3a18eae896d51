//! numba-cuda and what it needs, from pip wheels, and a Python that finds them.

use std::env::join_paths;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{paths, process, toolkit};

/// Exact versions of what does not depend on the release of the compilers. What comes after numpy is
/// for the tests.
const PACKAGES: [&str; 17] = [
    "numba==0.68.1",
    "numba-cuda==0.30.4",
    "llvmlite==0.50.0",
    "packaging==26.3",
    "cuda-bindings==13.5.0",
    "cuda-core==1.2.2",
    "cuda-pathfinder==1.9.0",
    "numpy==2.4.6",
    "cffi==2.1.1",
    "pycparser==3.12",
    "filecheck==1.0.6",
    "ml_dtypes==0.6.0",
    "psutil==7.2.2",
    "pytest==9.2.0",
    "iniconfig==2.3.1",
    "pluggy==1.7.0",
    "pygments==2.21.0",
];

/// A release of NVIDIA's compilers. All without nvJitLink, which makes machine code: the driver is
/// asked to link PTX then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompilerRelease {
    /// PTX 9.1.
    #[value(name = "13.1")]
    Release13_1,
    /// PTX 9.5.
    #[value(name = "13.5")]
    Release13_5,
}

impl CompilerRelease {
    pub(super) fn name(self) -> &'static str {
        match self {
            CompilerRelease::Release13_1 => "13.1",
            CompilerRelease::Release13_5 => "13.5",
        }
    }

    fn packages(self) -> [&'static str; 5] {
        match self {
            CompilerRelease::Release13_1 => [
                "nvidia-cuda-nvrtc==13.1.115",
                "nvidia-cuda-runtime==13.1.80",
                "nvidia-cuda-cccl==13.1.115",
                "nvidia-cuda-crt==13.1.115",
                "nvidia-nvvm==13.1.115",
            ],
            CompilerRelease::Release13_5 => [
                "nvidia-cuda-nvrtc==13.5.37",
                "nvidia-cuda-runtime==13.5.37",
                "nvidia-cuda-cccl==13.3.5.0.6",
                "nvidia-cuda-crt==13.5.37",
                "nvidia-nvvm==13.5.37",
            ],
        }
    }
}

/// A Python environment with the packages.
pub(super) struct PythonEnvironment {
    /// The folder of the packages.
    pub(super) packages: PathBuf,
    python: PathBuf,
}

impl PythonEnvironment {
    /// Installs the packages, if they are not there.
    pub(super) fn install(release: CompilerRelease) -> Result<PythonEnvironment> {
        let packages = paths::conformance().join(format!("numba-{}", release.name()));
        toolkit::install(&packages, &[&PACKAGES[..], &release.packages()].concat())?;
        let python = python(&packages)?;
        Ok(PythonEnvironment { packages, python })
    }

    /// The interpreter, which finds our libraries in this folder before all others.
    pub(super) fn command(&self, libraries: &Path) -> Result<Command> {
        let toolkit = self.packages.join("nvidia/cu13");
        let libraries = join_paths([libraries, &toolkit.join("lib")])
            .context("a folder's name cannot be in LD_LIBRARY_PATH")?;
        let mut python = Command::new(&self.python);
        python.env("CUDA_HOME", &toolkit).env("LD_LIBRARY_PATH", libraries);
        // What a person has set is not meant for this.
        for name in ["CUDA_VISIBLE_DEVICES", "PYTHONPATH", "PYTHONHOME"] {
            python.env_remove(name);
        }
        Ok(python)
    }
}

/// Makes an environment that looks for packages in a folder: so do the processes that tests start,
/// and `.pth` files in it work, by which numba-cuda takes the place of a part of numba.
fn python(packages: &Path) -> Result<PathBuf> {
    let environment = packages.with_added_extension("venv");
    let python = environment.join("bin/python");
    if !python.exists() {
        let mut venv = Command::new("python3");
        process::run(venv.args(["-m", "venv", "--without-pip"]).arg(&environment))?;
    }
    let mut ask = Command::new(&python);
    let site = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let site = process::output(ask.args(["-c", site]))?;
    let file = Path::new(site.trim()).join("packages.pth");
    // Python reads a text of JSON as JSON does.
    let packages = serde_json::to_string(packages)?;
    fs::write(&file, format!("import site; site.addsitedir({packages})\n"))
        .with_context(|| format!("cannot write {}", paths::relative(&file)))?;
    Ok(python)
}
