//! The adapter: one table from PyTorch's names, positions and keywords to the library.
//!
//! A [`AdapterRow`] has the names of an operation, its signature as PyTorch's documentation writes it, and
//! the call. The kinds of arguments are the types that the library's function takes. An operation
//! with several signatures has a row for each; the first that the arguments fit is called. What is
//! in no row is unsupported: nothing is ignored.

mod activations;
mod conversions;
mod convert;
mod creation;
mod indexing;
mod linear;
mod losses;
mod pointwise;
mod random;
mod reductions;
mod signature;
mod views;

use std::collections::HashMap;
use std::sync::OnceLock;

use tensor::{DType, Device, Scalar, Tensor, TensorOptions, TensorOrScalar};

use self::convert::FromArgument;
pub(crate) use self::convert::{CaseOutput, IntoOutputs};
use self::signature::OperationSignature;
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

/// The result of a call: the outputs in order.
pub(crate) type CallOutcome = Result<Vec<CaseOutput>, CaseFailure>;

/// An operation with one of its signatures.
struct AdapterRow {
    /// The names, separated by bars.
    names: &'static str,
    signature: &'static str,
    call: fn(&BoundCall) -> CallOutcome,
}

const fn row(
    names: &'static str,
    signature: &'static str,
    call: fn(&BoundCall) -> CallOutcome,
) -> AdapterRow {
    AdapterRow { names, signature, call }
}

/// The arguments of a call, bound to the names of a signature.
struct BoundCall {
    device: Device,
    arguments: Vec<(&'static str, CaseArgument)>,
}

impl BoundCall {
    fn argument(&self, name: &str) -> Result<&CaseArgument, CaseFailure> {
        let found = self.arguments.iter().find_map(|(own, value)| (*own == name).then_some(value));
        found.ok_or_else(|| CaseFailure::Unsupported(format!("{name} is not given")))
    }

    /// The argument with this name, of the type that the library takes.
    fn get<'a, T: FromArgument<'a>>(&'a self, name: &str) -> Result<T, CaseFailure> {
        let argument = self.argument(name)?;
        T::from_argument(argument)
            .ok_or_else(|| CaseFailure::Unsupported(format!("a {} as {name}", argument.kind())))
    }

    /// The tensor `x`.
    fn x(&self) -> Result<&Tensor, CaseFailure> {
        self.get("x")
    }

    /// A tensor or a number.
    fn operand(&self, name: &str) -> Result<TensorOrScalar<'_>, CaseFailure> {
        self.get(name)
    }

    /// A number.
    fn scalar(&self, name: &str) -> Result<Scalar, CaseFailure> {
        self.get(name)
    }

    /// A float, which may be given as a tensor of one element.
    fn float(&self, name: &str) -> Result<f64, CaseFailure> {
        match self.argument(name)? {
            CaseArgument::Tensor(tensor) => Ok(tensor.item()?),
            _ => self.get(name),
        }
    }

