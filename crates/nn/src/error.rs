//! The errors of layers whose input does not fit.

use std::fmt;

use tensor::{Error, Tensor};

/// The reason why a layer could not use its input. It is the source of a
/// [`tensor::Error::Other`].
#[derive(thiserror::Error)]
#[error("{layer}: {problem}")]
pub struct LayerError {
    layer: String,
    problem: String,
    source: Error,
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for LayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl LayerError {
    /// The error of an operation as that of `layer`, if the cause is that the input does not fit
    /// the layer: it lacks the property `expected`, or is elsewhere or of another dtype than the
    /// `weight`. Any other error stays what it is.
    pub(crate) fn explain(
        error: Error,
        layer: impl FnOnce() -> String,
        weight: &Tensor,
        input: &Tensor,
        expected: Option<String>,
    ) -> Error {
        let problem = match &error {
            Error::DeviceMismatch { .. } if weight.device() != input.device() => {
                let (here, there) = (weight.device(), input.device());
                format!(
                    "its parameters are on {here}, the input on {there}; move one of them with \
                     .to(device)"
                )
            }
            Error::DTypeMismatch { .. } if weight.dtype() != input.dtype() => {
                let (own, given) = (weight.dtype(), input.dtype());
                format!(
                    "its parameters are {own}, the input {given}; convert one of them with \
                     .to(dtype)"
                )
            }
            Error::ShapeMismatch { .. } | Error::DimOutOfRange { .. } => match expected {
                Some(expected) => format!("expected {expected}, got input {:?}", input.shape()),
                None => return error,
            },
            _ => return error,
        };
        LayerError::of(layer(), problem, error)
    }

    /// The error of an operation as that of `layer`, which has this problem with its input.
    pub(crate) fn of(layer: String, problem: String, source: Error) -> Error {
        Error::other(LayerError { layer, problem, source })
    }
}
