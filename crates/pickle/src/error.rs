//! Why bytes cannot be read as a pickle.

/// The result of reading a pickle.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes are no pickle that can be read, with the number of bytes that could be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// They are no pickle, or a damaged one, or one of more than plain data.
    #[error("{problem} (byte {at})")]
    Malformed {
        /// The number of bytes that could be read.
        at: usize,
        /// The mistake after them.
        problem: &'static str,
    },
    /// It names a class or a function that is not on the caller's list.
    #[error("it asks for `{module}.{name}`, which is not on the list of what is known (byte {at})")]
    Global {
        /// The number of bytes that could be read.
        at: usize,
        /// The module, as it stands there.
        module: String,
        /// The name in the module.
        name: String,
    },
}
