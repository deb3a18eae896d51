//! The error by which a caller tells that nothing was done.

use std::fmt;

/// Something that a command needs is not on this machine: it ends with status 3, having done nothing.
#[derive(Debug)]
pub(crate) struct Unavailable(pub(crate) String);

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}
