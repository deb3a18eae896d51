//! The errors of the program, as the user sees them.

use std::io;

/// The result of running a group of cases.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the program, or one of its cases, failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("--filter: no case has a name that begins with {}", quoted(.0))]
    NoSuchCase(Vec<String>),
    #[error("--threads {threads}: {source}")]
    Threads { threads: usize, source: tensor::Error },
    #[error("--device cuda: {0}")]
    NoCuda(gpu_runtime::Error),
    #[error(transparent)]
    SimulatorConfig(#[from] cuda_sim::control::ConfigError),
    #[error(transparent)]
    SimulatorStarted(#[from] cuda_sim::control::ConfigureError),
    #[error("{} failed; the reasons are above", quoted(.0))]
    Failed(Vec<String>),
    #[error("{call} failed: {result}")]
    Driver { call: &'static str, result: cuda_sys::CUresult },
    #[error(transparent)]
    Cudarc(#[from] cudarc::driver::DriverError),
    #[error(transparent)]
    DriverNotFound(#[from] cuda_sys::LoadError),
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    #[error("measured in a process of its own: {0}")]
    Apart(String),
    #[error("virtual time: {0}")]
    VirtualTime(#[from] cuda_sim::control::ControlError),
    #[error("virtual time: no step was measured")]
    NoStep,
    #[error(transparent)]
    Replicas(#[from] parallel::ReplicasError),
    #[error(transparent)]
    Tensor(#[from] tensor::Error),
    #[error(transparent)]
    Runtime(#[from] gpu_runtime::Error),
    #[error(transparent)]
    Allocation(#[from] gpu_alloc::Error),
    #[error("a policy of the allocator: {0}")]
    Allocator(&'static str),
    #[error(transparent)]
    Loader(#[from] parallel::LoaderError),
    #[error(transparent)]
    LoaderOptions(#[from] parallel::BuildError),
}

impl Error {
    /// Whether the user asked for something that cannot be had, as opposed to a failure on the way.
    pub(crate) fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Error::NoSuchCase(_)
                | Error::Threads { .. }
                | Error::NoCuda(_)
                | Error::SimulatorConfig(_)
                | Error::SimulatorStarted(_)
        )
    }
}

/// `` `a`, `b` ``
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
