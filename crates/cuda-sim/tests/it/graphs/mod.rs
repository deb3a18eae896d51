//! Graphs, the capture of streams into them, and the rest of what streams can do.

mod capture;
mod capture_rules;
mod children;
mod common;
mod conditional;
mod launches;
mod memory;
mod nodes;
mod random;
mod stream_memory;
mod structure;
mod updates;
