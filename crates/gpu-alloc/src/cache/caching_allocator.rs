//! The allocator around a policy: requests, frees, and the wait before a request is refused.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gpu_runtime::{
    Cached, DevicePtr, Error, Stream, StreamId, StreamPoint, destructors_later, on_own_account,
};
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use super::observer::CacheObserver;
use super::return_queue::{ReturnQueue, Returned};
use super::state::{AllocFailure, LockedState, ServedBlock, WholeState};
use crate::policy::{
    Block, BlockSnapshot, BlockState, Inspect, MemorySource, Policy, PoolId, RequestKind,
    StreamCaches,
};

/// A policy with its source, and who looks on.
///
/// A request that its stream's cache can serve, and most frees, touch nothing but that cache, which
/// the policy has lent. For the rest there is a lock. It is held while the source is asked, as its
/// answer decides what the policy does next. It is never held while the host waits for a stream.
#[derive(Debug)]
pub(crate) struct CachingAllocator<P: Policy, S, O: CacheObserver<P, S> = ()> {
    /// The stream caches that are lent. To take them back or to lend them, the lock is held.
    caches: StreamCaches<StreamId, O::Notes>,
    state: Mutex<LockedState<P, S, O>>,
    returned: ReturnQueue,
}

impl<P, S, O> CachingAllocator<P, S, O>
where
    P: Policy<Stream = StreamId>,
    P::Owner: Copy,
    S: MemorySource<Error = Error>,
    O: CacheObserver<P, S>,
{
    pub(crate) fn new(policy: P, source: S, observer: O) -> Self {
        let state = Mutex::new(LockedState::new(policy, source, observer));
        CachingAllocator { caches: StreamCaches::new(), state, returned: ReturnQueue::default() }
    }

    /// Looks at the state, or changes it, after everything that was freed so far and with nothing
    /// lent. The lock is held meanwhile.
    pub(crate) fn with_whole<R>(&self, work: impl FnOnce(WholeState<'_, P, S, O>) -> R) -> R {
        let mut state = self.state.lock();
        let (whole, _) = self.collect(&mut state);
        work(whole)
    }

    /// Memory for `owner`, which is `alone` where nothing but a stream matters.
    ///
    /// It waits for nothing as long as there is memory. Only when the source has refused, also
    /// after everything unused was released to it, the host waits: once, for work that is already
    /// enqueued, until the memory that was freed by then can be reused or released.
    #[inline]
    pub(crate) fn allocate(
        &self,
        bytes: u64,
        owner: P::Owner,
        alone: Option<&Stream>,
        call_site: O::CallSite,
    ) -> Result<ServedBlock, AllocFailure<O::HeapState>> {
        match alone.and_then(|stream| self.allocate_cached(bytes, owner, stream, call_site)) {
            Some(block) if !block.is_shared() => {
                Ok(ServedBlock { block, waits_for: SmallVec::new(), waits_before_reuse: false })
            }
            Some(block) => Ok(self.served(&mut self.state.lock(), block)),
            None => self.allocate_or_wait(bytes, owner, alone, call_site),
        }
    }

    /// Memory of a stream's cache, while that is lent.
    #[inline]
    fn allocate_cached(
        &self,
        bytes: u64,
        owner: P::Owner,
        stream: &Stream,
        call_site: O::CallSite,
    ) -> Option<Block> {
        let note = |notes: &mut _, block: &_| O::note(notes, block, bytes, owner, call_site);
        self.caches.allocate(stream.id(), bytes, note)
    }

    /// A block of a stream's cache, with what its owner must come after.
    fn served(&self, state: &mut LockedState<P, S, O>, block: Block) -> ServedBlock {
        let waits_for = match self.caches.waits_for(&block) {
            Some(waits) => state.beside.streams.points(waits).collect(),
            None => {
                // Another thread has recalled the cache since.
                let whole = state.recall(&self.caches);
                whole.streams.points(whole.policy.waits_for(&block)).collect()
            }
        };
        ServedBlock { block, waits_for, waits_before_reuse: false }
    }

    /// Memory of the policy. Where there is none, the host waits for work that uses freed memory, if
    /// that may help.
    fn allocate_or_wait(
        &self,
        bytes: u64,
        owner: P::Owner,
        alone: Option<&Stream>,
        call_site: O::CallSite,
    ) -> Result<ServedBlock, AllocFailure<O::HeapState>> {
        // Where what is held leaves too little, no work is worth a wait.
        let is_full = |failure: &AllocFailure<_>| {
            let denial = failure.certificate().map(|certificate| certificate.denial());
            denial.is_some_and(|it| !it.is_rejection() && it.kind != RequestKind::Total)
        };
        let waits_for_work = |failure: &AllocFailure<_>| {
            failure.certificate().is_some_and(|certificate| !certificate.is_final())
        };
        // The source may come upon what the program has dropped, whose destructors may need the lock.
        let allocate = |cached_by| {
            destructors_later(|| self.attempt(bytes, owner, (alone, cached_by), call_site))
        };
        let mut outcome = allocate(alone);
        if outcome.as_ref().is_err_and(is_full) && self.ask_after_freed() {
            outcome = allocate(None);
        }
        // What an attempt has moved beside memory that work still uses waits for that work as well.
        // So it may take more than one wait until nothing that is free waits for any.
        while outcome.as_ref().is_err_and(is_full) && self.wait_for_freed() {
            outcome = allocate(None);
            if !outcome.as_ref().is_err_and(waits_for_work) {
                break;
            }
        }
        if outcome.as_ref().is_err_and(|failure| failure.certificate().is_some()) {
            self.state.lock().beside.refusals += 1;
        }
        outcome
    }

    /// One request under the lock, from the stream's cache where `cached_by` is a stream and its
    /// cache was not lent, or else from the policy.
    fn attempt(
        &self,
        bytes: u64,
        owner: P::Owner,
        (alone, cached_by): (Option<&Stream>, Option<&Stream>),
        call_site: O::CallSite,
    ) -> Result<ServedBlock, AllocFailure<O::HeapState>> {
        let mut state = self.state.lock();
        if let Some(stream) = cached_by
            && state.lend(&self.caches, stream.id())
            && let Some(block) = self.allocate_cached(bytes, owner, stream, call_site)
        {
            return Ok(self.served(&mut state, block));
        }
        let (mut whole, _) = self.collect(&mut state);
        if let Some(stream) = alone {
            whole.know(stream);
        }
        let served = whole.allocate(bytes, owner, call_site)?;
        let recalled = whole.streams.take_recalled();
        // Who is in a pool comes to the policy each time, and would have to take all of it back: the
        // streams ask themselves when they need it.
        if let Some(stream) = alone {
            for stream in recalled.into_iter().chain([stream.id()]) {
                state.lend(&self.caches, stream);
            }
        }
        Ok(served)
    }

    /// Takes a block back whose last use, if any, was that number of its stream's work, and which
    /// nobody else has used.
    ///
    /// # Errors
    /// The block, where that concerns others: it must be [freed](CachingAllocator::free).
    #[inline]
    pub(crate) fn free_alone(&self, block: Block, stream: &Stream, last: u64) -> Result<(), Block> {
        let last = [(stream.id(), last)];
        let uses = if last[0].1 > 0 { &last[..] } else { &[] };
        let Err(block) = self.caches.free(block, uses) else { return Ok(()) };
        match self.state.try_lock() {
            // The cache may be at home since the last recall: with it lent, the free concerns no other.
            Some(mut state) => {
                state.lend(&self.caches, stream.id());
                self.caches.free(block, uses)
            }
            None => Err(block),
        }
    }

    /// Takes a block back, which waits for its uses before it is handed out again. The caller does
    /// not wait.
    pub(crate) fn free(&self, block: Block, uses: impl IntoIterator<Item = StreamPoint>) {
        self.take_back(Returned::Block { block, uses: uses.into_iter().collect() });
    }

    /// Lets a pool's memory be given back that nobody holds. The caller does not wait.
    pub(crate) fn end_pool(&self, pool: PoolId, uses: impl IntoIterator<Item = StreamPoint>) {
        self.take_back(Returned::Pool { pool, uses: uses.into_iter().collect() });
    }

    fn take_back(&self, returned: Returned) {
        // Who has the lock finds what is queued when it next needs the whole policy; nobody waits here.
        let state = self.state.try_lock();
        let waiting = self.returned.push(returned);
        if let Some(mut state) = state
            && (self.caches.is_empty() || waiting > StreamCaches::<StreamId>::MAX_WAITING)
        {
            self.collect(&mut state);
        }
    }

    /// Gives back to the source all memory that nobody holds, after it has waited for what still
    /// uses such memory.
    pub(crate) fn release_cached(&self) {
        self.ask_after_freed();
        self.wait_for_freed();
        self.with_whole(|mut whole| {
            whole.end_abandoned();
            let released = whole.policy.release_cached(whole.source);
            whole.observer.called(whole.source, None);
            whole.streams.keep_only(&whole.policy.streams());
            tracing::debug!(released, "released cached memory");
        });
    }

    /// Gives back to the source what nobody has used for as long as `idle`; returns the bytes. It
    /// waits for nothing.
    pub(crate) fn trim(&self, idle: Duration) -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        let now = START.get_or_init(Instant::now).elapsed();
        self.with_whole(|mut whole| {
            let awaited = whole.awaited();
            whole.ask(awaited.iter().map(StreamPoint::stream).cloned());
            let released = whole.policy.tick(whole.source, now, idle);
            whole.observer.called(whole.source, None);
            tracing::debug!(released, "released idle memory");
            released
        })
    }

    /// Tells of the memory that nobody holds, when the process ends. Where somebody has the lock it
    /// tells of nothing: nobody is waited for.
    pub(crate) fn tell_cached(&self, cached: &mut Cached<'_>)
    where
        P: Inspect,
    {
        let Some(mut state) = self.state.try_lock() else { return };
        let (whole, _) = self.collect(&mut state);
        for segment in whole.policy.snapshot() {
            let is_held = |block: &BlockSnapshot<_>| block.state == BlockState::ActiveAllocated;
            for block in segment.blocks.into_iter().filter(|block| !is_held(block)) {
                let start = DevicePtr::from_address(block.address.0);
                cached.memory(start, block.size as usize);
            }
        }
    }

    /// Asks how far the work is that keeps freed memory from being reused or released; false if
    /// nothing has changed.
    fn ask_after_freed(&self) -> bool {
        let (mut points, collected) = self.awaited();
        points.retain(is_past);
        self.complete(&points);
        collected || !points.is_empty()
    }

    /// Waits for that work; false if nothing has changed. What it waits for was enqueued when it
    /// begins, so it ends when that work does.
    ///
    /// Memory that has waited for one stream may then wait for another, alone or together with its
    /// neighbours: so it goes on until nothing waits for any such work.
    fn wait_for_freed(&self) -> bool {
        let (mut points, collected) = self.awaited();
        let enqueued = self.state.lock().beside.streams.enqueued();
        let is_enqueued = |point: &StreamPoint| {
            enqueued.get(&point.stream().id()).is_some_and(|last| point.sequence() <= *last)
        };
        let (mut waited, mut changed) = (false, collected);
        loop {
            points.retain(is_enqueued);
            waited |= !points.is_empty();
            // On a device that is lost nothing completes any more; its memory stays where it is.
            points.retain(|point| point.wait().is_ok());
            if points.is_empty() {
                break;
            }
            changed = true;
            self.complete(&points);
            points = self.awaited().0;
        }
        self.state.lock().beside.waits += u64::from(waited);
        changed
    }

    /// The points that freed memory waits for; and whether blocks came back that nobody had dealt
    /// with.
    fn awaited(&self) -> (Vec<StreamPoint>, bool) {
        let mut state = self.state.lock();
        let (whole, collected) = self.collect(&mut state);
        (whole.awaited(), collected)
    }

    /// Tells the policy of points that are over, which are waited for and asked after without the
    /// lock.
    fn complete(&self, points: &[StreamPoint]) {
        self.with_whole(|mut whole| {
            for point in points {
                whole.completed(point.stream().id(), point.sequence());
            }
        });
    }

    /// Takes back everything that is lent, and everything that was freed meanwhile; also says
    /// whether there was any of the latter.
    fn collect<'s>(
        &self,
        state: &'s mut MutexGuard<'_, LockedState<P, S, O>>,
    ) -> (WholeState<'s, P, S, O>, bool) {
        let mut whole = state.recall(&self.caches);
        let returned = self.returned.take();
        let collected = !returned.is_empty();
        returned.into_iter().for_each(|returned| whole.take_back(returned));
        (whole, collected)
    }
}

/// Whether nothing before the point is under way any more, as far as the driver tells. Nobody is told
/// of the answer: it orders nothing in the program, and must not hide its races.
pub(crate) fn is_past(point: &StreamPoint) -> bool {
    on_own_account(|| point.is_complete().unwrap_or(false))
}
