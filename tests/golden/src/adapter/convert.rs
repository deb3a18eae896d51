//! Arguments as the types of the library, and its results as outputs.

use std::num::TryFromIntError;

use tensor::{DType, Scalar, Tensor, TensorOrScalar};

use crate::argument::CaseArgument;

/// A type that a function of the library takes.
pub(super) trait FromArgument<'a>: Sized {
    /// The argument as this type, if it is of a kind that Python would take there.
    fn from_argument(argument: &'a CaseArgument) -> Option<Self>;

    /// The error of a program's conversion to this type, where the argument is a number that the type
    /// has not: -1 as a size.
    fn conversion_error(_argument: &CaseArgument) -> Option<TryFromIntError> {
        None
    }
}

/// One result of a call.
#[derive(Clone)]
pub(crate) enum CaseOutput {
    Tensor(Tensor),
    /// A plain value.
    Plain(CaseArgument),
}

/// A result of a function of the library.
pub(crate) trait IntoOutputs {
    /// The results in order, flattened.
    fn into_outputs(self) -> Vec<CaseOutput>;
}

impl CaseArgument {
    /// The kind, as it is named in reports.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            CaseArgument::None => "none",
            CaseArgument::Truth(_) => "truth value",
            CaseArgument::Integer(_) => "integer",
            CaseArgument::Float(_) => "float",
            CaseArgument::Text(_) => "text",
            CaseArgument::List(_) => "list",
            CaseArgument::DType(_) => "dtype",
            CaseArgument::Slice(_) => "slice",
            CaseArgument::Ellipsis => "ellipsis",
            CaseArgument::MemoryFormat(_) => "memory format",
            CaseArgument::Tensor(_) => "tensor",
        }
    }
}

macro_rules! from_argument {
    ($($type:ty: $pattern:pat => $value:expr;)*) => {$(
        impl<'a> FromArgument<'a> for $type {
            fn from_argument(argument: &'a CaseArgument) -> Option<$type> {
                if let $pattern = argument { $value } else { None }
            }
        }
    )*};
}

from_argument! {
    &'a Tensor: CaseArgument::Tensor(tensor) => Some(tensor);
    bool: CaseArgument::Truth(value) => Some(*value);
    i64: CaseArgument::Integer(value) => Some(*value);
    isize: CaseArgument::Integer(value) => Some(*value as isize);
    &'a str: CaseArgument::Text(text) => Some(text);
    DType: CaseArgument::DType(dtype) => Some(*dtype);
}

macro_rules! from_number {
    ($($type:ty)*) => {$(
        impl FromArgument<'_> for $type {
            fn from_argument(argument: &CaseArgument) -> Option<$type> {
                let CaseArgument::Integer(value) = argument else { return None };
                <$type>::try_from(*value).ok()
            }

            fn conversion_error(argument: &CaseArgument) -> Option<TryFromIntError> {
                let CaseArgument::Integer(value) = argument else { return None };
                <$type>::try_from(*value).err()
            }
        }
    )*};
}

from_number!(i32 usize);

impl FromArgument<'_> for f64 {
    fn from_argument(argument: &CaseArgument) -> Option<f64> {
        Some(Scalar::from_argument(argument)?.to_f64())
    }
}

impl FromArgument<'_> for Scalar {
    fn from_argument(argument: &CaseArgument) -> Option<Scalar> {
        match argument {
            CaseArgument::Truth(value) => Some(Scalar::Bool(*value)),
            CaseArgument::Integer(value) => Some(Scalar::Int(*value)),
            CaseArgument::Float(value) => Some(Scalar::Float(*value)),
            _ => None,
        }
    }
}

impl<'a> FromArgument<'a> for TensorOrScalar<'a> {
    fn from_argument(argument: &'a CaseArgument) -> Option<TensorOrScalar<'a>> {
        match argument {
            CaseArgument::Tensor(tensor) => Some(TensorOrScalar::Tensor(tensor)),
            number => Scalar::from_argument(number).map(TensorOrScalar::Scalar),
        }
    }
}

impl<'a> FromArgument<'a> for &'a CaseArgument {
    fn from_argument(argument: &'a CaseArgument) -> Option<&'a CaseArgument> {
        Some(argument)
    }
}

impl<'a, T: FromArgument<'a>> FromArgument<'a> for Option<T> {
    fn from_argument(argument: &'a CaseArgument) -> Option<Option<T>> {
        match argument {
            CaseArgument::None => Some(None),
            argument => T::from_argument(argument).map(Some),
        }
    }

    fn conversion_error(argument: &CaseArgument) -> Option<TryFromIntError> {
        T::conversion_error(argument)
    }
}

impl<'a, T: FromArgument<'a>> FromArgument<'a> for Vec<T> {
    fn from_argument(argument: &'a CaseArgument) -> Option<Vec<T>> {
        let CaseArgument::List(items) = argument else { return None };
        items.iter().map(T::from_argument).collect()
    }

    fn conversion_error(argument: &CaseArgument) -> Option<TryFromIntError> {
        let CaseArgument::List(items) = argument else { return None };
        items.iter().find_map(T::conversion_error)
    }
}

impl IntoOutputs for Tensor {
    fn into_outputs(self) -> Vec<CaseOutput> {
        vec![CaseOutput::Tensor(self)]
    }
}

impl IntoOutputs for Vec<Tensor> {
    fn into_outputs(self) -> Vec<CaseOutput> {
        self.into_iter().map(CaseOutput::Tensor).collect()
    }
}

impl IntoOutputs for (Tensor, Tensor) {
    fn into_outputs(self) -> Vec<CaseOutput> {
        vec![CaseOutput::Tensor(self.0), CaseOutput::Tensor(self.1)]
    }
}

impl IntoOutputs for bool {
    fn into_outputs(self) -> Vec<CaseOutput> {
        vec![CaseOutput::Plain(CaseArgument::Truth(self))]
    }
}

impl IntoOutputs for Scalar {
    fn into_outputs(self) -> Vec<CaseOutput> {
        vec![CaseOutput::Plain(match self {
            Scalar::Float(value) => CaseArgument::Float(value),
            Scalar::Int(value) => CaseArgument::Integer(value),
            Scalar::Bool(value) => CaseArgument::Truth(value),
        })]
    }
}
