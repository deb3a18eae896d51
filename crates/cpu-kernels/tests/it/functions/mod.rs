//! Errors of the functions in units in the last place, in every instruction set.

#![expect(clippy::print_stderr, reason = "the errors and speeds that were found")]

mod double;
mod single;
mod specials;
mod sweep;
