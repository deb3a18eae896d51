//! Contexts, and what belongs to one: settings, the heap of its kernels, what they print, arrays.

pub(in crate::device) mod array;
pub(in crate::device) mod context;
mod heap;
pub(in crate::device) mod output;
pub(crate) mod settings;
mod waits;

pub(in crate::device) use waits::WaitsSeen;
