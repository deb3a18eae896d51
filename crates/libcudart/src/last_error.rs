//! The last error of each thread.

use std::cell::Cell;

use crate::error::{Result, cudaError_t};

thread_local! {
    static LAST: Cell<cudaError_t> = const { Cell::new(cudaError_t::cudaSuccess) };
}

/// The answer to the program. An error becomes the thread's last one.
pub(crate) fn answer(result: Result) -> cudaError_t {
    match result {
        Ok(()) => cudaError_t::cudaSuccess,
        Err(error) => {
            LAST.set(error);
            error
        }
    }
}

/// The last error, which stays.
pub(crate) fn peek() -> cudaError_t {
    LAST.get()
}

/// The last error. It is forgotten, unless what failed is lost for good.
pub(crate) fn take() -> cudaError_t {
    let last = LAST.get();
    if !last.is_sticky() {
        forget();
    }
    last
}

/// Forgets the last error, whatever it is.
pub(crate) fn forget() {
    LAST.set(cudaError_t::cudaSuccess);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_does_not_hide_an_earlier_error() {
        assert_eq!(answer(Err(cudaError_t::cudaErrorInvalidValue)), cudaError_t(1));
        assert_eq!(answer(Ok(())), cudaError_t::cudaSuccess);
        assert_eq!(peek(), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(take(), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(take(), cudaError_t::cudaSuccess);
    }

    #[test]
    fn an_error_of_a_kernel_is_not_taken_away() {
        assert_eq!(answer(Err(cudaError_t::cudaErrorLaunchFailure)), cudaError_t(719));
        assert_eq!(take(), take());
        forget();
        assert_eq!(peek(), cudaError_t::cudaSuccess);
    }
}
