//! The classifier.

use sluice::Result;
use sluice::nn::{Linear, ReLU, Sequential, sequential};

use super::data::PIXELS;

const HIDDEN: usize = 128;
const DIGITS: usize = 10;

/// A perceptron with one hidden layer.
pub(crate) fn classifier() -> Result<Sequential> {
    Ok(sequential![Linear::new(PIXELS, HIDDEN)?, ReLU, Linear::new(HIDDEN, DIGITS)?])
}
