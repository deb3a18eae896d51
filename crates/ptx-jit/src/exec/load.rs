//! The way into the crate: a text becomes a program whose code calls the functions of this room.

use super::helpers;
use crate::program::Program;

impl Program {
    /// Parses and validates a module. Kernels are translated when they are first asked for.
    ///
    /// # Errors
    /// A module that is malformed, or uses what is not supported, with the position of the first
    /// such place.
    pub fn load(source: &str) -> Result<Program, ptx::Error> {
        Program::link(source, helpers::address)
    }
}
