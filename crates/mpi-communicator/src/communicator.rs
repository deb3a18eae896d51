//! The communicator of a process in an MPI job.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, thread};

use collectives::{Communicator, ReduceOp};
use tensor::{Result, Tensor};

use crate::error::MpiError;
use crate::group::ProcessGroup;
use crate::{exchange, reduction};

/// The longest that an operation waits for other ranks, unless the program says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// One process of a job that `mpirun` started, as a member of the group of all of them
/// (`torch.distributed` with the backend `mpi`).
///
/// There is one in a process; threads may share it. A process that `mpirun` did not start is a
/// group by itself.
///
/// # Streams
/// The elements of a tensor on the CPU are sent from where they lie. Those of a tensor on a CUDA
/// device pass through page-locked memory of the host, so the calling thread waits for the work
/// that the tensor comes from; the copy back is enqueued on the current stream, and not waited for.
///
/// # Sums
/// Each rank reduces a part of the elements, in the order of the ranks, and sends its result to all
/// others: the bits are the same on all ranks, and in each run. `f16` and `bf16` are summed in
/// `f32` and rounded once.
///
/// # The end of a job
/// An error of one rank is to end all. Dropped in a panic, or after an error of an operation or
/// [`abort`](Communicator::abort), the communicator gives the other ranks two seconds to end, too,
/// and leaves MPI as it is: `mpirun` ends the job as soon as the process has ended, with a status
/// other than zero, and names the rank. Dropped in any other state, it waits until all other ranks
/// drop theirs. A rank that is killed ends the job by `mpirun`.
///
/// ```no_run
/// use collectives::ReduceOp;
/// use mpi_communicator::MpiCommunicator;
/// use tensor::{Result, Tensor};
///
/// fn main() -> Result<()> {
///     MpiCommunicator::init()?.run(|communicator| {
///         let x = Tensor::full([2], communicator.rank() as f64, ())?;
///         communicator.all_reduce(&x, ReduceOp::Sum)?;
///         if communicator.rank() == 0 {
///             println!("{x}"); // with 4 ranks: 6, 6
///         }
///         Ok(())
///     })
/// }
/// ```
pub struct MpiCommunicator {
    group: ProcessGroup,
}

impl MpiCommunicator {
    /// Initialises MPI, with a time-out of 30 minutes.
    ///
    /// # Errors
    /// As [`with_timeout`](MpiCommunicator::with_timeout).
    pub fn init() -> Result<MpiCommunicator, MpiError> {
        MpiCommunicator::with_timeout(TIMEOUT)
    }

    /// Initialises MPI. An operation that has waited so long for another rank ends in
    /// [`MpiError::TimedOut`].
    ///
    /// It should be called in the main thread, and before the process has others, as MPI may start
    /// processes.
    ///
    /// # Errors
    /// MPI was initialised before in this process, or its library must not be used by several
    /// threads.
    pub fn with_timeout(timeout: Duration) -> Result<MpiCommunicator, MpiError> {
        Ok(MpiCommunicator { group: ProcessGroup::join(timeout)? })
    }

    /// Runs a program as this rank. If it ends in an error, the operations of the other ranks are
    /// errors that have this rank's number and the error's text.
    ///
    /// # Errors
    /// Those of the program.
    pub fn run<T>(self, program: impl FnOnce(Arc<dyn Communicator>) -> Result<T>) -> Result<T> {
        let communicator = Arc::new(self);
        let result = program(communicator.clone());
        if let Err(error) = &result {
            communicator.abort(&error.to_string());
        }
        result
    }
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn size(&self) -> usize {
        self.group.size()
    }

    fn all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<()> {
        reduction::check("all_reduce", tensor, op)?;
        exchange::all_reduce(&self.group, tensor, op)
    }

    fn broadcast(&self, tensor: &Tensor, source: usize) -> Result<()> {
        if source >= self.size() {
            let (operation, size) = ("broadcast", self.size());
            return Err(MpiError::NoSuchRank { operation, rank: source, size }.into());
        }
        exchange::broadcast(&self.group, tensor, source)
    }

    fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        exchange::all_gather(&self.group, tensor)
    }

    fn barrier(&self) -> Result<()> {
        self.group.run("barrier", "", |_| Ok(()))
    }

    fn abort(&self, reason: &str) {
        self.group.abort(reason);
    }
}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        if thread::panicking() {
            self.group.abort("it panicked");
        }
        self.group.leave();
    }
}

impl fmt::Debug for MpiCommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("MpiCommunicator");
        debug.field("rank", &self.rank()).field("size", &self.size()).finish()
    }
}
