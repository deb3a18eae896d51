//! More of modules and launches: libraries, the linker, occupancy.

pub(in crate::api) mod functions;
pub(in crate::api) mod launch_attributes;
pub(in crate::api) mod launches;
pub(in crate::api) mod libraries;
pub(in crate::api) mod linker;
pub(in crate::api) mod modules;
pub(in crate::api) mod occupancy;

pub(in crate::api) use functions::*;
pub(in crate::api) use launches::*;
pub(in crate::api) use libraries::*;
pub(in crate::api) use linker::*;
pub(in crate::api) use modules::*;
pub(in crate::api) use occupancy::*;
