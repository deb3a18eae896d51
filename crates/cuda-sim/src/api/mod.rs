//! The functions of the driver API: each checks handles and arguments, calls the model, and says
//! how it went.
//!
//! The chapters are rooms of functions by subject: `devices`, `code`, `streams`, `memory` and
//! `graphs` hold the functions that `gpu-runtime` calls, and `other_programs` holds the others, by
//! the same subjects.
//!
//! A chapter's functions are safe code and return a `Result`. What C passes them as pointers they
//! take as types that say what the pointers are for: `arguments` has these types. One macro makes
//! the table's functions of the chapters' functions, in `exports`: it decodes the arguments there,
//! which is the one place that trusts the program, and `entry` is the way into each call.
//!
//! `docs/adding-a-driver-function.md` says how to add a function.

mod arguments;
mod chapters;
mod code;
mod devices;
mod entry;
pub mod exports;
mod graphs;
mod memory;
mod other_programs;
mod refused;
mod refused_names;
mod result;
mod streams;

pub(crate) use exports::DRIVER;
use result::Result;
