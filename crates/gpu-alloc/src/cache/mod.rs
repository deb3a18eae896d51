//! A policy at work: behind a lock, told of what the streams have completed, and given one wait
//! before it gives up.

mod observer;
mod state;

use std::mem;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use gpu_runtime::{
    Cached, DevicePtr, Error, Stream, StreamId, StreamPoint, destructors_later, on_own_account,
};
use smallvec::SmallVec;

pub(crate) use self::observer::CacheObserver;
pub(crate) use self::state::State;
use crate::policy::{
    RequestKind, Block, BlockSnapshot, BlockState, Certificate, StreamCaches, Inspect, MemorySource, Misplaced,
    OutOfMemoryReport, Policy, PoolId,
};

/// A policy with its source, and who looks on.
///
/// What concerns one stream only is done in what the policy has lent to it. For the rest there is a
/// lock. It is held while the source is asked, as its answer decides what the policy does next. It is
/// never held while the host waits for a stream.
#[derive(Debug)]
pub(crate) struct Cache<P: Policy, S, W: CacheObserver<P, S> = ()> {
    /// What is lent. To take it back or to lend it, the state's lock is held.
    front: StreamCaches<StreamId, W::Notes>,
    state: Mutex<State<P, S, W>>,
    /// What was freed while the lock was taken, or a part of the policy lent; who needs the whole
    /// policy next deals with it first. So a drop never waits for another thread's call to the driver, nor for the lock of its own
    /// thread: the runtime, asked for memory, may drop things that were kept for a copy, and there
    /// may be memory of ours among them.
    returned: Mutex<Vec<Returned>>,
}

/// What is on its way back.
#[derive(Debug)]
enum Returned {
    /// A block, with the points after which nobody uses it.
    Block { block: Block, uses: SmallVec<[StreamPoint; 4]> },
    /// A pool that no graph uses any more.
    Pool { pool: PoolId, uses: SmallVec<[StreamPoint; 4]> },
}

/// A block for a request.
#[derive(Debug)]
pub(crate) struct Handed {
    pub(crate) block: Block,
    /// What work on its stream must come after, of other streams.
    pub(crate) waits_for: SmallVec<[StreamPoint; 2]>,
    /// Whether it is handed out again only after its uses.
    pub(crate) waits_before_reuse: bool,
}

/// Why a request was not served.
#[derive(Debug)]
pub(crate) enum AllocFailure<M> {
    /// There is not enough memory, as the report and the moment say.
    OutOfMemory(Box<OutOfMemoryReport>, M),
    /// The source failed in another way.
    Source(Error),
    /// A program's own allocator was wrong.
    Misplaced(Misplaced),
}

impl<M> AllocFailure<M> {
    /// What shows that there is not enough memory, where that is why.
    fn certificate(&self) -> Option<&Certificate> {
        match self {
            AllocFailure::OutOfMemory(report, _) => Some(&report.certificate),
            AllocFailure::Source(_) | AllocFailure::Misplaced(_) => None,
        }
    }
}

