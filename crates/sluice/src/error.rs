//! The one error of programs that use Sluice.

use std::fmt;

/// The result of anything in Sluice, and of programs that use it.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something failed, by the part of Sluice that it failed in. The errors of all crates convert
/// into it, so `?` takes any of them; those of a program's own become [`Error::Other`] by
/// [`Error::other`].
///
/// `Debug` prints the same text as `Display`, so a `main` that returns it says in plain words what
/// is wrong:
///
/// ```
/// use sluice::prelude::*;
///
/// fn main() -> sluice::Result<()> {
/// #   let result = || -> sluice::Result<()> {
///     let x = Tensor::ones([2, 3], ())?;
///     let y = x.matmul(&x)?;
/// #   drop(y);
/// #   Ok(())
/// #   };
/// #   let text = format!("{:?}", result().unwrap_err());
/// #   assert!(text.starts_with("matmul: `self` has shape [2, 3], `other` [2, 3]"), "{text}");
///     Ok(())
/// }
/// // Error: matmul: `self` has shape [2, 3], `other` [2, 3]: the last size of `self` ..
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation on tensors, a gradient, a layer or an optimizer.
    #[error(transparent)]
    Tensor(tensor::Error),
    /// The driver, a device, a stream or a kernel.
    #[error(transparent)]
    Runtime(gpu_runtime::Error),
    /// Memory of a device, or page-locked memory.
    #[error(transparent)]
    Memory(gpu_alloc::Error),
    /// A state dict does not fit its module.
    #[error(transparent)]
    State(nn::StateError),
    /// A batch could not be made.
    #[error(transparent)]
    Loader(parallel::LoaderError),
    /// A loader could not be built.
    #[error(transparent)]
    LoaderOptions(#[from] parallel::BuildError),
    /// A module could not be run on several devices.
    #[error(transparent)]
    DataParallel(parallel::DataParallelError),
    /// A file, or another service of the system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// An error of the program's own, or of another crate that it uses.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Any other error, or a text, as an error of this type.
    ///
    /// ```
    /// # fn main() -> sluice::Result<()> {
    /// let epochs: usize = "12".parse().map_err(sluice::Error::other)?;
    /// assert_eq!(epochs, 12);
    /// assert_eq!(sluice::Error::other("the loss is NaN").to_string(), "the loss is NaN");
    /// # Ok(())
    /// # }
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Other(error.into())
    }

    /// Whether a device had no memory left. The program can then drop tensors and try again, or use
    /// a smaller batch.
    ///
    /// ```
    /// use sluice::prelude::*;
    /// # fn main() -> sluice::Result<()> {
    /// sluice::cuda::software(1)?;
    /// let huge = || -> sluice::Result<Tensor> { Ok(Tensor::empty([1 << 50], Device::cuda())?) };
    /// assert!(huge().is_err_and(|error| error.is_out_of_memory()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Memory(gpu_alloc::Error::OutOfMemory(_))
            | Error::Runtime(gpu_runtime::Error::OutOfMemory { .. }) => true,
            Error::Tensor(error) => error.is_out_of_memory(),
            Error::State(nn::StateError::Tensor(error)) => error.is_out_of_memory(),
            Error::Loader(
                parallel::LoaderError::Pin { source, .. }
                | parallel::LoaderError::Prefetch { source, .. },
            ) => source.is_out_of_memory(),
            _ => false,
        }
    }
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error of the runtime or of memory stays one, whichever floor it came through.
impl From<tensor::Error> for Error {
    fn from(error: tensor::Error) -> Error {
        match error {
            tensor::Error::Runtime(error) => error.into(),
            tensor::Error::Allocation(error) => error.into(),
            error => Error::Tensor(error),
        }
    }
}

impl From<gpu_runtime::Error> for Error {
    fn from(error: gpu_runtime::Error) -> Error {
        Error::Runtime(error)
    }
}

impl From<gpu_alloc::Error> for Error {
    fn from(error: gpu_alloc::Error) -> Error {
        match error {
            gpu_alloc::Error::Runtime(error) => error.into(),
            error => Error::Memory(error),
        }
    }
}

impl From<tensor::AutogradError> for Error {
    fn from(error: tensor::AutogradError) -> Error {
        Error::Tensor(error.into())
    }
}

impl From<nn::StateError> for Error {
    fn from(error: nn::StateError) -> Error {
        match error {
            nn::StateError::Tensor(error) => error.into(),
            error => Error::State(error),
        }
    }
}

impl From<parallel::LoaderError> for Error {
    fn from(error: parallel::LoaderError) -> Error {
        Error::Loader(error)
    }
}

impl From<parallel::DataParallelError> for Error {
    fn from(error: parallel::DataParallelError) -> Error {
        match error {
            parallel::DataParallelError::Tensor(error) => error.into(),
            error => Error::DataParallel(error),
        }
    }
}
