//! The checks of a running block: each access of its threads, and what orders them.

use std::ops::Range;
use std::sync::Arc;

use ptx_jit::{
    AccessContext, AccessInfo, AccessKind, AccessRefusal, BlockChecker, BlockLayout, CopyGroup,
    MemoryView, Misuse, Violation,
};

use super::async_copies::{AsyncCopies, DoneCopy, PendingCopy};
use super::cells::Cell;
use super::findings::{FaultSite, Findings};
use super::flags::{FlagAddress, FlagRelease};
use super::initialized_bits::InitializedBits;
use super::operation::{self, CheckedOperation};
use super::record::{AccessClass, AccessRecord, Author};
use super::report::ReportKind;
use super::shadow::{AccessChecks, AccessHazard};
use super::silent::{PlainWrite, Writer};
use super::threads::Threads;
use super::tracked::{self, Tracked};
use crate::config::CheckKinds;

/// The checks of one block after the other, on one thread of the host.
pub(crate) struct BlockCheck {
    kinds: CheckKinds,
    operation: Option<Arc<CheckedOperation>>,
    /// The last plain write of the thread of the host that runs the block, shared with the
    /// operation's other blocks.
    writer: Option<Arc<Writer>>,
    grid: [u32; 3],
    extent: [u32; 3],
    index: [u32; 3],
    linear: u32,
    threads: Threads,
    shared: Vec<Cell>,
    shared_written: InitializedBits,
    copies: AsyncCopies,
    local_written: Vec<InitializedBits>,
    /// Whose local memory it is at the moment, where all threads share one's.
    local_thread: u32,
    touched_shared: bool,
    /// Allocations that were accessed lately, and whether they may be.
    known: Vec<(Arc<Tracked>, bool)>,
    /// Operations that were met lately, and whether this one comes after them.
    met: Vec<(u32, bool)>,
}

/// The number of allocations, and of operations, that are remembered: as many as a kernel's inner
/// loop touches, so that a look through them stays short.
const MAX_REMEMBERED: usize = 16;

const SHARED_GRANULE: u64 = 4;

impl BlockCheck {
    /// Checks for the blocks of a launch, of those kinds.
    pub(crate) fn new(kinds: CheckKinds, layout: &BlockLayout) -> BlockCheck {
        let &BlockLayout { grid, block: extent, shared_bytes, local_bytes, local_count } = layout;
        let threads: u32 = extent.iter().product();
        let cells = if kinds.has(CheckKinds::SHARED) { shared_bytes.div_ceil(4) } else { 0 };
        let operation = operation::current();
        BlockCheck {
            kinds,
            writer: operation.as_ref().map(|operation| operation.last_writes.join()),
            operation,
            grid,
            extent,
            index: [0; 3],
            linear: 0,
            threads: Threads::new(threads as usize),
            shared: vec![Cell::default(); cells],
            shared_written: InitializedBits::new(shared_bytes),
            copies: AsyncCopies::new(shared_bytes),
            local_written: (0..local_count).map(|_| InitializedBits::new(local_bytes)).collect(),
            local_thread: 0,
            touched_shared: false,
            known: Vec::new(),
            met: Vec::new(),
        }
    }

