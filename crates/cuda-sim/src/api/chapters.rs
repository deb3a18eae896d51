//! The functions of all chapters under one roof, for the macro that makes the table's functions.

pub(super) use super::code::*;
pub(super) use super::devices::*;
pub(super) use super::graphs::*;
pub(super) use super::memory::*;
pub(super) use super::other_programs::*;
pub(super) use super::streams::*;
