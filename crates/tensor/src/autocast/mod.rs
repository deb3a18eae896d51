//! Mixed precision: which operations take their operands in which dtype, while a program asks for it.
//!
//! The mode belongs to the thread ([`Autocast::enter`]). Elementwise operations look at it where their
//! dtype is found, all others by [`autocast`](crate::ops::autocast), which gives them their operands
//! as the list of the device's operations (`policy`) has them. Casts are recorded, so gradients come
//! back in the dtype of what was cast; those of parameters are kept until the mode ends (`cache`).

mod cache;
mod guard;
mod mode;
mod policy;

pub(crate) use cache::{keep_cast, kept_cast};
pub use guard::{Autocast, AutocastGuard, autocast_dtype, is_autocast_enabled};
pub(crate) use mode::{AutocastMode, ModeGuard, without_autocast};
pub(crate) use policy::{CastPolicy, policy};
