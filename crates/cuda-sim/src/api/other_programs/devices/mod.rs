//! More of devices and contexts: limits, older ways to get hold of them, lookup of functions by
//! name.

pub(in crate::api) mod contexts;
pub(in crate::api) mod errors;
pub(in crate::api) mod limits;
pub(in crate::api) mod peers;
pub(in crate::api) mod primary_contexts;
pub(in crate::api) mod proc_address;
pub(in crate::api) mod profiler;
pub(in crate::api) mod properties;

pub(in crate::api) use contexts::*;
pub(in crate::api) use errors::*;
pub(in crate::api) use limits::*;
pub(in crate::api) use peers::*;
pub(in crate::api) use primary_contexts::*;
pub(in crate::api) use proc_address::*;
pub(in crate::api) use profiler::*;
pub(in crate::api) use properties::*;