    fn findings<'a>(&'a self, context: &'a AccessContext<'a>) -> Findings<'a> {
        let site = FaultSite { block: self.index, extent: self.extent };
        Findings::new(self.operation.as_deref(), site, context)
    }

    fn local_memory(&mut self, linear: u32) -> &mut InitializedBits {
        let all = self.local_written.len() == 1;
        if all && self.local_thread != linear {
            self.local_thread = linear;
            self.local_written[0].clear();
        }
        &mut self.local_written[if all { 0 } else { linear as usize }]
    }

    fn author(&self, kind: AccessClass, context: &AccessContext<'_>, clock: u32) -> Author {
        let operation = self.operation.as_ref().map_or(0, |operation| operation.bits());
        let (block, thread, line) = (self.linear, context.linear, context.line);
        Author { kind, operation, block, thread, clock, line }
    }

    /// The allocation of an access that may be made; `None` for memory that is known to the device
    /// only.
    fn allocation(
        &mut self,
        address: u64,
        access: AccessInfo,
        context: &AccessContext<'_>,
    ) -> Result<Option<Arc<Tracked>>, ReportKind> {
        let accessed = address..address.saturating_add(u64::from(access.bytes));
        let known = self
            .known
            .iter()
            .position(|(tracked, _)| tracked.range.contains(&address) && !tracked.is_freed());
        let (tracked, permitted) = match known {
            Some(place) => {
                if place > 0 {
                    self.known.swap(place, place - 1);
                }
                &self.known[place.saturating_sub(1)]
            }
            None => match tracked::find(address) {
                Some(tracked) => {
                    let permitted = context.memory.window().contains(&address)
                        || context.memory.permits(address, 1, access.access);
                    self.known.insert(0, (tracked, permitted));
                    self.known.truncate(MAX_REMEMBERED);
                    &self.known[0]
                }
                None if tracked::find_freed(address).is_some() => {
                    return Err(ReportKind::UseAfterFree);
                }
                // Were it ordered after the allocation, that would have been made.
                None if tracked::find_coming(address).is_some() => {
                    return Err(ReportKind::StreamRace);
                }
                None => {
                    let bytes = u64::from(access.bytes);
                    let permitted = context.memory.permits(address, bytes, access.access);
                    return if permitted { Ok(None) } else { Err(ReportKind::OutOfBounds) };
                }
            },
        };
        if !tracked.covers(&accessed) {
            return Err(ReportKind::OutOfBounds);
        }
        let checked = match permitted {
            false => Err(ReportKind::NoPeerAccess),
            true if tracked.has_protection() => {
                check_protection(&accessed, access.access, context.memory)
            }
            true => Ok(()),
        };
        // It may have been freed since it was found.
        checked.map_err(|kind| if tracked.is_freed() { ReportKind::UseAfterFree } else { kind })?;
        if tracked.is_constant() && access.access != AccessKind::Read {
            return Err(ReportKind::ReadOnly);
        }
        Ok(Some(Arc::clone(tracked)))
    }

    /// Whether a write changes nothing beside what the author of a record writes.
    fn is_silent(&self, write: PlainWrite, record: AccessRecord) -> bool {
        // First what is about to be written: it may be in memory by now.
        let repeats =
            |operation: &Arc<CheckedOperation>| operation.last_writes.repeats(write, record);
        self.operation.as_ref().is_some_and(repeats) || write.changes_nothing()
    }

    /// Whether the author of a record was done before the access of a thread.
    fn is_ordered(&mut self, record: AccessRecord, kind: AccessClass, linear: u32) -> bool {
        let Some(operation) = &self.operation else { return true };
        let bits = record.operation();
        if bits == operation.bits() {
            return !self.kinds.has(CheckKinds::GLOBAL)
                || self.knows(linear, record.block(), record);
        }
        if !self.kinds.has(CheckKinds::STREAMS) || kind.is_strong() && is_strong(record) {
            return true;
        }
        if let Some(&(_, after)) = self.met.iter().find(|&&(met, _)| met == bits) {
            return after;
        }
        let after = operation.is_after(bits);
        self.met.insert(0, (bits, after));
        self.met.truncate(MAX_REMEMBERED);
        after
    }

    /// Whether a thread knows what a record's author did, who was in that block of the launch.
    fn knows(&self, linear: u32, block: u32, record: AccessRecord) -> bool {
        let known = self.threads.known(linear);
        let (thread, clock) = (record.thread(), record.clock());
        if block == self.linear && (thread == linear || known.of(thread) >= clock) {
            return true;
        }
        let acquired = known.acquired();
        !acquired.is_empty()
            && self
                .operation
                .as_ref()
                .is_some_and(|operation| operation.flags.know(acquired, block, thread, clock))
    }

    /// Copies to shared memory are done: as if their threads had written it now.
    fn finish(&mut self, done: Vec<DoneCopy>) {
        let operation = self.operation.as_ref().map_or(0, |operation| operation.bits());
        for DoneCopy { copy: PendingCopy { range, line }, thread, clock } in done {
            let author =
                Author { kind: AccessClass::Write, operation, block: 0, thread, clock, line };
            for index in range.start / SHARED_GRANULE..range.end.div_ceil(SHARED_GRANULE) {
                if let Some(cell) = self.shared.get_mut(index as usize) {
                    let touched = touched(index * SHARED_GRANULE, &range);
                    // Whoever touched it since the copy began was found then.
                    let _ = cell.access(&author, touched, &mut |_| true);
                }
            }
        }
    }

    fn release(&mut self, place: FlagAddress, access: AccessInfo, linear: u32) {
        let Some(operation) = &self.operation else { return };
        if access.releases {
            operation.flags.enable();
            let known = self.threads.snapshot(linear);
            let clock = known.of(linear);
            let release = FlagRelease { block: self.linear, thread: linear, clock, known };
            operation.flags.release(place, release);
        } else if operation.flags.is_enabled()
            && let Some(known) = self.threads.fenced(linear)
        {
            let (known, clock) = (Arc::clone(known), known.of(linear));
            let release = FlagRelease { block: self.linear, thread: linear, clock, known };
            operation.flags.release(place, release);
        }
    }
}

