//! The way past a policy for what concerns one stream only.

mod checked_out;
mod lending;
mod local_stats;
mod sync;

use gpu_runtime::StreamId;
use smallvec::SmallVec;

use self::checked_out::CheckedOut;
pub use self::lending::{LendPermit, Lending};
pub(super) use self::local_stats::{LocalStats, headroom_below_peaks};
use super::slab::SlabIndex;
use super::{Block, MemoryStats, Policy, Pool, PoolStatistics, StreamCache, StreamName};

/// A stream's name as a number.
pub trait StreamNumber: StreamName {
    /// A number below 2⁶⁴ - 1 that no other stream has.
    fn number(self) -> u64;
}

impl StreamNumber for u32 {
    fn number(self) -> u64 {
        self.into()
    }
}

impl StreamNumber for usize {
    fn number(self) -> u64 {
        self as u64
    }
}

impl StreamNumber for StreamId {
    fn number(self) -> u64 {
        StreamId::number(self) << 16 | self.device().index() as u64 & 0xffff
    }
}

/// The stream caches that a policy has lent ([`Policy::lend`]), each with notes of whoever runs the
/// policy.
///
/// A request that a free block of its own stream serves, and most frees, change nothing outside of the
/// stream's cache. They are done here, under a lock that only requests of that stream and frees of its
/// memory take. For all else the policy must have all its stream caches back: whoever has the policy
/// takes them back first ([`recall`](StreamCaches::recall)), and lends them again to streams that ask
/// for more. What it decides is the same either way, but for the order in which frees of different
/// streams are thought to have come.
///
/// ```
/// use gpu_alloc::policy::{Lending, Policy, Stitched, StreamCaches};
/// # use gpu_alloc::policy::{Address, MemorySource, Physical, SourceError, VirtualMemorySource};
/// # struct Source(u64);
/// # impl MemorySource for Source {
/// #     type Error = std::convert::Infallible;
/// #     fn allocate(&mut self, _: u64) -> Result<Address, SourceError<Self::Error>> {
/// #         Err(SourceError::Exhausted)
/// #     }
/// #     fn release(&mut self, _: Address, _: u64) {}
/// #     fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = Self::Error>> {
/// #         Some(self)
/// #     }
/// # }
/// # impl VirtualMemorySource for Source {
/// #     type Error = std::convert::Infallible;
/// #     fn page_bytes(&self) -> u64 {
/// #         2 << 20
/// #     }
/// #     fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>> {
/// #         self.0 += bytes;
/// #         Ok(Address(self.0))
/// #     }
/// #     fn unreserve(&mut self, _: Address, _: u64) {}
/// #     fn create(&mut self, _: u64) -> Result<Physical, SourceError<Self::Error>> {
/// #         self.0 += 1 << 30;
/// #         Ok(Physical(self.0))
/// #     }
/// #     fn destroy(&mut self, _: Physical, _: u64) {}
/// #     fn map(&mut self, _: Address, _: Physical, _: u64) -> Result<(), SourceError<Self::Error>> {
/// #         Ok(())
/// #     }
/// #     fn set_access(&mut self, _: Address, _: u64) -> Result<(), SourceError<Self::Error>> {
/// #         Ok(())
/// #     }
/// #     fn unmap(&mut self, _: Address, _: u64) {}
/// # }
/// # let mut source = Source(1 << 40);
/// let mut policy = Stitched::<u32>::new();
/// let caches = StreamCaches::<u32>::new();
/// let stream = 7;
/// assert!(caches.allocate(stream, 1000, |_, _| ()).is_none(), "nothing is lent");
/// let block = policy.allocate(&mut source, 1000, stream.into()).unwrap();
/// let mut lending = Lending::new(policy);
/// assert!(caches.lend(&mut lending, stream, |_| ()));
///
/// // From here on, nobody needs the policy for this, nor can reach it.
/// let address = block.address();
/// caches.free(block, &[(stream, 1)]).unwrap();
/// let block = caches.allocate(stream, 900, |_, _| ()).unwrap();
/// assert_eq!((block.address(), block.last_use()), (address, 1));
///
/// let policy = caches.recall(&mut lending, |_| ());
/// assert_eq!(policy.statistics().allocation.all.current, 1);
/// policy.free(block, &[]).unwrap();
/// ```
#[derive(Debug)]
pub struct StreamCaches<K, N = ()>(CheckedOut<(Box<StreamCache<K>>, N)>);

