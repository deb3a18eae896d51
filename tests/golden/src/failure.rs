//! The ways in which a case is not passed.

/// Why a case did not pass.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library gave another answer than PyTorch.
    Wrong(String),
    /// The adapter knows no such operation, keyword or argument.
    Unsupported(String),
    /// The library gave an error.
    Library(tensor::Error),
    /// An error at another place than the case is about: in its preparation, or in another step
    /// than the one that is expected to fail.
    Elsewhere(String),
}

impl Failure {
    /// An error of the library in what a case needs before its call.
    pub(crate) fn of_preparation(error: tensor::Error) -> Failure {
        match Failure::Library(error) {
            unsupported if unsupported.is_unsupported() => {
                Failure::Unsupported(unsupported.detail())
            }
            failure => Failure::Elsewhere(format!("an input: {}", failure.detail())),
        }
    }

    /// Whether it means that the library has no such operation or dtype.
    pub(crate) fn is_unsupported(&self) -> bool {
        match self {
            Failure::Unsupported(_) => true,
            Failure::Library(error) => lacks_dtype(error),
            Failure::Wrong(_) | Failure::Elsewhere(_) => false,
        }
    }

    /// What is said about it in the report.
    pub(crate) fn detail(&self) -> String {
        match self {
            Failure::Wrong(why) | Failure::Unsupported(why) | Failure::Elsewhere(why) => {
                why.clone()
            }
            Failure::Library(error) => match std::error::Error::source(error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            },
        }
    }
}

impl From<tensor::Error> for Failure {
    fn from(error: tensor::Error) -> Failure {
        Failure::Library(error)
    }
}

/// Whether the library says by its one variant for this that it has no such dtype there.
fn lacks_dtype(error: &tensor::Error) -> bool {
    match error {
        tensor::Error::UnsupportedDType { .. } => true,
        tensor::Error::Autograd(tensor::AutogradError::Backward { source, .. }) => {
            lacks_dtype(source)
        }
        _ => false,
    }
}
