//! Gradients: their values, the rules of leaves and graphs, devices, streams and threads.

mod differences;
mod gradients;
mod graph;
mod in_place;
mod leaves;
mod places;
mod second;
