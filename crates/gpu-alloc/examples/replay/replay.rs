//! A trace replayed by one policy over the model of a device.

use std::convert::Infallible;

use gpu_alloc::policy::{
    AllocateError, Block, Lending, Limit, MemoryStats, Policy, Pytorch, Stitched, StreamAndPool,
    StreamCaches,
};
use smallvec::SmallVec;

use crate::device::{AddressOrder, CallCounts, DeviceModel};
use crate::trace::{AllocationTrace, TraceEvent};

/// A way to keep device memory, as a program would use it.
pub(crate) trait Allocator {
    /// The policy that serves the requests.
    type Policy: Policy<Stream = u32, Owner = StreamAndPool<u32>>;

    /// The policy with all that is its own.
    fn policy(&mut self) -> &mut Self::Policy;

    /// Learns that a stream has completed its work up to a number.
    fn completed(&mut self, stream: u32, sequence: u64) {
        self.policy().completed(stream, sequence);
    }

    fn statistics(&mut self) -> MemoryStats;

    /// Memory for a stream, if need be after the host has waited for what keeps freed memory from
    /// being reused; the second value says whether it has.
    fn allocate(
        &mut self,
        source: &mut Limit<DeviceModel>,
        bytes: u64,
        stream: u32,
    ) -> (Result<Block, AllocateError<Infallible>>, bool);

    /// Takes memory of a stream back.
    fn free(&mut self, block: Block, stream: u32, uses: &[(u32, u64)]);
}

impl Allocator for Pytorch<u32> {
    type Policy = Self;

    fn policy(&mut self) -> &mut Self {
        self
    }

    fn statistics(&mut self) -> MemoryStats {
        Pytorch::statistics(self).clone()
    }

    /// Allocates as PyTorch does: it waits once, before everything unused is released.
    fn allocate(
        &mut self,
        source: &mut Limit<DeviceModel>,
        bytes: u64,
        stream: u32,
    ) -> (Result<Block, AllocateError<Infallible>>, bool) {
        let mut waited = false;
        let before_release = |policy: &mut Self| waited = wait(policy);
        (self.allocate_with(source, bytes, stream.into(), before_release), waited)
    }

    fn free(&mut self, block: Block, _: u32, uses: &[(u32, u64)]) {
        Policy::free(self, block, uses).expect("each block goes back to its policy");
    }
}

/// The last uses of memory, by stream.
type BlockUses = SmallVec<[(u32, u64); 4]>;

/// This project's own, with what lets threads use it at once.
pub(crate) struct StitchedAllocator {
    caches: StreamCaches<u32>,
    lending: Lending<Stitched<u32>>,
    /// The calls that wait until the policy has its stream caches back: blocks with their uses,
    /// and completions.
    returned: Vec<(Block, BlockUses)>,
    completed: Vec<(u32, u64)>,
    /// Whose stream caches the policy has recalled.
    users: SmallVec<[u32; 8]>,
}

impl Default for StitchedAllocator {
    fn default() -> Self {
        StitchedAllocator {
            caches: StreamCaches::new(),
            lending: Lending::new(Stitched::new()),
            returned: Vec::new(),
            completed: Vec::new(),
            users: SmallVec::new(),
        }
    }
}

impl Allocator for StitchedAllocator {
    type Policy = Stitched<u32>;

    fn policy(&mut self) -> &mut Stitched<u32> {
        let users = &mut self.users;
        let policy = self.caches.recall(&mut self.lending, |cache| users.extend(cache.stream));
        for (block, uses) in self.returned.drain(..) {
            policy.free(block, &uses).expect("each block goes back to its policy");
        }
        for (stream, sequence) in self.completed.drain(..) {
            policy.completed(stream, sequence);
        }
        policy
    }

    fn completed(&mut self, stream: u32, sequence: u64) {
        self.completed.push((stream, sequence));
    }

    fn statistics(&mut self) -> MemoryStats {
        self.policy().statistics()
    }

    fn allocate(
        &mut self,
        source: &mut Limit<DeviceModel>,
        bytes: u64,
        stream: u32,
    ) -> (Result<Block, AllocateError<Infallible>>, bool) {
        if let Some(block) = self.caches.allocate(stream, bytes, |(), _| ()) {
            return (Ok(block), false);
        }
        if self.caches.lend(&mut self.lending, stream, |_| ())
            && let Some(block) = self.caches.allocate(stream, bytes, |(), _| ())
        {
            return (Ok(block), false);
        }
        let policy = self.policy();
        let mut outcome = policy.allocate(source, bytes, stream.into());
        let waited = matches!(outcome, Err(AllocateError::OutOfMemory(_))) && wait(policy);
        if waited {
            outcome = policy.allocate(source, bytes, stream.into());
        }
        for user in self.users.drain(..).chain([stream]) {
            self.caches.lend(&mut self.lending, user, |_| ());
        }
        (outcome, waited)
    }

    fn free(&mut self, block: Block, stream: u32, uses: &[(u32, u64)]) {
        let Err(block) = self.caches.free(block, uses) else { return };
        self.caches.lend(&mut self.lending, stream, |_| ());
        let Err(block) = self.caches.free(block, uses) else { return };
        self.returned.push((block, BlockUses::from_slice(uses)));
        if self.returned.len() > StreamCaches::<u32>::MAX_WAITING {
            self.policy();
        }
    }
}

/// Waits for all that freed memory waits for; false if it waits for nothing.
fn wait<P: Policy + ?Sized>(policy: &mut P) -> bool {
    let awaited: Vec<_> = policy.awaited_for_reuse().collect();
    for (stream, sequence) in &awaited {
        policy.completed(*stream, *sequence);
    }
    !awaited.is_empty()
}

