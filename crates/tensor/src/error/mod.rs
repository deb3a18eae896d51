//! What can go wrong with tensors: an error per kind, naming the operation and its arguments.

mod autograd;

use std::fmt;
use std::iter;
use std::panic::Location;

pub use autograd::AutogradError;

use crate::{DType, Device, Shape};

/// The result of a tensor operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a tensor operation failed. It never leaves a tensor half changed, but for a device that is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // What does not fit together.
    /// The operands lie on different devices.
    #[error(
        "{op}: {}; move one with .to(..), or allow peer access between the two devices",
        Places(arguments)
    )]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// Each argument and where it lies.
        arguments: Vec<(&'static str, Device)>,
    },
    /// The sizes of the operands do not fit together.
    #[error("{op}: {}: {rule}", Shapes(shapes))]
    ShapeMismatch {
        /// The operation.
        op: &'static str,
        /// Each argument and its shape.
        shapes: Vec<(&'static str, Shape)>,
        /// What the operation needs.
        rule: &'static str,
    },
    /// The dtypes of the operands do not fit together.
    #[error("{op}: {}: {rule}; convert one with .to(dtype)", DTypes(arguments))]
    DTypeMismatch {
        /// The operation.
        op: &'static str,
        /// Each argument and its dtype.
        arguments: Vec<(&'static str, DType)>,
        /// What the operation needs.
        rule: &'static str,
    },
    /// The operation does not exist for this dtype.
    #[error("{op}: not available for {dtype} on {device}; convert with .to(dtype)")]
    UnsupportedDType {
        /// The operation.
        op: &'static str,
        /// The dtype it was asked for.
        dtype: DType,
        /// Where it was asked for.
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
        /// How many dimensions there are.
        dims: usize,
    },
    /// An index lies outside the dimension it selects from.
    #[error("{op}: index {index} is out of range for a dimension of size {size}")]
    IndexOutOfRange {
        /// The operation.
        op: &'static str,
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
        /// How many elements there are.
        numel: usize,
        /// The shape that was asked for.
        shape: Shape,
    },
    /// Nested data whose entries differ in size.
    #[error(
        "{op}: an entry holds {found} of shape {inner}, where the first of its kind holds {expected}; rows must have equal lengths"
    )]
    Ragged {
        /// The operation.
        op: &'static str,
        /// How many entries the first of its level holds.
        expected: usize,
        /// How many this one holds.
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
        /// What would be accepted.
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
        /// Where it lies.
        device: Device,
    },
    /// There is a read guard of the page-locked memory that the operation would write.
    #[error(
        "{op}: the page-locked memory is read through a guard that was taken at {place}; drop that \
         first"
    )]
    GuardHeld {
        /// The operation.
        op: &'static str,
        /// Where the guard was taken.
        place: &'static Location<'static>,
    },
    /// A byte of a bool tensor is neither 0 nor 1: it was read before it was written.
    #[error("{op}: the bool tensor holds a byte that is neither 0 nor 1; it was never written")]
    InvalidBool {
        /// The operation.
        op: &'static str,
    },

    // Memory.
    /// The sizes multiply to more elements or bytes than memory can have. A size of 0 among them does
    /// not help: views leave it out.
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
        /// How many it would have.
        dims: usize,
        /// How many there can be.
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
        /// How much was asked for.
        bytes: usize,
    },

    // Gradients.
    /// Gradients could not be computed, or a tensor could not take part in them.
    #[error(transparent)]
    Autograd(#[from] AutogradError),

    // From the floors above.
    /// Code that computes with tensors failed in its own way: a module, a replica of one.
    #[error(transparent)]
    Module(Box<dyn std::error::Error + Send + Sync>),

    // From the floors below.
    /// The runtime or the driver failed.
    #[error(transparent)]
    Runtime(#[from] gpu_runtime::Error),
    /// Device memory or page-locked memory could not be allocated.
    #[error(transparent)]
    Allocation(#[from] gpu_alloc::Error),
}

impl Error {
    /// Why memory of the host cannot be used by an operation.
    pub(crate) fn of_host_access(op: &'static str, error: gpu_runtime::Error) -> Error {
        match error {
            gpu_runtime::Error::GuardHeld { place } => Error::GuardHeld { op, place },
            error => error.into(),
        }
    }

    /// Whether a device had no memory left, wherever that was noticed: in the operation itself, in the
    /// backward pass, or in a module. After that a program can drop what it holds and try again with
    /// less.
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
            Error::Module(error) => {
                let first: &(dyn std::error::Error + 'static) = &**error;
                iter::successors(Some(first), |error| error.source())
                    .any(|error| error.downcast_ref().is_some_and(Error::is_out_of_memory))
            }
            _ => false,
        }
    }
}

/// `` `self` is on cuda:1, `other` on cuda:0 ``
struct Places<'a>(&'a [(&'static str, Device)]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0, " is on ", " on ")
    }
}

/// `` `self` has shape [2], `other` [3] ``
struct Shapes<'a>(&'a [(&'static str, Shape)]);

impl fmt::Display for Shapes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0, " has shape ", " ")
    }
}

/// `` `self` is float32, `other` int64 ``
struct DTypes<'a>(&'a [(&'static str, DType)]);

impl fmt::Display for DTypes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0, " is ", " ")
    }
}

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
