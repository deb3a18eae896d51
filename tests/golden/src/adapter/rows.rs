//! The rows of the table, and the arguments that their calls take.

use tensor::{DType, Device, Scalar, Tensor, TensorOptions, TensorOrScalar};

use super::convert::{CaseOutput, FromArgument, IntoOutputs};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

/// The result of a call: the outputs in order.
pub(crate) type CallOutcome = Result<Vec<CaseOutput>, CaseFailure>;

/// An operation with one of its signatures.
pub(super) struct AdapterRow {
    /// The names, separated by bars.
    pub(super) names: &'static str,
    pub(super) signature: &'static str,
    pub(super) call: fn(&BoundCall) -> CallOutcome,
}

pub(super) const fn row(
    names: &'static str,
    signature: &'static str,
    call: fn(&BoundCall) -> CallOutcome,
) -> AdapterRow {
    AdapterRow { names, signature, call }
}

/// The arguments of a call, bound to the names of a signature.
pub(super) struct BoundCall {
    pub(super) device: Device,
    pub(super) arguments: Vec<(&'static str, CaseArgument)>,
}

impl BoundCall {
    pub(super) fn argument(&self, name: &str) -> Result<&CaseArgument, CaseFailure> {
        let found = self.arguments.iter().find_map(|(own, value)| (*own == name).then_some(value));
        found.ok_or_else(|| CaseFailure::Unsupported(format!("{name} is not given")))
    }

    /// The argument with this name, of the type that the library takes.
    pub(super) fn get<'a, T: FromArgument<'a>>(&'a self, name: &str) -> Result<T, CaseFailure> {
        let argument = self.argument(name)?;
        T::from_argument(argument).ok_or_else(|| match T::conversion_error(argument) {
            Some(error) => CaseFailure::Conversion(format!("{name}: {error}")),
            None => CaseFailure::Unsupported(format!("a {} as {name}", argument.kind())),
        })
    }

    /// The tensor `x`.
    pub(super) fn x(&self) -> Result<&Tensor, CaseFailure> {
        self.get("x")
    }

    /// A tensor or a number.
    pub(super) fn operand(&self, name: &str) -> Result<TensorOrScalar<'_>, CaseFailure> {
        self.get(name)
    }

    /// A number.
    pub(super) fn scalar(&self, name: &str) -> Result<Scalar, CaseFailure> {
        self.get(name)
    }

    /// A float, which may be given as a tensor of one element.
    pub(super) fn float(&self, name: &str) -> Result<f64, CaseFailure> {
        match self.argument(name)? {
            CaseArgument::Tensor(tensor) => Ok(tensor.item()?),
            _ => self.get(name),
        }
    }

    /// An integer, which may be given as a tensor of one element.
    pub(super) fn integer<T: TryFrom<i64> + for<'a> FromArgument<'a>>(
        &self,
        name: &str,
    ) -> Result<T, CaseFailure> {
        match self.argument(name)? {
            CaseArgument::Tensor(tensor) if tensor.dtype().is_integer() => {
                let number = T::try_from(tensor.item()?);
                number.map_err(|_| CaseFailure::Unsupported(format!("such a number as {name}")))
            }
            _ => self.get(name),
        }
    }

    /// Dimensions: one, several, or none.
    pub(super) fn dims(&self, name: &str) -> Result<Vec<isize>, CaseFailure> {
        match self.argument(name)? {
            CaseArgument::None => Ok(Vec::new()),
            CaseArgument::Integer(dim) => Ok(vec![*dim as isize]),
            _ => self.get(name),
        }
    }

    /// The options of a new tensor: the device, and the argument `dtype`.
    pub(super) fn options(&self) -> Result<TensorOptions, CaseFailure> {
        let options = TensorOptions::new().device(self.device);
        let dtype: Option<DType> = self.get("dtype")?;
        Ok(dtype.map_or(options, |dtype| options.dtype(dtype)))
    }
}

/// The outcome of a function of the library.
pub(super) fn give<T: IntoOutputs>(result: tensor::Result<T>) -> CallOutcome {
    Ok(result?.into_outputs())
}
