//! The host's access to the elements of tensors: memory that is held while a CPU kernel runs, and
//! snapshots for the program. Observers are told of both.

mod accesses;
mod exclusive;
mod guard;
mod hold;
mod read;

pub(crate) use exclusive::ExclusiveTensor;
pub use guard::ReadGuard;
pub(crate) use guard::to_vec;
pub(crate) use hold::{HeldOperands, hold};
pub(crate) use read::hold_to_read;
