//! A program's own way to share memory out, made a policy.

mod allocators;
mod policy;
mod release;
mod report;
mod segment;
mod segments;
mod snapshot;

use gpu_runtime::StreamId;

use self::allocators::{AllocatorKey, ProgramAllocators, key_of};
use self::segment::PriorUse;
use self::segments::ProgramSegments;
use super::pending::PendingFrees;
use super::segment_accounts::SegmentAccounts;
use super::slab::{Slab, SlabIndex};
use super::uses::LastUses;
use super::{Address, Block, MemoryStats, Pool, PoolOf, StreamAndPool, StreamName};

/// The alignment of blocks, and the unit of their sizes.
const ALIGNMENT: u64 = 512;

/// The largest request that counts as small.
const SMALL: u64 = 1 << 20;

/// Shares out memory by addresses: a program's own allocator for a device.
///
/// It decides what lies where, and nothing else. [`Suballocated`] makes a [policy](super::Policy) of
/// it and does the rest: it keeps work on different streams apart, sees to it that nothing is given
/// back too early, and counts. To put one in the place of a device's allocator, see
/// [`set_suballocator`](crate::set_suballocator).
///
/// Sizes are multiples of 512 bytes, and so must be the addresses that it hands out. What it returns
/// is checked: a wrong address is an [error](Misplaced), and never memory that two hold. It is called
/// under a lock, must not wait, and must not call this crate's functions.
pub trait Suballocator<K: StreamName = StreamId> {
    /// Finds a place for a block of so many bytes, which belongs to it until it is
    /// [freed](Self::free); `None` if there is none.
    ///
    /// `new_segment` takes so many bytes from the source, for this allocator alone: the address of the
    /// first, or `None` where the source refuses. A block lies in one segment. After a refusal,
    /// everything unused goes back to the source, and the request is made once more.
    ///
    /// `stream` is where the block's first owner works. Memory that was freed may be handed out
    /// again at once, for any stream; but work on one stream then waits for what another one did
    /// there, so it is better to keep streams apart.
    fn allocate(
        &mut self,
        bytes: u64,
        stream: K,
        new_segment: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address>;

    /// Takes a block back, as it was handed out for `stream`.
    fn free(&mut self, address: Address, bytes: u64, stream: K);

    /// Whether it parts with a segment, of which nothing is held, and which it must not hand out any
    /// more if so. By default it keeps all.
    ///
    /// It is asked when unused memory is to go back: by [`empty_cache`](crate::empty_cache),
    /// [`trim_cache`](crate::trim_cache), and before a request is refused.
    fn give_up(&mut self, segment: Address, bytes: u64) -> bool {
        let _ = (segment, bytes);
        false
    }
}

impl<K: StreamName, A: Suballocator<K> + ?Sized> Suballocator<K> for Box<A> {
    fn allocate(
        &mut self,
        bytes: u64,
        stream: K,
        new_segment: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address> {
        (**self).allocate(bytes, stream, new_segment)
    }

    fn free(&mut self, address: Address, bytes: u64, stream: K) {
        (**self).free(address, bytes, stream);
    }

    fn give_up(&mut self, segment: Address, bytes: u64) -> bool {
        (**self).give_up(segment, bytes)
    }
}

/// A policy that leaves what lies where to a [`Suballocator`].
///
/// Memory comes from the source in plain segments. What is freed goes back to the allocator at once.
/// Whatever it hands out next there, and for whichever stream, comes after all that was done with the
/// memory before: [`waits_for`](super::Policy::waits_for) says what its stream must wait for.
/// A segment goes back to the source when nothing of it is held, no work uses it any more, and the
/// allocator [gives it up](Suballocator::give_up).
///
/// Each pool has allocators of its own, one for each stream, and what is freed there goes back to
/// them only once other streams are done with it: graphs work in memory that nobody holds.
///
/// ```
/// use gpu_alloc::policy::{
///     Address, Limit, MemorySource, Policy, SourceError, Suballocated, Suballocator,
/// };
///
/// /// Blocks of 64 KiB in segments of 1 MiB.
/// #[derive(Debug, Default)]
/// struct Slabs(Vec<Address>);
///
/// impl<K: Copy + Ord + std::fmt::Debug> Suballocator<K> for Slabs {
///     fn allocate(
///         &mut self,
///         bytes: u64,
///         _: K,
///         new_segment: &mut dyn FnMut(u64) -> Option<Address>,
///     ) -> Option<Address> {
///         if bytes > 64 << 10 {
///             return None;
///         }
///         if self.0.is_empty() {
///             let Address(first) = new_segment(1 << 20)?;
///             self.0.extend((0..16).rev().map(|slab| Address(first + (slab << 16))));
///         }
///         self.0.pop()
///     }
///
///     fn free(&mut self, address: Address, _: u64, _: K) {
///         self.0.push(address);
///     }
///
///     fn give_up(&mut self, Address(segment): Address, bytes: u64) -> bool {
///         self.0.retain(|slab| !(segment..segment + bytes).contains(&slab.0));
///         true
///     }
/// }
///
/// # struct Rising(u64);
/// # impl MemorySource for Rising {
/// #     type Error = std::convert::Infallible;
/// #     fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>> {
/// #         self.0 += bytes;
/// #         Ok(Address(self.0))
/// #     }
/// #     fn release(&mut self, _: Address, _: u64) {}
/// # }
/// let mut source = Limit::new(Rising(1 << 32), Some(8 << 20));
/// let mut policy = Suballocated::new(Slabs::default);
/// let (main, side) = ("main", "side");
/// let block = policy.allocate(&mut source, 1000, main.into()).unwrap();
/// let address = block.address();
///
/// // What the side stream did there last, the next owner comes after.
/// policy.free(block, &[(side, 7)]).unwrap();
/// let block = policy.allocate(&mut source, 60_000, main.into()).unwrap();
/// assert_eq!(block.address(), address);
/// assert_eq!(policy.waits_for(&block).collect::<Vec<_>>(), [(side, 7)]);
///
/// // Too much for slabs is out of memory, and says who has it.
/// assert!(policy.allocate(&mut source, 100_000, main.into()).is_err());
/// policy.free(block, &[(main, 1)]).unwrap();
/// assert_eq!(policy.release_cached(&mut source), 0, "work is under way");
/// policy.completed(main, 1);
/// assert_eq!(policy.release_cached(&mut source), 1 << 20);
/// ```
#[derive(Debug)]
pub struct Suballocated<A, K = StreamId> {
    allocators: ProgramAllocators<A, K>,
    segments: ProgramSegments<K>,
    records: Slab<BlockRecord<K>>,
    pending: PendingFrees<K>,
    accounts: SegmentAccounts,
}

/// A block that is held, or was freed and waits for its uses.
#[derive(Debug)]
struct BlockRecord<K> {
    address: u64,
    bytes: u64,
    requested: u64,
    owner: StreamAndPool<K>,
    /// The first byte of its segment.
    segment: u64,
    /// The work that was done there before, and then that of its owner.
    uses: LastUses<K>,
    is_waiting: bool,
}

/// An address that a [`Suballocator`] must not have returned. Nothing has become of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the program's allocator placed {bytes} bytes at {address}: {problem}")]
pub struct Misplaced {
    /// The address.
    pub address: Address,
    /// The bytes that were asked for.
    pub bytes: u64,
    /// The rule that it breaks.
    pub problem: Misplacement,
}

/// The rules that an address can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misplacement {
    /// A part of the block lies outside of the segments that were taken for the allocator and not given
    /// up since, or it lies in two.
    #[error("that is not in one of its segments")]
    Outside,
    /// A part of it is held, or was freed and not given back to the allocator yet.
    #[error("a part of that is taken")]
    Overlap,
    /// It is no multiple of 512.
    #[error("that is no multiple of {ALIGNMENT}")]
    Unaligned,
}

impl<A: Suballocator<K>, K: StreamName> Suballocated<A, K> {
    /// A policy that has no memory yet. `make` makes its allocators, when each is needed.
    pub fn new(make: impl Fn() -> A + Send + 'static) -> Self {
        Suballocated {
            allocators: ProgramAllocators::new(make),
            segments: ProgramSegments::default(),
            records: Slab::default(),
            pending: PendingFrees::default(),
            accounts: SegmentAccounts::new(None),
        }
    }

