//! The adapter: one table from PyTorch's names, positions and keywords to the library.
//!
//! A [`AdapterRow`] has the names of an operation, its signature as PyTorch's documentation writes it, and
//! the call. The kinds of arguments are the types that the library's function takes. An operation
//! with several signatures has a row for each; the first that the arguments fit is called. What is
//! in no row is unsupported: nothing is ignored.

mod activations;
mod conversions;
mod convert;
mod convolutions;
mod creation;
mod decompositions;
mod indexing;
mod linear;
mod losses;
mod modules;
mod norms;
mod optimizers;
mod pointwise;
mod random;
mod reductions;
mod rows;
mod samples;
mod scans;
mod schedules;
mod signature;
mod similarity;
mod sorting;
mod views;
mod windows;

use std::collections::HashMap;
use std::sync::OnceLock;

use tensor::Device;

pub(crate) use self::convert::CaseOutput;
pub(crate) use self::modules::build as build_module;
pub(crate) use self::optimizers::{OptimizerGroup, lbfgs, optimizer};
pub(crate) use self::rows::CallOutcome;
use self::rows::{AdapterRow, BoundCall};
pub(crate) use self::schedules::{plateau, schedule};
use self::signature::OperationSignature;
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

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

/// The names of all operations and modules.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    table().keys().copied().chain(modules::names())
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
            reductions::EXTREMES,
            scans::ROWS,
            sorting::ROWS,
            views::ROWS,
            views::REPLACED,
            views::IN_PLACE,
            views::ORDERS,
            views::PARTS,
            views::JOINS,
            indexing::ROWS,
            linear::ROWS,
            decompositions::ROWS,
            convolutions::ROWS,
            losses::ROWS,
            windows::POOLS,
            windows::SAMPLES,
            norms::ROWS,
            similarity::ROWS,
            samples::ROWS,
            samples::WINDOWS,
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
    use tensor::Tensor;

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
