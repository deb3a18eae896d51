//! Access of the host to the elements of tensors: held while an operation runs, or as a snapshot, and
//! told to observers.

mod accesses;
mod guard;
mod hold;

pub use guard::ReadGuard;
pub(crate) use guard::to_vec;
pub(crate) use hold::{Held, hold};
