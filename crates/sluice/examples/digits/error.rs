//! The errors of the program, as the user sees them.

use std::path::PathBuf;

use sluice::runtime;

/// The reason why the program ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{path}: {source}", path = .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}, line {line}: {what}", path = .path.display())]
    Malformed { path: PathBuf, line: u64, what: String },
    #[error("{path}: {found} rows, where {expected} are expected", path = .path.display())]
    WrongRows { path: PathBuf, found: usize, expected: usize },
    #[error("{path} unpacks to more than {limit} bytes: it is not the data set", path = .path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("CUDA is not available: {0}. Of this program: --device software:N")]
    NoCuda(runtime::Error),
    #[error(transparent)]
    Runtime(#[from] runtime::Error),
    #[error(transparent)]
    Training(#[from] sluice::Error),
}

impl Error {
    /// Whether the input or the command line is at fault, and not the training.
    pub(crate) fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Error::Unreadable { .. }
                | Error::Malformed { .. }
                | Error::WrongRows { .. }
                | Error::TooLarge { .. }
                | Error::NoCuda(_)
                | Error::Runtime(_)
        )
    }
}
