//! The ways in which a case is not passed.

/// Why a case did not pass.
#[derive(Debug)]
pub(crate) enum CaseFailure {
    /// The library gave another answer than PyTorch.
    Wrong(String),
    /// The adapter knows no such operation, keyword or argument.
    Unsupported(String),
    /// The library gave an error.
    Library(tensor::Error),
    /// A number is none of the type that the library takes, like -1 as a size: a program gets the
    /// error from `usize::try_from`.
    Conversion(String),
    /// An error at another place than the case is about: in its preparation, or in another step
    /// than the one that is expected to fail.
    Elsewhere(String),
}

impl CaseFailure {
    /// An error of the library in what a case needs before its call. A tensor of too many
    /// dimensions is refused when it is made: PyTorch has it, and its operations refuse it.
    pub(crate) fn of_preparation(error: tensor::Error) -> CaseFailure {
        match CaseFailure::Library(error) {
            refused @ CaseFailure::Library(tensor::Error::TooManyDims { .. }) => refused,
            unsupported if unsupported.is_unsupported() => {
                CaseFailure::Unsupported(unsupported.detail())
            }
            failure => CaseFailure::Elsewhere(format!("an input: {}", failure.detail())),
        }
    }

    /// Whether it means that the library has no such operation or dtype, or not on the device.
    pub(crate) fn is_unsupported(&self) -> bool {
        match self {
            CaseFailure::Unsupported(_) | CaseFailure::Conversion(_) => true,
            CaseFailure::Library(error) => is_lacking(error),
            CaseFailure::Wrong(_) | CaseFailure::Elsewhere(_) => false,
        }
    }

    /// The text about it in the report.
    pub(crate) fn detail(&self) -> String {
        match self {
            CaseFailure::Wrong(why)
            | CaseFailure::Unsupported(why)
            | CaseFailure::Conversion(why)
            | CaseFailure::Elsewhere(why) => why.clone(),
            CaseFailure::Library(error) => match std::error::Error::source(error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            },
        }
    }
}

impl From<tensor::Error> for CaseFailure {
    fn from(error: tensor::Error) -> CaseFailure {
        CaseFailure::Library(error)
    }
}

/// Whether the library says by one of its two variants for this that it has no such dtype there, or the
/// operation on the CPU only.
fn is_lacking(error: &tensor::Error) -> bool {
    match error {
        tensor::Error::UnsupportedDType { .. } | tensor::Error::NotOnHost { .. } => true,
        tensor::Error::Autograd(tensor::AutogradError::Backward { source, .. }) => {
            is_lacking(source)
        }
        _ => false,
    }
}
