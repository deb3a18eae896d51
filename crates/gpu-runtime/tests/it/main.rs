//! The runtime on the software driver with four devices, or on another one by `GPU_DRIVER`.

mod context;
mod copies;
mod device;
mod driver;
mod dropping;
mod events;
mod fixture;
mod foreign;
mod guards;
mod hardship;
mod launches;
mod lost;
mod manual;
mod observers;
mod order;
mod peer_links;
mod peers;
mod programs;
mod races;
mod rows;
mod stream_pool;
mod streams;
mod stress;
mod timeline;
mod waiting;
mod waits;
