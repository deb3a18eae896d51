//! A policy at work: behind a lock, told of what the streams have completed, and given one wait
//! before it gives up.
//!
//! - `caching_allocator` serves requests: from the cache of a stream without the lock, or else from
//!   the policy under it.
//! - `state` is what the lock guards. Only with every stream cache recalled there is a policy to call.
//! - `known_streams` names the streams whose work the policy has to hear of.
//! - `return_queue` keeps what was freed while the lock was taken.
//! - `observer` is who is told of all that the policy decides.

mod caching_allocator;
mod known_streams;
mod observer;
mod return_queue;
mod state;

pub(crate) use self::caching_allocator::{CachingAllocator, is_past};
pub(crate) use self::observer::CacheObserver;
pub(crate) use self::state::{AllocFailure, ServedBlock, WholeState};