    /// Its statistics. All segments count as for large requests.
    pub fn statistics(&self) -> &MemoryStats {
        self.accounts.statistics()
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.accounts.reset_peak();
    }

    /// Sets all accumulated values and counts to zero.
    pub fn reset_accumulated_statistics(&mut self) {
        self.accounts.reset_accumulated();
    }

    /// Puts a block where the allocator says.
    fn place(
        &mut self,
        address: Address,
        bytes: u64,
        requested: u64,
        owner: StreamAndPool<K>,
    ) -> Result<Block, Misplaced> {
        let wrong = |problem| Misplaced { address, bytes, problem };
        if !address.0.is_multiple_of(ALIGNMENT) {
            return Err(wrong(Misplacement::Unaligned));
        }
        let slot = self.records.insert(BlockRecord {
            address: address.0,
            bytes,
            requested,
            owner,
            segment: 0,
            uses: LastUses::none(),
            is_waiting: false,
        });
        let (segment, before) =
            self.segments.take(address.0, bytes, slot, owner).map_err(|problem| {
                self.records.remove(slot);
                wrong(problem)
            })?;
        self.accounts.set_inactive_split(Pool::Large, self.segments.split_free());
        self.accounts.block_handed_out(pool_of(bytes), bytes, requested);
        let PriorUse { uses, was_used: is_recycled, .. } = before;
        let (last_use, is_shared) = (uses.own, uses.has_others());
        let record = &mut self.records[slot];
        (record.segment, record.uses) = (segment, uses);
        Ok(Block { slot, address, bytes, last_use, is_recycled, is_shared })
    }

    /// Gives a block that was freed back to its allocator.
    fn complete_free(&mut self, slot: SlabIndex) {
        let BlockRecord { address, bytes, requested, owner, segment, uses, .. } =
            self.records.remove(slot);
        self.accounts.block_reusable(pool_of(bytes), bytes, requested);
        let prior = PriorUse { stream: owner.stream, uses, was_used: true };
        self.segments.free(segment, address, prior);
        self.accounts.set_inactive_split(Pool::Large, self.segments.split_free());
        if let Some(allocator) = self.allocators.get_mut(key_of(owner)) {
            allocator.free(Address(address), bytes, owner.stream);
        }
    }

    fn keeper(&self, key: AllocatorKey<K>) -> Option<PoolOf> {
        self.allocators.keeper(key)
    }

    fn is_kept(&self, key: AllocatorKey<K>) -> bool {
        self.keeper(key).is_some()
    }
}

fn pool_of(bytes: u64) -> Pool {
    if bytes <= SMALL { Pool::Small } else { Pool::Large }
}
