//! Observers of a policy at work.

use std::collections::BTreeSet;

use crate::policy::{Block, Policy};

/// Is told, under the cache's lock, of everything that a policy decides.
pub(crate) trait CacheObserver<P: Policy, S> {
    /// The part of a request that says who makes it.
    type CallSite: Copy;
    /// A record of the state in which a request was refused.
    type HeapState;
    /// Notes on memory that a part of the policy hands out while it is lent.
    type Notes;

    /// Whether parts of the policy may be lent, of which only allocations are noted.
    fn may_lend(&self) -> bool;

    /// Gives away the notes on a part that is lent.
    fn lend(&mut self, part: usize) -> Self::Notes;

    /// Takes them back.
    fn take_back(&mut self, part: usize, notes: Self::Notes);

    /// Notes an allocation from a stream cache that is lent, under the lock of that cache alone:
    /// [`allocated`](CacheObserver::allocated) is told of all others.
    fn note(
        notes: &mut Self::Notes,
        block: &Block,
        bytes: u64,
        owner: P::Owner,
        call_site: Self::CallSite,
    );

    /// A block was handed out for a request of that many bytes.
    fn allocated(&mut self, block: &Block, bytes: u64, owner: P::Owner, call_site: Self::CallSite);

    /// A block is about to be given back, with the last use on each stream, for which it waits, or
    /// leaves that to its next owner.
    fn freed(&mut self, block: &Block, uses: &[(P::Stream, u64)], waits: bool);

    /// The streams of which it wants to know how far they have come.
    fn awaited(&self) -> BTreeSet<P::Stream> {
        BTreeSet::new()
    }

    /// A stream has completed its work up to a number.
    fn completed(&mut self, stream: P::Stream, sequence: u64);

    /// The source may have been called, for a request if there was one.
    fn called(&mut self, source: &mut S, request: Option<(P::Owner, Self::CallSite)>);

    /// A request was refused, and may be made once more.
    fn refused(&self, policy: &P) -> Self::HeapState;
}

/// Nobody looks on.
impl<P: Policy, S> CacheObserver<P, S> for () {
    type CallSite = ();
    type HeapState = ();
    type Notes = ();

    fn may_lend(&self) -> bool {
        true
    }

    fn lend(&mut self, _: usize) {}

    fn take_back(&mut self, _: usize, (): ()) {}

    fn note((): &mut (), _: &Block, _: u64, _: P::Owner, (): ()) {}

    fn allocated(&mut self, _: &Block, _: u64, _: P::Owner, (): ()) {}

    fn freed(&mut self, _: &Block, _: &[(P::Stream, u64)], _: bool) {}

    fn completed(&mut self, _: P::Stream, _: u64) {}

    fn called(&mut self, _: &mut S, _: Option<(P::Owner, ())>) {}

    fn refused(&self, _: &P) {}
}
