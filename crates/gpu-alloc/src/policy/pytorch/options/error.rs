//! Why options were not understood.

/// Mistakes in a text that should hold options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// An option that does not exist.
    #[error("there is no option `{key}`: it must be one of {known}")]
    UnknownKey {
        /// The text where an option should be.
        key: String,
        /// The options that decide something.
        known: &'static str,
    },
    /// An option has a value that it cannot have.
    #[error("{key} is `{value}`: it must be {expected}")]
    Value {
        /// The option.
        key: String,
        /// The value that it is set to.
        value: String,
        /// The values that it may be set to.
        expected: &'static str,
    },
    /// PyTorch has this, and its allocator here has not.
    #[error("{key} is `{value}`, which is not supported: {reason}")]
    Unsupported {
        /// The option.
        key: String,
        /// The value that it is set to.
        value: String,
        /// Why not, or what else there is.
        reason: &'static str,
    },
    /// The text does not read `key:value,key:value`.
    #[error("after `{after}` there is {found}: there must be {expected}")]
    Syntax {
        /// The part that was read so far.
        after: String,
        /// The text that comes then.
        found: String,
        /// The text that must come.
        expected: &'static str,
    },
}
