//! The classifier.

use sluice::Result;
use sluice::nn::{Linear, ReLU, Sequential};

use super::data::PIXELS;

const HIDDEN: usize = 128;
const DIGITS: usize = 10;

/// A perceptron with one hidden layer.
pub(crate) fn classifier() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(PIXELS, HIDDEN)?)
        .push(ReLU)
        .push(Linear::new(HIDDEN, DIGITS)?))
}
