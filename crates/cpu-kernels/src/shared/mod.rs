//! What threads share, as far as it can be told without memory. `tests/interleavings` compiles these
//! files with other locks and atomics, and runs them in every order that threads can take.

mod offer;
mod sleeper;
mod sync;

pub(crate) use offer::Offer;
pub(crate) use sleeper::Sleeper;
