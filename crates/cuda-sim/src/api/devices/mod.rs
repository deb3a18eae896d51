//! Initialisation, devices, their contexts, and what results are called.

pub(in crate::api) mod contexts;
pub(in crate::api) mod errors;
pub(in crate::api) mod initialisation;
pub(in crate::api) mod peers;
pub(in crate::api) mod primary_contexts;
pub(in crate::api) mod properties;

pub(in crate::api) use contexts::*;
pub(in crate::api) use errors::*;
pub(in crate::api) use initialisation::*;
pub(in crate::api) use peers::*;
pub(in crate::api) use primary_contexts::*;
pub(in crate::api) use properties::*;
