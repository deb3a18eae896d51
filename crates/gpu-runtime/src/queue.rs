//! Handing work to streams, and following how far they are with it: the one way on which work gets to
//! the driver, points of a stream, and what is kept until a stream has passed a point.

mod callback;
mod enqueue;
mod event_source;
mod pending;
mod point;
mod progress;
pub(crate) mod retired;
mod synchronize;

pub(crate) use enqueue::enqueue;
pub use pending::Pending;
pub use point::StreamPoint;
pub use retired::destructors_later;
