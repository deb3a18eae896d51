//! Graphs, and how they run.

pub(in crate::api) mod executables;
pub(in crate::api) mod nodes;
pub(in crate::api) mod structure;
pub(in crate::api) mod updates;

pub(in crate::api) use executables::*;
pub(in crate::api) use nodes::*;
pub(in crate::api) use structure::*;
pub(in crate::api) use updates::*;
