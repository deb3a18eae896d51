//! More of graphs: nodes made and changed by hand, and objects that graphs keep.

pub(in crate::api) mod conditional_nodes;
pub(in crate::api) mod executables;
pub(in crate::api) mod memory_nodes;
pub(in crate::api) mod node_parameters;
pub(in crate::api) mod nodes;
pub(in crate::api) mod parameters;
pub(in crate::api) mod structure;
pub(in crate::api) mod updates;
pub(in crate::api) mod user_objects;

pub(in crate::api) use conditional_nodes::*;
pub(in crate::api) use executables::*;
pub(in crate::api) use memory_nodes::*;
pub(in crate::api) use node_parameters::*;
pub(in crate::api) use nodes::*;
pub(in crate::api) use structure::*;
pub(in crate::api) use updates::*;
pub(in crate::api) use user_objects::*;
