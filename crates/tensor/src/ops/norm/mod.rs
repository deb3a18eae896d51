//! Normalisation: of the last dimensions, of channels over the batch, and of groups of channels.

mod batch;
mod channels;
mod group;
mod layer;
mod local_response;
mod parameters;
mod rms;
