//! Graphs and the capture of streams into them.

mod capture;
mod capture_rules;
mod common;
mod launches;
mod structure;
