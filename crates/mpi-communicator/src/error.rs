//! The errors of a group of processes.

use std::fmt;
use std::time::Duration;

/// The reason why processes could not exchange something.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI can be initialised once in a process, also after it was finalised.
    #[error(
        "MPI was initialised before in this process, which is possible once: hand the communicator \
         that there is to whoever needs one"
    )]
    InitializedBefore,
    /// The MPI library must not be called from several threads at once.
    #[error(
        "the MPI library provides {provided} where threads need Multiple; use one that is built \
         with MPI_THREAD_MULTIPLE, as Debian's OpenMPI is"
    )]
    NoThreads {
        /// The level of threading that it provides.
        provided: String,
    },
    /// A function of MPI failed.
    #[error("{function}: {reason}")]
    Failed {
        /// The function.
        function: &'static str,
        /// MPI's text.
        reason: String,
    },
    /// Two ranks are in different operations, or in one with different tensors.
    #[error(
        "rank {rank} calls {own}, rank {other} {others}: all ranks must call the same operations \
         in the same order"
    )]
    Disagreement {
        /// The rank of this process.
        rank: usize,
        /// The operation and the tensor here.
        own: String,
        /// The rank that calls something else.
        other: usize,
        /// The operation and the tensor there.
        others: String,
    },
    /// Other ranks did not come.
    #[error(
        "{operation}: rank {rank} has waited {} s for {}", timeout.as_secs_f64(), Ranks(missing)
    )]
    TimedOut {
        /// The operation.
        operation: &'static str,
        /// The rank of this process.
        rank: usize,
        /// The time that it has waited.
        timeout: Duration,
        /// The ranks that it has waited for.
        missing: Vec<usize>,
    },
    /// A rank called `abort`, or panicked.
    #[error("{operation}: rank {rank} has aborted: {reason}")]
    Aborted {
        /// The operation that this process was in.
        operation: &'static str,
        /// The rank that has aborted.
        rank: usize,
        /// Its reason.
        reason: String,
    },
    /// A rank has dropped its communicator while others go on.
    #[error(
        "{operation}: rank {rank} has left the group, and this one goes on: all ranks must call the \
         same operations"
    )]
    Left {
        /// The operation that this process was in.
        operation: &'static str,
        /// The rank that has left.
        rank: usize,
    },
    /// The host has no memory for what other ranks send.
    #[error("the host has no {bytes} bytes of memory left for what other ranks send")]
    HostOutOfMemory {
        /// The size of a message.
        bytes: usize,
    },
    /// There is no such rank.
    #[error("{operation}: there is no rank {rank} in a group of {size}")]
    NoSuchRank {
        /// The operation.
        operation: &'static str,
        /// The rank that was asked for.
        rank: usize,
        /// The number of ranks.
        size: usize,
    },
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error as one of tensors, which operations and programs have.
impl From<MpiError> for tensor::Error {
    fn from(error: MpiError) -> tensor::Error {
        tensor::Error::other(error)
    }
}

/// `rank 1`, or `ranks 1, 3`.
struct Ranks<'a>(&'a [usize]);

impl fmt::Display for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "rank{} {}", if ranks.len() == 1 { "" } else { "s" }, ranks.join(", "))
    }
}
