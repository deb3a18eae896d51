//! Reading and writing by brackets.

mod brackets;
mod errors;
mod pytorch;
mod random;