impl<K: StreamNumber, N> StreamCaches<K, N> {
    /// The number of blocks that may wait for the policy to have its stream caches back, whose memory
    /// other streams have used: it keeps such memory back anyway.
    pub const MAX_WAITING: usize = 16;

    /// The number of streams that may have a stream cache at once.
    pub const MAX_STREAMS: usize = SlabIndex::SLABS - 1;

    /// No stream cache is lent yet.
    pub fn new() -> Self {
        StreamCaches(CheckedOut::new(SlabIndex::SLABS))
    }

    /// Hands out at least `bytes` to a stream, if its stream cache is lent and can do so by itself.
    /// Where other streams have used the memory ([`Block::is_shared`]),
    /// [`waits_for`](StreamCaches::waits_for) tells what comes before. `note` is called under the lock,
    /// with the notes of the stream cache.
    // A block that is returned through memory is read there in other portions than it was written in,
    // which stalls the processor, 5 ns each time; hence this and what it calls are part of the caller.
    #[inline(always)]
    pub fn allocate(
        &self,
        stream: K,
        bytes: u64,
        note: impl FnOnce(&mut N, &Block),
    ) -> Option<Block> {
        let place = self.0.place_of(stream.number())?;
        self.0.with(place, |(cache, notes)| {
            let block = cache.allocate(stream, bytes)?;
            note(notes, &block);
            Some(block)
        })?
    }

    /// The uses on other streams that a block's new owner waits for ([`Policy::waits_for`]), where the
    /// block's stream cache is lent; `None` if the policy has the stream cache. To be asked by whoever has the policy. It waits while other threads are at the
    /// stream cache, which takes them some tens of nanoseconds.
    pub fn waits_for(&self, block: &Block) -> Option<SmallVec<[(K, u64); 2]>> {
        self.0.look(block.slot.slab(), |(cache, _)| cache.waits_for(block).collect())
    }

    /// Takes a block back, as [`Policy::free`] does, if the stream cache that it is of is lent and that
    /// concerns no other.
    ///
    /// # Errors
    /// The block, if it must go back to the policy.
    #[inline]
    pub fn free(&self, block: Block, uses: &[(K, u64)]) -> Result<(), Block> {
        let freed = self.0.with(block.slot.slab(), |(cache, _)| cache.free(&block, uses));
        if freed == Some(true) { Ok(()) } else { Err(block) }
    }

    /// Whether the policy has all its stream caches. To be asked by whoever has the policy.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lends the stream cache of a stream, if the policy has one for it that is not lent yet, with
    /// the notes on it; false if it has not.
    pub fn lend<P: Policy<Stream = K>>(
        &self,
        lending: &mut Lending<P>,
        stream: K,
        notes: impl FnOnce(usize) -> N,
    ) -> bool {
        let Some(cache) = lending.lend(stream) else { return false };
        let number = cache.number();
        self.0.lend(number, stream.number(), (cache, notes(number)));
        true
    }

    /// Takes all stream caches back that were lent, each after whoever is at it, and gives access to
    /// the policy, which is whole then. `each` gets the notes of each.
    ///
    /// # Panics
    /// If the policy has lent stream caches to another `StreamCaches`: it cannot be whole then.
    pub fn recall<'p, P: Policy<Stream = K>>(
        &self,
        lending: &'p mut Lending<P>,
        mut each: impl FnMut(Recalled<K, N>),
    ) -> &'p mut P {
        self.0.take_back(|(cache, notes)| {
            each(Recalled { number: cache.number(), stream: cache.stream(), notes });
            lending.take_back(cache);
        });
        lending.whole()
    }
}

/// A stream cache that was lent and is its policy's again.
#[derive(Debug)]
pub struct Recalled<K, N> {
    /// Its number, the first one of [`Block::place`].
    pub number: usize,
    /// Whose it is, unless the stream is gone. It may be lent again.
    pub stream: Option<K>,
    /// The notes that were lent with it.
    pub notes: N,
}

impl<K: StreamNumber, N> Default for StreamCaches<K, N> {
    fn default() -> Self {
        Self::new()
    }
}
