//! The switch for profilers. Nothing profiles here, and a program may say when it wants it.

#![allow(non_snake_case, reason = "the names of the C API")]

use crate::api::Result;
use crate::device::current;

pub(in crate::api) fn cuProfilerStart() -> Result {
    current::current().map(drop)
}

pub(in crate::api) fn cuProfilerStop() -> Result {
    current::current().map(drop)
}
