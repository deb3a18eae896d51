//! Factories: their values, dtypes, devices, options and errors.

mod data;
mod options;
mod sequences;
mod triangles;
