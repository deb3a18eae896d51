//! Streams of the driver: where they come from, what each remembers of its work, and whether it is
//! being captured. Work is handed to them in the room `queue`.

mod capture_slot;
pub(crate) mod captures;
mod handle;
mod keep_alive;
mod ledger;
mod origin;
pub(crate) mod pool;
pub(crate) mod registry;
mod request;

pub(crate) use capture_slot::OpenCapture;
pub use captures::outside_of_captures;
pub use handle::Stream;
pub use keep_alive::StreamKeepAlive;
pub(crate) use origin::Legacy;
pub(crate) use request::{GraphResource, Request};