/// A trace at work, which may be repeated.
pub(crate) struct TraceReplay<A> {
    allocator: A,
    source: Limit<DeviceModel>,
    /// The block that each name holds.
    held: Vec<HeldByName>,
    /// The number of events recorded on each stream.
    recorded: Vec<u64>,
    waits: u64,
    event_records: u64,
}

#[derive(Default)]
struct HeldByName {
    block: Option<Block>,
    stream: u32,
    used_on: SmallVec<[u32; 4]>,
}

/// A request that could not be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotServed;

/// The figures of a replay. Events count from 1.
#[derive(Debug, Default)]
pub(crate) struct ReplayResult {
    pub(crate) statistics: MemoryStats,
    pub(crate) calls: CallCounts,
    pub(crate) highest_use: u64,
    /// The number of times that the host waited for events, as nothing else would give memory.
    pub(crate) waits: u64,
    pub(crate) event_records: u64,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<usize>,
    /// Every event that changed how much physical memory is taken, and by how much.
    pub(crate) changes: Vec<(usize, i64)>,
}

/// Whether a replay goes on after a request that could not be served, without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtFailure {
    Stop,
    GoOn,
}

impl<A: Allocator> TraceReplay<A> {
    /// A replay that has not begun, on a device of which `limit` bytes may be taken.
    pub(crate) fn new(
        trace: &AllocationTrace,
        allocator: A,
        capacity: u64,
        limit: Option<u64>,
    ) -> Self {
        let mut held = Vec::new();
        held.resize_with(trace.names, HeldByName::default);
        TraceReplay {
            allocator,
            source: Limit::new(DeviceModel::new(capacity, AddressOrder::Rising), limit),
            held,
            recorded: vec![0; trace.streams],
            waits: 0,
            event_records: 0,
        }
    }

    /// The whole trace once.
    pub(crate) fn run(mut self, trace: &AllocationTrace, at_failure: AtFailure) -> ReplayResult {
        let mut outcome = ReplayResult::default();
        for (event, number) in trace.events.iter().zip(1..) {
            let before = self.source.source().used() as i64;
            let failed = self.step(*event).is_err();
            let change = self.source.source().used() as i64 - before;
            if change != 0 {
                outcome.changes.push((number, change));
            }
            if failed {
                outcome.failures += 1;
                outcome.first_failure.get_or_insert(number);
                if at_failure == AtFailure::Stop {
                    break;
                }
            }
        }
        outcome.statistics = self.allocator.statistics();
        outcome.calls = self.source.source().calls();
        outcome.highest_use = self.source.source().highest_use();
        (outcome.waits, outcome.event_records) = (self.waits, self.event_records);
        outcome
    }

    /// One event. After a failure, its name holds nothing, and what comes of it later is skipped.
    pub(crate) fn step(&mut self, event: TraceEvent) -> Result<(), NotServed> {
        match event {
            TraceEvent::Allocate { name, bytes, stream } => {
                let block = self.allocate(bytes, stream)?;
                let held = &mut self.held[name as usize];
                (held.block, held.stream) = (Some(block), stream);
            }
            TraceEvent::Free { name } => self.free(name as usize),
            TraceEvent::RecordStream { name, stream } => {
                let held = &mut self.held[name as usize];
                if held.block.is_some() && stream != held.stream && !held.used_on.contains(&stream)
                {
                    held.used_on.push(stream);
                }
            }
            TraceEvent::Synchronize { stream } => {
                self.allocator.completed(stream, self.recorded[stream as usize]);
            }
            TraceEvent::EmptyCache => {
                let policy = self.allocator.policy();
                self.waits += u64::from(wait(policy));
                policy.release_cached(&mut self.source);
            }
        }
        Ok(())
    }

    fn allocate(&mut self, bytes: u64, stream: u32) -> Result<Block, NotServed> {
        let source = &mut self.source;
        let (outcome, waited) = self.allocator.allocate(source, bytes, stream);
        self.waits += u64::from(waited);
        outcome.map_err(|error| match error {
            AllocateError::OutOfMemory(_) => NotServed,
            AllocateError::Source(never) => match never {},
            AllocateError::Misplaced(wrong) => panic!("{wrong}"),
        })
    }

    /// Frees what a name holds, after a use on its own stream. In this model that stream is done
    /// whenever somebody asks, so the use is told as one that is known to be over.
    fn free(&mut self, name: usize) {
        let held = &mut self.held[name];
        let Some(block) = held.block.take() else { return };
        let own = (held.stream, 0);
        if held.used_on.is_empty() {
            return self.allocator.free(block, held.stream, &[own]);
        }
        self.event_records += held.used_on.len() as u64;
        let mut uses = BlockUses::from_slice(&[own]);
        for stream in held.used_on.drain(..) {
            let recorded = &mut self.recorded[stream as usize];
            *recorded += 1;
            uses.push((stream, *recorded));
        }
        self.allocator.free(block, held.stream, &uses);
    }

    /// Frees what is held, and completes what is waited for, so that the trace can be repeated.
    pub(crate) fn rewind(&mut self) {
        (0..self.held.len()).for_each(|name| self.free(name));
        wait(self.allocator.policy());
    }

    /// The number of times that the device was asked for memory so far.
    pub(crate) fn device_calls(&self) -> u64 {
        let CallCounts { allocate, create, .. } = self.source.source().calls();
        allocate + create
    }
}
