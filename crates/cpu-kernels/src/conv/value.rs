//! The numbers that convolutions are computed in.

use super::results::ResultValue;
use crate::convert::Loaded;
use crate::matmul::tile::TileNumber;

/// A number that convolutions are computed in.
pub(super) trait ConvValue: Loaded + TileNumber + ResultValue {}

impl<V: Loaded + TileNumber + ResultValue> ConvValue for V {}
