//! Functions.
mod error_function;
mod exp;
mod exponent;
mod hyperbolic;
mod log;
mod polynomial;

pub(crate) use error_function::*;
pub(crate) use exp::*;
pub(crate) use hyperbolic::*;
pub(crate) use log::*;

#[cfg(test)]
mod tests;