impl BlockChecker for BlockCheck {
    fn start(&mut self, index: [u32; 3]) {
        let [x, y, z] = index;
        self.index = index;
        self.linear = (z * self.grid[1] + y).wrapping_mul(self.grid[0]).wrapping_add(x);
        if !self.threads.start(self.touched_shared) {
            self.shared.fill(Cell::default());
        }
        if std::mem::take(&mut self.touched_shared) {
            self.shared_written.clear();
            self.copies.clear();
        }
        self.local_written.iter_mut().for_each(InitializedBits::clear);
        self.local_thread = 0;
    }

    fn global(
        &mut self,
        address: u64,
        access: AccessInfo,
        value: Option<u64>,
        context: &AccessContext<'_>,
    ) -> Result<(), AccessRefusal> {
        let tracked = match self.allocation(address, access, context) {
            Ok(Some(tracked)) => tracked,
            Ok(None) => return Ok(()),
            Err(kind) => return Err(self.findings(context).illegal(kind, address, access)),
        };
        let kinds = self.kinds;
        let wanted = AccessChecks {
            written: kinds.has(CheckKinds::INIT),
            races: kinds.has(CheckKinds::GLOBAL | CheckKinds::STREAMS),
        };
        if !wanted.written && !wanted.races {
            return Ok(());
        }
        let kind = AccessClass::of(access);
        let bytes = u64::from(access.bytes);
        let clock = self.threads.clock(context.linear);
        let author = self.author(kind, context, clock.unwrap_or(0));
        let wanted = AccessChecks { races: wanted.races && clock.is_some(), ..wanted };
        let plain = PlainWrite::of(address, access, value);
        if let (Some(writer), Some(write)) = (&self.writer, plain) {
            writer.note(self.linear, context.linear, write);
        }
        let (shadow, place) = (tracked.shadow(), tracked.place(address));
        let found = shadow.access(place, bytes, &author, wanted, |record| {
            self.is_ordered(record, kind, context.linear)
        });
        match found {
            Ok(()) => {}
            Err(AccessHazard::Unwritten) => {
                let findings = self.findings(context);
                return Err(findings.unwritten(address, access, Some(tracked.info(address))));
            }
            // Who writes what is there anyway does nothing that others of the launch could see.
            Err(AccessHazard::Race(record))
                if record.operation() == author.operation
                    && plain.is_some_and(|write| self.is_silent(write, record)) =>
            {
                return Ok(());
            }
            Err(AccessHazard::Race(record)) => {
                let findings = self.findings(context);
                return Err(findings.race(address, access, record, Some(tracked.info(address))));
            }
        }
        if kind.is_strong() && kind.writes() {
            self.release((address, None), access, context.linear);
        }
        Ok(())
    }

    fn shared(
        &mut self,
        address: u64,
        base: u64,
        access: AccessInfo,
        value: Option<u64>,
        context: &AccessContext<'_>,
    ) -> Result<(), AccessRefusal> {
        self.touched_shared = true;
        let kind = AccessClass::of(access);
        let (place, bytes) = (address - base, u64::from(access.bytes));
        let range = place..place + bytes;
        if self.copies.is_pending(&range) {
            let write = self.shared.get((place / SHARED_GRANULE) as usize).map(|cell| cell.write);
            return Err(self.findings(context).too_early(place, access, write.unwrap_or_default()));
        }
        if self.kinds.has(CheckKinds::INIT)
            && (!kind.writes() || kind == AccessClass::Atomic)
            && !self.shared_written.any(&range)
        {
            return Err(self.findings(context).unwritten(place, access, None));
        }
        if kind.writes() {
            self.shared_written.set(&range);
        }
        if let Some(clock) = self.threads.clock(context.linear).filter(|_| !self.shared.is_empty())
        {
            let author = Author { block: 0, ..self.author(kind, context, clock) };
            let mut cells = std::mem::take(&mut self.shared);
            let found = (place / SHARED_GRANULE..(place + bytes).div_ceil(SHARED_GRANULE))
                .try_for_each(|index| {
                    let touched = touched(index * SHARED_GRANULE, &range);
                    cells[index as usize].access(&author, touched, &mut |record: AccessRecord| {
                        self.knows(context.linear, self.linear, record)
                    })
                });
            self.shared = cells;
            if let Err(record) = found
                && !PlainWrite::of(address, access, value).is_some_and(PlainWrite::changes_nothing)
            {
                return Err(self.findings(context).shared_race(place, access, record));
            }
        }
        if access.asynchronous && !self.shared.is_empty() {
            self.copies.add(context.linear, PendingCopy { range, line: context.line });
        }
        if kind.is_strong() && kind.writes() {
            self.release((address, Some(self.linear)), access, context.linear);
        }
        Ok(())
    }

