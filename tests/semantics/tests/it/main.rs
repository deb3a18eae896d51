//! The contract on four software devices, a module per chapter.

mod agnostic;
mod asynchronous;
mod devices;
mod graphs;
mod loaders;
mod many_devices;
mod memory;
mod overlap;
mod pinned;
mod replicas;
mod schedules;
mod seeds;
mod several_gpus;
mod waits;
