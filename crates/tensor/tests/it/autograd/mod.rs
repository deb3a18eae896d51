//! Gradients: their values, the rules of leaves and graphs, devices, streams and threads.

mod differences;
mod functions;
mod gradients;
mod graph;
mod hooks;
mod in_place;
mod leaves;
mod modes;
mod places;
mod saved;
mod second;
