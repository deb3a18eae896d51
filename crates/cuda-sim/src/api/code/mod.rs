//! Modules and functions, and launches of them.

pub(in crate::api) mod functions;
pub(in crate::api) mod jit_options;
pub(in crate::api) mod launches;
pub(in crate::api) mod modules;
pub(in crate::api) mod occupancy;

pub(in crate::api) use functions::*;
pub(in crate::api) use launches::*;
pub(in crate::api) use modules::*;
