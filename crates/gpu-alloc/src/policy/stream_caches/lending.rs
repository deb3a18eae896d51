//! A policy that may have lent parts of itself.

use crate::policy::{Policy, StreamCache};

/// A policy whose stream caches can be lent to a [`StreamCaches`](super::StreamCaches).
///
/// While any is lent the policy is incomplete, so nothing of it can be called: all that leads to it
/// is [`StreamCaches::recall`](super::StreamCaches::recall), which takes everything back first.
#[derive(Debug)]
pub struct Lending<P> {
    policy: P,
    /// The number of stream caches that are lent.
    lent: usize,
}

/// A permit that [`Policy::lend`] and [`Policy::take_back`] ask for, so that only a [`Lending`] calls
/// them.
#[derive(Debug)]
pub struct LendPermit(());

impl<P: Policy> Lending<P> {
    /// A policy that has lent nothing.
    pub fn new(policy: P) -> Self {
        Lending { policy, lent: 0 }
    }

    pub(super) fn lend(&mut self, stream: P::Stream) -> Option<Box<StreamCache<P::Stream>>> {
        let cache = self.policy.lend(stream, LendPermit(()))?;
        self.lent += 1;
        Some(cache)
    }

    pub(super) fn take_back(&mut self, cache: Box<StreamCache<P::Stream>>) {
        self.policy.take_back(cache, LendPermit(()));
        self.lent -= 1;
    }

    /// The policy, of which nothing is lent.
    pub(super) fn whole(&mut self) -> &mut P {
        // Used while a part is away, the policy would hand out or count what it cannot see.
        assert!(self.lent == 0, "stream caches of the policy are lent elsewhere");
        &mut self.policy
    }
}
