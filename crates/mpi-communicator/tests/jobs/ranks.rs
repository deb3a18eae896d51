//! Tests whose bodies run in the processes of an MPI job.

use std::any::type_name;
use std::io::{self, Write};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;
use std::{env, iter};

use collectives::Communicator;
use mpi_communicator::MpiCommunicator;
use tensor::{Error, Result};

/// Set, to the test's name, in the processes of its job.
const TEST: &str = "SLUICE_MPI_TEST";

/// The text of a rank whose body has passed.
const PASSED: &str = "the body has passed";

/// The longest that a rank waits for others where the test is not about that.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What has become of a job.
pub(crate) struct JobEnd {
    pub(crate) status: ExitStatus,
    /// Everything that its processes and `mpirun` wrote.
    pub(crate) text: String,
}

/// Runs the body of a test in so many ranks, all of which must succeed.
pub(crate) fn ranks<F: FnOnce(Arc<dyn Communicator>) -> Result<()>>(count: usize, body: F) {
    if let Some(JobEnd { status, text }) = job(count, PATIENCE, body) {
        assert!(status.success(), "{text}");
        // A name that matches no test also ends in success.
        assert_eq!(text.matches(PASSED).count(), count, "{text}");
    }
}

/// Runs the body of a test in so many ranks, with a time-out. A rank whose body ends in an error
/// prints it with its number, and its process fails. It is none in these ranks, for which the test
/// is over.
pub(crate) fn job<F: FnOnce(Arc<dyn Communicator>) -> Result<()>>(
    count: usize,
    timeout: Duration,
    body: F,
) -> Option<JobEnd> {
    let name = test_name::<F>();
    if env::var_os(TEST).is_some_and(|test| test == name) {
        let communicator = MpiCommunicator::with_timeout(timeout).expect("MPI");
        let result = communicator.run(|communicator| {
            let rank = communicator.rank();
            let result = body(communicator);
            match &result {
                Ok(()) => say(rank, PASSED),
                Err(error) => say(rank, &error.to_string()),
            }
            result
        });
        assert!(result.is_ok(), "its rank failed");
        return None;
    }
    let program = env::current_exe().expect("the test binary has a path");
    let mut mpirun = mpirun(count);
    mpirun.arg(program).args([name, "--exact", "--nocapture", "--test-threads=1"]);
    // Streams run in the order in which a missing wait is noticed.
    mpirun.env("CUDA_SIM_SCHEDULE", "adversarial:5").env("RUST_BACKTRACE", "0");
    Some(ended(mpirun.env(TEST, name)))
}

/// `mpirun` for processes of this machine only.
pub(crate) fn mpirun(count: usize) -> Command {
    let mut mpirun = Command::new("mpirun");
    // Containers have few processors, one user, and no network but themselves.
    mpirun.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "--timeout",
        "300",
    ]);
    let parameters =
        [("plm", "isolated"), ("pml", "ob1"), ("btl", "self,vader"), ("oob_tcp_if_include", "lo")];
    let parameters = parameters.map(|(name, value)| ["--mca", name, value]);
    mpirun.args(parameters.as_flattened()).args(["-n", &count.to_string()]);
    mpirun
}

/// Runs a job to its end.
pub(crate) fn ended(mpirun: &mut Command) -> JobEnd {
    let output = mpirun.output().expect("OpenMPI is installed");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    JobEnd { status: output.status, text: text.concat() }
}

/// Calls `step` for ever, until it fails.
pub(crate) fn steps(step: impl FnMut(usize) -> Result<()>) -> Result<()> {
    iter::successors(Some(0), |step| Some(step + 1)).try_for_each(step)
}

/// Writes a line at once, or else what several ranks write is mixed.
fn say(rank: usize, text: &str) {
    let _ = io::stderr().write_all(format!("rank {rank}: {text}\n").as_bytes());
}

/// An error of a program.
pub(crate) fn failure<T>(text: &str) -> Result<T> {
    Err(Error::other(text))
}

/// The name of the test that a closure is in, as the test binary knows it.
fn test_name<F>() -> &'static str {
    let path = type_name::<F>().trim_end_matches("::{{closure}}");
    path.split_once("::").map_or(path, |(_, name)| name)
}
