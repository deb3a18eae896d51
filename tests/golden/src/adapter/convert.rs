//! Arguments as the types of the library, and its results as outputs.

use tensor::{DType, Scalar, Tensor, TensorOrScalar};

use crate::argument::Argument;

/// A type that a function of the library takes.
pub(super) trait FromArgument<'a>: Sized {
    /// The argument as this type, if it is of a kind that Python would take there.
    fn from_argument(argument: &'a Argument) -> Option<Self>;
}

/// One result of a call.
#[derive(Clone)]
pub(crate) enum Output {
    Tensor(Tensor),
    /// A plain value.
    Plain(Argument),
}

/// A result of a function of the library.
pub(crate) trait IntoOutputs {
    /// The results in order, flattened.
    fn into_outputs(self) -> Vec<Output>;
}

impl Argument {
    /// The kind, as it is named in reports.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Argument::None => "none",
            Argument::Truth(_) => "truth value",
            Argument::Integer(_) => "integer",
            Argument::Float(_) => "float",
            Argument::Text(_) => "text",
            Argument::List(_) => "list",
            Argument::DType(_) => "dtype",
            Argument::Slice(_) => "slice",
            Argument::Ellipsis => "ellipsis",
            Argument::MemoryFormat(_) => "memory format",
            Argument::Tensor(_) => "tensor",
        }
    }
}

macro_rules! from_argument {
    ($($type:ty: $pattern:pat => $value:expr;)*) => {$(
        impl<'a> FromArgument<'a> for $type {
            fn from_argument(argument: &'a Argument) -> Option<$type> {
                if let $pattern = argument { $value } else { None }
            }
        }
    )*};
}

from_argument! {
    &'a Tensor: Argument::Tensor(tensor) => Some(tensor);
    bool: Argument::Truth(value) => Some(*value);
    i64: Argument::Integer(value) => Some(*value);
    isize: Argument::Integer(value) => Some(*value as isize);
    i32: Argument::Integer(value) => i32::try_from(*value).ok();
    usize: Argument::Integer(value) => usize::try_from(*value).ok();
    &'a str: Argument::Text(text) => Some(text);
    DType: Argument::DType(dtype) => Some(*dtype);
}

impl FromArgument<'_> for f64 {
    fn from_argument(argument: &Argument) -> Option<f64> {
        Some(Scalar::from_argument(argument)?.to_f64())
    }
}

impl FromArgument<'_> for Scalar {
    fn from_argument(argument: &Argument) -> Option<Scalar> {
        match argument {
            Argument::Truth(value) => Some(Scalar::Bool(*value)),
            Argument::Integer(value) => Some(Scalar::Int(*value)),
            Argument::Float(value) => Some(Scalar::Float(*value)),
            _ => None,
        }
    }
}

impl<'a> FromArgument<'a> for TensorOrScalar<'a> {
    fn from_argument(argument: &'a Argument) -> Option<TensorOrScalar<'a>> {
        match argument {
            Argument::Tensor(tensor) => Some(TensorOrScalar::Tensor(tensor)),
            number => Scalar::from_argument(number).map(TensorOrScalar::Scalar),
        }
    }
}

impl<'a> FromArgument<'a> for &'a Argument {
    fn from_argument(argument: &'a Argument) -> Option<&'a Argument> {
        Some(argument)
    }
}

impl<'a, T: FromArgument<'a>> FromArgument<'a> for Option<T> {
    fn from_argument(argument: &'a Argument) -> Option<Option<T>> {
        match argument {
            Argument::None => Some(None),
            argument => T::from_argument(argument).map(Some),
        }
    }
}

impl<'a, T: FromArgument<'a>> FromArgument<'a> for Vec<T> {
    fn from_argument(argument: &'a Argument) -> Option<Vec<T>> {
        let Argument::List(items) = argument else { return None };
        items.iter().map(T::from_argument).collect()
    }
}

impl IntoOutputs for Tensor {
    fn into_outputs(self) -> Vec<Output> {
        vec![Output::Tensor(self)]
    }
}

impl IntoOutputs for Vec<Tensor> {
    fn into_outputs(self) -> Vec<Output> {
        self.into_iter().map(Output::Tensor).collect()
    }
}

impl IntoOutputs for (Tensor, Tensor) {
    fn into_outputs(self) -> Vec<Output> {
        vec![Output::Tensor(self.0), Output::Tensor(self.1)]
    }
}

impl IntoOutputs for bool {
    fn into_outputs(self) -> Vec<Output> {
        vec![Output::Plain(Argument::Truth(self))]
    }
}

impl IntoOutputs for Scalar {
    fn into_outputs(self) -> Vec<Output> {
        vec![Output::Plain(match self {
            Scalar::Float(value) => Argument::Float(value),
            Scalar::Int(value) => Argument::Integer(value),
            Scalar::Bool(value) => Argument::Truth(value),
        })]
    }
}
