//! The allocators' policies: state machines without a driver, a clock or a thread.
//!
//! A [`Policy`] takes requests, frees with the uses that memory had, and the news that a stream has
//! completed its work up to some sequence number; it hands out blocks of memory that it gets from a
//! [`MemorySource`]. Because everything it knows comes through its arguments, a policy can be
//! replayed, checked against a model, and run over a source that fails.
//!
//! - [`Pytorch`] keeps device memory as PyTorch's allocator does: segments or pages, split and
//!   merged, by stream.
//! - [`BestFit`] keeps page-locked host memory: segments, split and merged, for all streams.
//! - [`Stitched`] keeps device memory as pages that are put where addresses are free, and lends
//!   what concerns one stream only to a [`StreamCaches`], which many threads can use.
//! - [`Suballocated`] leaves what lies where to a program's own [`Suballocator`].
//! - [`Limit`], [`Log`] and other [adaptors](Adaptor) go around a source, one around the other.
//!
//! ```
//! use gpu_alloc::policy::{Address, Limit, MemorySource, Policy, Pytorch, SourceError};
//!
//! /// Gives out addresses and never takes any back.
//! struct Rising(u64);
//! impl MemorySource for Rising {
//!     type Error = std::convert::Infallible;
//!     fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>> {
//!         let address = Address(self.0);
//!         self.0 += bytes;
//!         Ok(address)
//!     }
//!     fn release(&mut self, _: Address, _: u64) {}
//! }
//!
//! let mut source = Limit::new(Rising(1 << 32), Some(64 << 20));
//! let mut policy = Pytorch::new();
//! let (main, side) = ("main", "side");
//! let block = policy.allocate(&mut source, 1000, main.into()).unwrap();
//! assert_eq!(block.bytes(), 1024);
//! let address = block.address();
//!
//! // The side stream used the block as its 7th piece of work, and must have done that first.
//! policy.free(block, &[(side, 7)]).unwrap();
//! assert_ne!(policy.allocate(&mut source, 1000, main.into()).unwrap().address(), address);
//! policy.completed(side, 7);
//! assert_eq!(policy.allocate(&mut source, 1000, main.into()).unwrap().address(), address);
//! ```

mod best_fit;
mod block;
mod block_list;
mod pending;
mod pytorch;
mod report;
mod segment_accounts;
mod slab;
mod source;
mod stitched;
mod stream_caches;
mod suballocated;
mod uses;

use std::collections::BTreeSet;
use std::time::Duration;

pub use best_fit::BestFit;
pub use block::{Address, Block, ForeignBlock, PoolId, PoolOf, StreamAndPool, StreamName};
pub use pytorch::{OptionsError, Pytorch, PytorchOptions};
pub use report::{
    AllocateError, BlockSnapshot, BlockState, Certificate, ClosestPlace, DurationStatistic,
    Evidence, HostMemoryStats, Inspect, MemoryStats, OutOfMemoryReport, Pool, PoolStatistics,
    Retention, SegmentSnapshot, SegmentUsage, Statistic,
};
pub(crate) use source::SealedSource;
pub use source::{
    Adapted, Adaptor, Limit, Limiting, Log, Logging, MemorySource, OnRefusal, Physical, Refusal,
    RequestKind, SourceCall, SourceCounts, SourceDenial, SourceError, TrustedSource,
    VirtualMemorySource,
};
pub use stitched::{Stitched, StreamCache};
pub use stream_caches::{LendPermit, Lending, Recalled, StreamCaches, StreamNumber};
pub use suballocated::{Misplaced, Misplacement, Suballocated, Suballocator};

/// A way to keep memory for reuse.
///
/// It is no trait object: a source's error passes through it with its own type, owners differ from
/// policy to policy, and what is awaited is an iterator, not a list made for each question. The
/// devices, which choose a policy when the program runs, have an enum of those that there are. What a
/// program adds is behind trait objects there: a [source](crate::set_memory_source) and a
/// [`Suballocator`]. Most requests meet none of that, as [`StreamCaches`] serve them.
///
/// A sequence number counts the work enqueued on a stream; that work number `n` is done implies the
/// same of all before. No method blocks, and none calls anything but the source it is given.
pub trait Policy {
    /// The name of a stream.
    type Stream: StreamName;