    fn local(
        &mut self,
        range: Range<u64>,
        access: AccessInfo,
        context: &AccessContext<'_>,
    ) -> Result<(), AccessRefusal> {
        let kinds = self.kinds;
        let written = self.local_memory(context.linear);
        let unwritten = access.access == AccessKind::Read
            && kinds.has(CheckKinds::INIT)
            && !written.any(&range);
        if unwritten {
            return Err(self.findings(context).unwritten(range.start, access, None));
        }
        if access.access != AccessKind::Read {
            written.set(&range);
        }
        Ok(())
    }

    fn passed(&mut self, linear: u32, range: &Range<u64>) {
        self.local_memory(linear).set(range);
    }

    fn acquired(&mut self, address: u64, is_shared: bool, linear: u32) {
        let Some(operation) = &self.operation else { return };
        if operation.flags.is_enabled() {
            let place = (address, is_shared.then_some(self.linear));
            if let Some(acquired) = operation.flags.acquire(place) {
                self.threads.acquire(linear, acquired);
            }
        }
    }

    fn copy_group(&mut self, linear: u32, step: CopyGroup) {
        let Some(clock) = self.threads.clock(linear) else { return };
        let done = self.copies.step(linear, clock, step);
        self.finish(done);
    }

    fn copies_arrive(&mut self, linear: u32, barrier: u64, last: usize) {
        let Some(clock) = self.threads.clock(linear) else { return };
        self.copies.arrive(linear, clock, barrier, last);
    }

    fn arrive_at_phase(&mut self, linear: u32, barrier: u64) {
        self.threads.arrive_at_phase(linear, barrier);
    }

    fn complete_phase(&mut self, barrier: u64) {
        self.threads.complete_phase(barrier);
        let done = self.copies.complete(barrier);
        self.finish(done);
    }

    fn wait_for_phase(&mut self, linear: u32, barrier: u64) {
        self.threads.wait_for_phase(linear, barrier);
    }

    fn fence(&mut self, linear: u32) {
        if let Some(operation) = &self.operation {
            operation.flags.enable();
            self.threads.fence(linear);
        }
    }

    fn arrive(&mut self, linear: u32, barrier: usize) {
        self.threads.arrive(linear, barrier);
    }

    fn open(&mut self, barrier: usize, waiting: &mut dyn Iterator<Item = u32>) {
        self.threads.open(barrier, waiting);
    }

    fn sync_warp(&mut self, first: u32, members: u32) {
        self.threads.sync_warp(first, (0..32).filter(|lane| members >> lane & 1 != 0));
    }

    fn note(&self, misuse: Misuse, detail: String, context: &AccessContext<'_>) {
        let kind = match misuse {
            Misuse::Barrier => ReportKind::Barrier,
            Misuse::InactiveLane => ReportKind::InactiveLane,
        };
        if self.kinds.has(CheckKinds::SHARED) {
            self.findings(context).remark(kind, detail);
        }
    }

    fn refuse(
        &self,
        violation: Violation,
        address: u64,
        access: AccessInfo,
        context: &AccessContext<'_>,
    ) -> AccessRefusal {
        let kind = match violation {
            Violation::OutOfBounds => ReportKind::OutOfBounds,
            Violation::Misaligned => ReportKind::Misaligned,
            Violation::ReadOnly => ReportKind::ReadOnly,
        };
        self.findings(context).illegal(kind, address, access)
    }
}

/// Memory whose protection may differ from device to device, and from access to access.
fn check_protection(
    accessed: &Range<u64>,
    access: AccessKind,
    memory: &dyn MemoryView,
) -> Result<(), ReportKind> {
    let permits = |access| memory.permits(accessed.start, accessed.end - accessed.start, access);
    match access {
        access if permits(access) => Ok(()),
        AccessKind::Write | AccessKind::Atomic if permits(AccessKind::Read) => {
            Err(ReportKind::ReadOnly)
        }
        _ => Err(ReportKind::NoPeerAccess),
    }
}

fn is_strong(record: AccessRecord) -> bool {
    record.class().is_some_and(AccessClass::is_strong)
}

/// The bytes of the granule beginning at `start` that lie in a range, as a mask.
fn touched(start: u64, range: &Range<u64>) -> u16 {
    let bytes = 0..SHARED_GRANULE;
    bytes.filter(|byte| range.contains(&(start + byte))).map(|byte| 1 << byte).sum()
}
