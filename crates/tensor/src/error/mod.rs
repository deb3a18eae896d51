//! The errors of tensors and of what is made of them, by kind. Each names the operation and its
//! arguments.

mod autograd;

use std::fmt;
use std::iter;
use std::panic::Location;

pub use autograd::AutogradError;

use crate::{DType, Device, Shape};

/// The result of a tensor operation, or of a program's own function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something failed, by kind. An operation that fails never leaves a tensor half changed, but for
/// a device that is lost.
///
/// It is the one error of the crates from this one up, and of programs that use them: the errors of
/// other crates convert into it, and those of the program by [`Error::other`]. `Debug` prints the same
/// text as `Display`, so a `main` that returns an error says what is wrong.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // Operands that do not fit together.
    /// The operands lie on different devices.
    #[error("{op}: {}; move one with .to(..){}", DeviceList(arguments), peers(arguments))]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// Each argument and its device.
        arguments: Vec<(&'static str, Device)>,
    },
    /// The sizes of the operands do not fit together.
    #[error("{op}: {}: {rule}", ShapeList(shapes))]
    ShapeMismatch {
        /// The operation.
        op: &'static str,
        /// Each argument and its shape.
        shapes: Vec<(&'static str, Shape)>,
        /// The rule that the operands do not meet.
        rule: &'static str,
    },
    /// The dtypes of the operands do not fit together.
    #[error("{op}: {}: {rule}; convert one with .to(dtype)", DTypeList(arguments))]
    DTypeMismatch {
        /// The operation.
        op: &'static str,
        /// Each argument and its dtype.
        arguments: Vec<(&'static str, DType)>,
        /// The rule that the operands do not meet.
        rule: &'static str,
    },
    /// The operation does not exist for this dtype.
    #[error("{op}: not available for {dtype} on {device}; convert with .to(dtype)")]
    UnsupportedDType {
        /// The operation.
        op: &'static str,
        /// The dtype it was asked for.
        dtype: DType,
        /// The device it was asked for on.
        device: Device,
    },

    // Arguments that are wrong by themselves.
    /// The tensor has no such dimension.
    #[error("{op}: dimension {dim} of a tensor with {dims} dimensions")]
    DimOutOfRange {
        /// The operation.
        op: &'static str,
        /// The dimension that was given; negative ones count from the end.
        dim: isize,
        /// The number of dimensions.
        dims: usize,
    },
    /// The tensor has another number of dimensions than is asked for.
    #[error("{op}: a tensor of shape {shape} has {} dimensions, not {expected}", shape.len())]
    WrongDims {
        /// The operation.
        op: &'static str,
        /// The tensor's shape.
        shape: Shape,
        /// The number of dimensions that was asked for.
        expected: usize,
    },
    /// An index lies outside the dimension it selects from.
    #[error(
        "{op}: index {index}{} is out of range for a dimension of size {size}",
        at(*position)
    )]
    IndexOutOfRange {
        /// The operation.
        op: &'static str,
        /// The number of the index in a tensor of indices, in row-major order.
        position: Option<usize>,
        /// The index.
        index: i64,
        /// The size of the dimension.
        size: usize,
    },
    /// A number of elements does not fit the shape it should take.
    #[error("{op}: {numel} elements do not fit the shape {shape}")]
    WrongNumel {
        /// The operation.
        op: &'static str,
        /// The number of elements.
        numel: usize,
        /// The shape that was asked for.
        shape: Shape,
    },
    /// Nested data whose entries differ in size.
    #[error(
        "{op}: an entry holds {found} {}, where the first of its kind holds {expected}; rows must \
         have equal lengths",
        RowEntries(inner)
    )]
    Ragged {
        /// The operation.
        op: &'static str,
        /// The number of entries that the first of its level holds.
        expected: usize,
        /// The number that this one holds.
        found: usize,
        /// The shape of each of them.
        inner: Shape,
    },
    /// An argument has a value that the operation does not take.
    #[error("{op}: {argument} = {value}: {why}")]
    InvalidArgument {
        /// The operation.
        op: &'static str,
        /// The argument's name.
        argument: &'static str,
        /// The value, written out.
        value: String,
        /// The values that would be accepted, or the reason why this one is not.
        why: &'static str,
    },

    // How the tensor lies in memory.
    /// The elements do not lie in the order that a view of this shape, or a guard, needs.
    #[error(
        "{op}: shape {shape} with strides {strides:?} has no such view; use reshape, or contiguous() first"
    )]
    NotContiguous {
        /// The operation.
        op: &'static str,
        /// The tensor's shape.
        shape: Shape,
        /// Its strides, in elements.
        strides: Vec<isize>,
    },
    /// Host memory was asked for, but the tensor lies on a CUDA device.
    #[error("{op}: the tensor is on {device}; bring it over with .cpu()")]
    NotOnHost {
        /// The operation.
        op: &'static str,
        /// The device that it lies on.
        device: Device,
    },
    /// The operation would write page-locked memory of which a read guard lives.
    #[error(
        "{op}: the page-locked memory is read through a guard that was taken at {location}; drop that \
         first"
    )]
    GuardHeld {
        /// The operation.
        op: &'static str,
        /// The place in the source where the guard was taken.
        location: &'static Location<'static>,
    },
    /// A byte of a bool tensor is neither 0 nor 1: it was read before it was written.
    #[error("{op}: the bool tensor holds a byte that is neither 0 nor 1; it was never written")]
    InvalidBool {
        /// The operation.
        op: &'static str,
    },

    /// An elementwise function, or the derivative of one, has more operands or numbers than a kernel
    /// takes.
    #[error(
        "{op}: {given} {what} are more than the {most} that a kernel takes; compute it in parts"
    )]
    TooManyOperands {
        /// The operation.
        op: &'static str,
        /// `inputs`, `outputs` or `scalars`.
        what: &'static str,
        /// The number that the function has.
        given: usize,
        /// The most that a kernel takes.
        most: usize,
    },

    // Memory.
    /// The product of the sizes is more elements or bytes than memory can have. Sizes of 0 count as
    /// 1 here, since a view may leave them out.
    #[error("a tensor of shape {shape} and dtype {dtype} is larger than any memory")]
    TooLarge {
        /// The shape.
        shape: Shape,
        /// The dtype.
        dtype: DType,
    },
    /// The tensor would have more dimensions than a tensor can have.
    #[error("{dims} dimensions are too many: a tensor has at most {most}")]
    TooManyDims {
        /// The number that it would have.
        dims: usize,
        /// The most that a tensor can have.
        most: usize,
    },
    /// A view would reach beyond the memory of its tensor.
    #[error("a view of shape {shape} would not lie inside the memory of its tensor")]
    OutsideStorage {
        /// The shape of the view.
        shape: Shape,
    },
    /// The host has no memory left.
    #[error("the host has no {bytes} bytes of memory left")]
    HostOutOfMemory {
        /// The size that was asked for, in bytes.
        bytes: usize,
    },

    // Gradients.
    /// Gradients could not be computed, or a tensor could not take part in them.
    #[error(transparent)]
    Autograd(#[from] AutogradError),

    // From code that uses tensors.
    /// A file, or another service of the system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// An error of a crate above this one (of a loader, of a replica of a module), or of the program
    /// itself: see [`Error::other`].
    #[error(transparent)]
    Other(#[from] Box<dyn std::error::Error + Send + Sync>),

    // From the crates below.
    /// The runtime or the driver failed.
    #[error(transparent)]
    Runtime(#[from] gpu_runtime::Error),
    /// Device memory or page-locked memory could not be allocated.
    #[error(transparent)]
    Allocation(#[from] gpu_alloc::Error),
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The error of an operation that may not use memory of the host.
    pub(crate) fn of_host_access(op: &'static str, error: gpu_runtime::Error) -> Error {
        match error {
            gpu_runtime::Error::GuardHeld { place } => Error::GuardHeld { op, location: place },
            error => error.into(),
        }
    }

    /// Any other error, or a text, as an error of this type, so that functions of a program have one
    /// error: their own are [`Error::Other`].
    ///
    /// ```
    /// use tensor::{Error, Result};
    ///
    /// fn epochs(text: &str) -> Result<usize> {
    ///     let epochs = text.parse().map_err(Error::other)?;
    ///     if epochs == 0 { Err(Error::other("no epochs, nothing learned")) } else { Ok(epochs) }
    /// }
    /// assert_eq!(epochs("12")?, 12);
    /// assert_eq!(epochs("many").unwrap_err().to_string(), "invalid digit found in string");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Other(error.into())
    }

    /// Whether the cause is that a device had no memory left: in the operation itself, in the
    /// backward pass, in a replica or a loader. The program can then drop tensors and try again, or
    /// use a smaller batch.
    ///
    /// ```
    /// use gpu_runtime::DriverChoice;
    /// use tensor::{DType, Device, Tensor};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
    /// let huge = Tensor::empty([1 << 50], (DType::F32, Device::cuda_at(0)));
    /// assert!(huge.is_err_and(|error| error.is_out_of_memory()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_out_of_memory(&self) -> bool {
        use gpu_runtime::Error::OutOfMemory;

        match self {
            Error::Allocation(gpu_alloc::Error::OutOfMemory(_))
            | Error::Allocation(gpu_alloc::Error::Runtime(OutOfMemory { .. }))
            | Error::Runtime(OutOfMemory { .. }) => true,
            Error::Autograd(AutogradError::Backward { source, .. }) => source.is_out_of_memory(),
            Error::Other(error) => {
                let first: &(dyn std::error::Error + 'static) = &**error;
                iter::successors(Some(first), |error| error.source()).any(|error| {
                    // Errors that wrap one of these keep it in a box, which is an error of its own.
                    let boxed = error.downcast_ref::<Box<Error>>().map(|error| &**error);
                    boxed.or(error.downcast_ref()).is_some_and(Error::is_out_of_memory)
                })
            }
            _ => false,
        }
    }
}

/// `` `self` is on cuda:1, `other` on cuda:0 ``
struct DeviceList<'a>(&'a [(&'static str, Device)]);

impl fmt::Display for DeviceList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0, " is on ", " on ")
    }
}

/// `` `self` has shape [2], `other` [3] ``
struct ShapeList<'a>(&'a [(&'static str, Shape)]);

impl fmt::Display for ShapeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0, " has shape ", " ")
    }
}