    /// The owner of a block: the stream on which it may be reused without waiting, or nothing.
    type Owner;

    /// Hands out at least `bytes`, from what is kept or else from `source`.
    ///
    /// Where `owner` has a stream, its work may use the block at once, and work on another stream
    /// only after what [`Block::last_use`] says.
    ///
    /// When the source refuses, everything kept that may be released goes back to it, and it is
    /// asked once more.
    ///
    /// # Errors
    /// [`AllocateError::OutOfMemory`] when the source refuses both times, [`AllocateError::Source`]
    /// when it fails in another way. The state is as before, but for what was released.
    /// [`AllocateError::Misplaced`] comes from [`Suballocated`] alone.
    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        owner: Self::Owner,
    ) -> Result<Block, AllocateError<S::Error>>;

    /// Takes a block back. `uses` holds the last use on each stream that used it, in any order.
    ///
    /// # Errors
    /// [`ForeignBlock`] when the block is not one of this policy's; nothing has changed then.
    fn free(&mut self, block: Block, uses: &[(Self::Stream, u64)]) -> Result<(), ForeignBlock>;

    /// The work on streams other than its own that used a block's memory before, and that its new
    /// owner must come after: per stream, the last. A policy that hands out only what no other
    /// stream uses any more has none.
    fn waits_for(&self, block: &Block) -> impl Iterator<Item = (Self::Stream, u64)> {
        let _ = block;
        std::iter::empty()
    }

    /// Whether the memory of a block, once freed, is handed out only after its uses, and not before,
    /// to an owner who waits for them.
    fn waits_before_reuse(&self, block: &Block) -> bool {
        let _ = block;
        true
    }

    /// Learns that nobody uses a pool any more, so that its memory may be given back like all other.
    /// A policy without pools has nothing to do.
    ///
    /// `uses` are the last uses of its memory by graphs, on each stream, and by whoever held it before
    /// them. A pool of a program has none: whoever frees its memory tells of them.
    fn end_pool(&mut self, pool: PoolId, uses: &[(Self::Stream, u64)]) {
        let _ = (pool, uses);
    }

    /// Learns that `stream` has completed its work up to and including number `sequence`.
    fn completed(&mut self, stream: Self::Stream, sequence: u64);

    /// Gives back to `source` what is kept, unused and no longer touched by any stream; returns the
    /// bytes.
    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64;

    /// Gives back to `source` what nobody has used for as long as `idle`, as far as all work is known
    /// to be done with it; returns the bytes.
    ///
    /// `now` is the time since any moment that stays the same. Memory counts as unused from the
    /// first tick that finds it so.
    fn tick<S: MemorySource>(&mut self, source: &mut S, now: Duration, idle: Duration) -> u64;

    /// The work that freed memory waits for before it can be handed out again: per stream, the highest
    /// sequence.
    fn awaited_for_reuse(&self) -> impl Iterator<Item = (Self::Stream, u64)>;

    /// The work that [`release_cached`](Self::release_cached) waits for, besides what is awaited for
    /// reuse.
    fn awaited_for_release(&self) -> impl Iterator<Item = (Self::Stream, u64)>;

    /// Lends the part of its memory that serves a stream, to be used apart by [`StreamCaches`];
    /// nothing if it has none, or has lent it already. A policy that lends nothing need not know of
    /// this. Only a [`Lending`] can call it, which keeps the rest of the policy from being used
    /// until everything is back.
    fn lend(
        &mut self,
        stream: Self::Stream,
        permit: LendPermit,
    ) -> Option<Box<StreamCache<Self::Stream>>> {
        let _ = (stream, permit);
        None
    }

    /// Takes back what it has lent, with what was done there.
    fn take_back(&mut self, cache: Box<StreamCache<Self::Stream>>, permit: LendPermit) {
        let _ = (cache, permit);
    }

    /// Learns that a stream is gone: all of its work is done, and it holds no memory. What it has
    /// left may serve another. A policy that keeps no account of streams need not know of this.
    ///
    /// A stream of the same name that asks for memory later is a new one.
    fn end_stream(&mut self, stream: Self::Stream) {
        let _ = stream;
    }

    /// The streams whose completions still matter, or their [end](Self::end_stream): those that
    /// memory belongs to or waits for.
    fn streams(&self) -> BTreeSet<Self::Stream>;
}
