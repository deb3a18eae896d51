//! A small management library for GPUs, `libnvidia-ml.so.1`, over the driver's documented API.
//!
//! Programs and Python packages ask it which devices there are before they begin. There is no Rust
//! interface: what is exported is the C API of NVML, in as far as the driver API can answer.
//!
//! What it is not: management. Clocks, temperatures, processes and the like are not supported.

// Layers, the top one first; a module imports only from lines below its own.
//
//   exported, refused
//   bus, devices
//   status
mod bus;
mod devices;
mod exported;
mod refused;
mod status;
