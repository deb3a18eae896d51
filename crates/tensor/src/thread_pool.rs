//! The number of threads of the CPU's kernels.

use cpu_kernels::pool::{self, SetThreadsError};

use crate::{Error, Result};

/// Sets the number of threads that the CPU's kernels are split between (`torch.set_num_threads`).
/// Without a call there is one thread per core.
///
/// The number is one for the process, and cannot be changed after the first operation that is large
/// enough to be split, so this belongs at the beginning of a program.
///
/// # Errors
/// `threads` is 0, or more than 512 and more than there are cores; another number is in use
/// already; or the system refused the threads.
///
/// ```
/// tensor::set_num_threads(2)?;
/// assert!(tensor::set_num_threads(3).is_err());
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn set_num_threads(threads: usize) -> Result<()> {
    pool::set_num_threads(threads).map_err(|error| {
        let why = match error {
            SetThreadsError::Zero => "at least one is needed",
            SetThreadsError::TooMany => "that is more than 512, and more than there are cores",
            SetThreadsError::Settled => {
                "another number is settled already; call it before the first operation"
            }
            SetThreadsError::Refused => "the system refused to start the threads",
        };
        let value = threads.to_string();
        Error::InvalidArgument { op: "set_num_threads", argument: "threads", value, why }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_numbers_of_threads_are_refused() {
        for threads in [0, usize::MAX, 1 << 60, 1 << 16] {
            assert!(set_num_threads(threads).is_err(), "{threads}");
        }
    }
}