impl<P, S, W> Cache<P, S, W>
where
    P: Policy<Stream = StreamId>,
    P::Owner: Copy,
    S: MemorySource<Error = Error>,
    W: CacheObserver<P, S>,
{
    pub(crate) fn new(policy: P, source: S, watch: W) -> Self {
        let state = State::new(policy, source, watch);
        Cache { front: StreamCaches::new(), state: Mutex::new(state), returned: Mutex::default() }
    }

    /// The state after everything that was freed so far, with nothing lent.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<P, S, W>> {
        self.lock_and_collect().0
    }

    /// Memory for `home`, which is `alone` where nothing but a stream matters.
    ///
    /// It waits for nothing as long as there is memory. Only when the source has refused, also
    /// after everything unused was released to it, the host waits: once, for work that is already
    /// enqueued, until the memory that was freed by then can be reused or released.
    #[inline]
    pub(crate) fn allocate(
        &self,
        bytes: u64,
        home: P::Owner,
        alone: Option<&Stream>,
        call_site: W::CallSite,
    ) -> Result<Handed, AllocFailure<W::HeapState>> {
        match alone.and_then(|stream| self.allocate_lent(bytes, home, stream, call_site)) {
            Some(block) if !block.is_shared() => {
                Ok(Handed { block, waits_for: SmallVec::new(), waits_before_reuse: false })
            }
            Some(block) => Ok(self.handed(&self.state(), block)),
            None => self.allocate_from_policy(bytes, home, alone, call_site),
        }
    }

    /// Memory of what is lent to a stream.
    #[inline]
    fn allocate_lent(
        &self,
        bytes: u64,
        home: P::Owner,
        stream: &Stream,
        call_site: W::CallSite,
    ) -> Option<Block> {
        let note = |notes: &mut _, block: &_| W::note(notes, block, bytes, home, call_site);
        self.front.allocate(stream.id(), bytes, note)
    }

    /// A block of what is lent, with what its owner must come after.
    fn handed(&self, state: &State<P, S, W>, block: Block) -> Handed {
        let waits_for = match self.front.waits_for(&block) {
            Some(waits) => state.points(waits).collect(),
            // It was taken back since.
            None => state.points(state.policy.waits_for(&block)).collect(),
        };
        Handed { block, waits_for, waits_before_reuse: false }
    }

    fn allocate_from_policy(
        &self,
        bytes: u64,
        home: P::Owner,
        alone: Option<&Stream>,
        call_site: W::CallSite,
    ) -> Result<Handed, AllocFailure<W::HeapState>> {
        // Where what is held leaves too little, no work is worth a wait.
        let is_full = |refused: &AllocFailure<_>| {
            let refused = refused.certificate().map(|certificate| certificate.denial);
            refused.is_some_and(|it| !it.is_rejection() && it.kind != RequestKind::Total)
        };
        let waits_for_work = |refused: &AllocFailure<_>| {
            refused.certificate().is_some_and(|certificate| !certificate.is_final())
        };
        let attempt = |may_be_alone| {
            let mut state = self.state();
            if may_be_alone
                && let Some(stream) = alone
                && self.lend(&mut state, stream.id())
                && let Some(block) = self.allocate_lent(bytes, home, stream, call_site)
            {
                return Ok(self.handed(&state, block));
            }
            self.collect(&mut state);
            if let Some(stream) = alone {
                state.know(stream);
            }
            let outcome = state.allocate(bytes, home, call_site);
            if outcome.is_ok() {
                let users = mem::take(&mut state.users);
                // Who is in a pool comes to the policy each time, and would have to take all of it
                // back: the streams ask themselves when they need it.
                if let Some(stream) = alone {
                    for user in users.into_iter().chain([stream.id()]) {
                        self.lend(&mut state, user);
                    }
                }
            }
            outcome
        };
        // The source may come upon what the program has dropped, whose destructors may need the lock.
        let allocate = |may_be_alone| destructors_later(|| attempt(may_be_alone));
        let mut outcome = allocate(true);
        if outcome.as_ref().is_err_and(is_full) && self.ask_after_freed() {
            outcome = allocate(false);
        }
        // What an attempt has moved beside memory that work still uses waits for that work as well.
        // So it may take more than one wait until nothing that is free waits for any.
        while outcome.as_ref().is_err_and(is_full) && self.wait_for_freed() {
            outcome = allocate(false);
            if !outcome.as_ref().is_err_and(waits_for_work) {
                break;
            }
        }
        if outcome.as_ref().is_err_and(|refused| refused.certificate().is_some()) {
            self.state().refusals += 1;
        }
        outcome
    }

    /// Lends a stream what serves it alone, for as long as nobody needs all of the policy; false if
    /// it has that already, or must not have it.
    fn lend(&self, state: &mut State<P, S, W>, stream: StreamId) -> bool {
        let State { policy, watch, streams, .. } = state;
        watch.may_lend()
            && streams.contains_key(&stream)
            && self.front.lend(policy, stream, |part| watch.lend(part))
    }

    /// Takes a block back whose last use, if any, was that number of its stream's work, and which
    /// nobody else has used.
    ///
    /// # Errors
    /// The block, where that concerns others: it must be [freed](Cache::free).
    #[inline]
    pub(crate) fn free_alone(&self, block: Block, stream: &Stream, last: u64) -> Result<(), Block> {
        let last = [(stream.id(), last)];
        let uses = if last[0].1 > 0 { &last[..] } else { &[] };
        let Err(block) = self.front.free(block, uses) else { return Ok(()) };
        match self.state.try_lock() {
            Ok(mut state) => {
                self.lend(&mut state, stream.id());
                self.front.free(block, uses)
            }
            Err(_) => Err(block),
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
        let state = match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let waiting = {
            let mut waiting = self.returned();
            waiting.push(returned);
            waiting.len()
        };
        if let Some(mut state) = state
            && (self.front.has_nothing() || waiting > StreamCaches::<StreamId>::MOST_WAITING)
        {
            self.collect(&mut state);
        }
    }

    /// Gives back to the source all memory that nobody holds, after it has waited for what still
    /// uses such memory.
    pub(crate) fn release_cached(&self) {
        self.ask_after_freed();
        self.wait_for_freed();
        let state = &mut *self.lock();
        state.end_abandoned();
        let released = state.policy.release_cached(&mut state.source);
        state.watch.called(&mut state.source, None);
        let streams = state.policy.streams();
        state.streams.retain(|stream, _| streams.contains(stream));
        state.users.clear();
        tracing::debug!(released, "released cached memory");
    }

    /// Gives back to the source what nobody has used for as long as `idle`; returns the bytes. It
    /// waits for nothing.
    pub(crate) fn trim(&self, idle: Duration) -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        let now = START.get_or_init(Instant::now).elapsed();
        let state = &mut *self.lock();
        let awaited = state.awaited();
        state.ask(awaited.iter().map(StreamPoint::stream).cloned());
        let released = state.policy.tick(&mut state.source, now, idle);
        state.watch.called(&mut state.source, None);
        tracing::debug!(released, "released idle memory");
        released
    }

    /// Tells of the memory that nobody holds, when the process ends. Where somebody has the lock it tells
    /// of nothing: nobody is waited for.
    pub(crate) fn tell_cached(&self, cached: &mut Cached<'_>)
    where
        P: Inspect,
    {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        self.collect(&mut state);
        for segment in state.policy.snapshot() {
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
        let enqueued = self.state().enqueued();
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
        self.state().waits += u64::from(waited);
        changed
    }

    /// What freed memory waits for; also says whether blocks came back that nobody had dealt with.
    fn awaited(&self) -> (Vec<StreamPoint>, bool) {
        let (state, collected) = self.lock_and_collect();
        (state.awaited(), collected)
    }

    /// Tells the policy of points that are over, which are waited for and asked after without the
    /// lock.
    fn complete(&self, points: &[StreamPoint]) {
        let mut state = self.lock();
        for point in points {
            state.completed(point.stream().id(), point.sequence());
        }
    }

    /// Takes the lock; also says whether blocks came back that nobody had dealt with.
    fn lock_and_collect(&self) -> (MutexGuard<'_, State<P, S, W>>, bool) {
        let mut state = self.state();
        let collected = self.collect(&mut state);
        (state, collected)
    }

    /// Takes back everything that is lent, and everything that was freed meanwhile; says whether
    /// there was any of that.
    fn collect(&self, state: &mut State<P, S, W>) -> bool {
        self.whole(state);
        let returned = mem::take(&mut *self.returned());
        let collected = !returned.is_empty();
        returned.into_iter().for_each(|returned| state.take_back(returned));
        collected
    }

    /// The state as it is, without what is lent.
    fn state(&self) -> MutexGuard<'_, State<P, S, W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back everything that is lent.
    fn whole<'s>(&self, state: &'s mut State<P, S, W>) -> &'s mut State<P, S, W> {
        let State { policy, watch, .. } = state;
        let users = self.front.take_back(policy, |part, notes| watch.take_back(part, notes));
        state.users.retain(|user| !users.contains(user));
        state.users.extend(users);
        state
    }

    fn returned(&self) -> MutexGuard<'_, Vec<Returned>> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nothing before the point is under way any more, as far as the driver tells. Nobody is told
/// of the answer: it orders nothing in the program, and must not hide its races.
pub(crate) fn is_past(point: &StreamPoint) -> bool {
    on_own_account(|| point.is_complete().unwrap_or(false))
}