/// `numbers`, or `entries of shape [3]`.
struct RowEntries<'a>(&'a Shape);

impl fmt::Display for RowEntries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_empty() {
            true => f.write_str("numbers"),
            false => write!(f, "entries of shape {}", self.0),
        }
    }
}

/// The other way out for operands on different devices, which GPUs have only.
fn peers(arguments: &[(&'static str, Device)]) -> &'static str {
    match arguments.iter().all(|(_, device)| device.is_cuda()) {
        true => ", or allow peer access between the two devices",
        false => "",
    }
}

/// ` at position 3 of the indices`, or nothing.
fn at(position: Option<usize>) -> String {
    position.map(|position| format!(" at position {position} of the indices")).unwrap_or_default()
}

/// `` `self` is float32, `other` int64 ``
struct DTypeList<'a>(&'a [(&'static str, DType)]);

impl fmt::Display for DTypeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0, " is ", " ")
    }
}

/// Writes each argument's name and its property, separated by commas; the verb stands in the first
/// one only.
fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    arguments: &[(&'static str, T)],
    first: &str,
    next: &str,
) -> fmt::Result {
    for (position, (name, what)) in arguments.iter().enumerate() {
        let (comma, verb) = if position == 0 { ("", first) } else { (", ", next) };
        write!(f, "{comma}`{name}`{verb}{what}")?;
    }
    Ok(())
}
