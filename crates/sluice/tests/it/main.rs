//! Tests of the face of Sluice: what programs import, write and are told.

mod errors;
mod examples;
mod expressions;
mod modules;
mod reachable;
