//! Lengths, distances and angles of vectors that lie along a dimension.

mod cdist;
mod pairs;

pub use cdist::CdistMode;
