//! The runtime on a driver: the software one with four devices, or NVIDIA's with `GPU_DRIVER=nvidia`.

mod context;
mod copies;
mod device;
mod driver;
mod dropping;
mod events;
mod fixture;
mod guards;
mod launches;
mod lost;
mod order;
mod peers;
mod programs;
mod streams;
mod stress;
mod waiting;