    /// An integer, which may be given as a tensor of one element.
    fn integer<T: TryFrom<i64> + for<'a> FromArgument<'a>>(
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
    fn dims(&self, name: &str) -> Result<Vec<isize>, CaseFailure> {
        match self.argument(name)? {
            CaseArgument::None => Ok(Vec::new()),
            CaseArgument::Integer(dim) => Ok(vec![*dim as isize]),
            _ => self.get(name),
        }
    }

    /// The options of a new tensor: the device, and the argument `dtype`.
    fn options(&self) -> Result<TensorOptions, CaseFailure> {
        let options = TensorOptions::new().device(self.device);
        let dtype: Option<DType> = self.get("dtype")?;
        Ok(dtype.map_or(options, |dtype| options.dtype(dtype)))
    }
}

/// The outcome of a function of the library.
fn give<T: IntoOutputs>(result: tensor::Result<T>) -> CallOutcome {
    Ok(result?.into_outputs())
}

/// A call that is ready to be made, as often as one likes.
pub(crate) struct PreparedCall {
    fits: Vec<(&'static AdapterRow, BoundCall)>,
}

impl PreparedCall {
    /// Binds arguments to the signatures of an operation.
    ///
    /// # Errors
    /// There is no such operation, or none of its signatures has these positions and keywords.
    pub(crate) fn new(
        name: &str,
        args: &[CaseArgument],
        kwargs: &[(String, CaseArgument)],
        device: Device,
    ) -> Result<PreparedCall, CaseFailure> {
        let unsupported = |why: &str| CaseFailure::Unsupported(format!("{name}: {why}"));
        let rows = table().get(name).ok_or_else(|| unsupported("no such operation"))?;
        let mut fits = Vec::new();
        let mut problem = String::new();
        for &row in rows {
            match OperationSignature::parse(row.signature).bind(args, kwargs) {
                Ok(arguments) => fits.push((row, BoundCall { device, arguments })),
                Err(why) => problem = why,
            }
        }
        if fits.is_empty() { Err(unsupported(&problem)) } else { Ok(PreparedCall { fits }) }
    }

    /// Makes the call with the first signature that the kinds of the arguments fit.
    ///
    /// # Errors
    /// They fit none; the library gave an error.
    pub(crate) fn run(&self) -> CallOutcome {
        let mut last = CaseFailure::Unsupported(String::new());
        for (row, call) in &self.fits {
            match (row.call)(call) {
                Err(CaseFailure::Unsupported(why)) => {
                    last = CaseFailure::Unsupported(format!("{}: {why}", row.names));
                }
                outcome => return outcome,
            }
        }
        Err(last)
    }

    /// Forgets the signatures before the one that [`PreparedCall::run`] takes, so that a timed call
    /// does not try them again and again.
    pub(crate) fn settled(mut self) -> PreparedCall {
        while self.fits.len() > 1 && is_unsupported(&(self.fits[0].0.call)(&self.fits[0].1)) {
            self.fits.remove(0);
        }
        self.fits.truncate(1);
        self
    }
}

fn is_unsupported(outcome: &CallOutcome) -> bool {
    matches!(outcome, Err(CaseFailure::Unsupported(_)))
}

/// The rows by name.
fn table() -> &'static HashMap<&'static str, Vec<&'static AdapterRow>> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<&'static AdapterRow>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let families = [
            creation::ROWS,
            random::ROWS,
            pointwise::UNARY,
            pointwise::UNARY_IN_PLACE,
            pointwise::BINARY,
            pointwise::BINARY_IN_PLACE,
            pointwise::OF_TENSORS,
            pointwise::OTHERS,
            activations::ROWS,
            activations::OF_ONE,
            activations::OF_TWO,
            conversions::CONVERSIONS,
            conversions::COPIES,
            reductions::ROWS,
            views::ROWS,
            views::ORDERS,
            views::PARTS,
            views::JOINS,
            indexing::ROWS,
            linear::ROWS,
            losses::ROWS,
        ];
        let mut table: HashMap<&str, Vec<&AdapterRow>> = HashMap::new();
        for row in families.into_iter().flatten() {
            for name in row.names.split('|') {
                table.entry(name).or_default().push(row);
            }
        }
        table
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_can_be_read() {
        for row in table().values().flatten() {
            OperationSignature::parse(row.signature);
        }
    }

    #[test]
    fn a_keyword_that_no_signature_has_is_unsupported() {
        let x = CaseArgument::Tensor(Tensor::ones([2], ()).expect("a tensor"));
        let call = |kwargs: &[(String, CaseArgument)]| {
            PreparedCall::new("abs", std::slice::from_ref(&x), kwargs, Device::Cpu).map(|_| ())
        };
        assert!(call(&[]).is_ok());
        let unknown = call(&[("stable".to_owned(), CaseArgument::None)]);
        assert!(matches!(unknown, Err(CaseFailure::Unsupported(_))), "{unknown:?}");
    }
}
