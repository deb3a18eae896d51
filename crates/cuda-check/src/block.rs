//! The checks of a running block: each access of its threads, and what orders them.

use std::ops::Range;
use std::sync::Arc;

use ptx_jit::{
    AccessContext, AccessInfo, AccessKind, AccessRefusal, BlockChecker, BlockLayout, CopyGroup,
    Misuse, Violation,
};

use super::allocations::KnownAllocations;
use super::async_copies::{AsyncCopies, DoneCopy, PendingCopy};
use super::cells::{Cell, touched};
use super::check_kinds::CheckKinds;
use super::findings::{FaultSite, Findings};
use super::flags::{FlagAddress, FlagRelease};
use super::initialized_bits::InitializedBits;
use super::operation::{self, CheckedOperation};
use super::order::BlockOrder;
use super::record::{AccessClass, AccessRecord, Author};
use super::report::ReportKind;
use super::shadow::{AccessChecks, AccessHazard};
use super::silent::{PlainWrite, Writer};

/// The checks of one block after the other, on one thread of the host.
pub struct BlockCheck {
    kinds: CheckKinds,
    order: BlockOrder,
    /// The last plain write of the thread of the host that runs the block, shared with the
    /// operation's other blocks.
    writer: Option<Arc<Writer>>,
    grid: [u32; 3],
    extent: [u32; 3],
    index: [u32; 3],
    shared: Vec<Cell>,
    shared_written: InitializedBits,
    copies: AsyncCopies,
    local_written: Vec<InitializedBits>,
    /// Whose local memory it is at the moment, where all threads share one's.
    local_thread: u32,
    touched_shared: bool,
    allocations: KnownAllocations,
}

const SHARED_GRANULE: u64 = 4;

impl BlockCheck {
    /// Checks for the blocks of a launch, of those kinds.
    pub fn new(kinds: CheckKinds, layout: &BlockLayout) -> BlockCheck {
        let &BlockLayout { grid, block: extent, shared_bytes, local_bytes, local_count } = layout;
        let threads: u32 = extent.iter().product();
        let cells = if kinds.has(CheckKinds::SHARED) { shared_bytes.div_ceil(4) } else { 0 };
        let operation = operation::current();
        BlockCheck {
            kinds,
            writer: operation.as_ref().map(|operation| operation.last_writes.join()),
            order: BlockOrder::new(kinds, operation, threads as usize),
            grid,
            extent,
            index: [0; 3],
            shared: vec![Cell::default(); cells],
            shared_written: InitializedBits::new(shared_bytes),
            copies: AsyncCopies::new(shared_bytes),
            local_written: (0..local_count).map(|_| InitializedBits::new(local_bytes)).collect(),
            local_thread: 0,
            touched_shared: false,
            allocations: KnownAllocations::default(),
        }
    }

    fn findings<'a>(&'a self, context: &'a AccessContext<'a>) -> Findings<'a> {
        let site = FaultSite { block: self.index, extent: self.extent };
        Findings::new(self.order.operation.as_deref(), site, context)
    }

    fn local_memory(&mut self, linear: u32) -> &mut InitializedBits {
        let all = self.local_written.len() == 1;
        if all && self.local_thread != linear {
            self.local_thread = linear;
            self.local_written[0].clear();
        }
        &mut self.local_written[if all { 0 } else { linear as usize }]
    }

    /// Whether a write changes nothing beside what the author of a record writes.
    fn is_silent(&self, write: PlainWrite, record: AccessRecord) -> bool {
        // First what is about to be written: it may be in memory by now.
        let repeats =
            |operation: &Arc<CheckedOperation>| operation.last_writes.repeats(write, record);
        self.order.operation.as_ref().is_some_and(repeats) || write.changes_nothing()
    }

    /// Copies to shared memory are done: as if their threads had written it now.
    fn finish(&mut self, done: Vec<DoneCopy>) {
        let operation = self.order.operation_bits();
        for DoneCopy { copy: PendingCopy { range, line }, thread, clock } in done {
            let author =
                Author { kind: AccessClass::Write, operation, block: 0, thread, clock, line };
            for index in range.start / SHARED_GRANULE..range.end.div_ceil(SHARED_GRANULE) {
                if let Some(cell) = self.shared.get_mut(index as usize) {
                    let touched = touched(index * SHARED_GRANULE, SHARED_GRANULE, &range);
                    // Whoever touched it since the copy began was found then.
                    let _ = cell.access(&author, touched, &mut |_| true);
                }
            }
        }
    }

    fn release(&mut self, place: FlagAddress, access: AccessInfo, linear: u32) {
        let BlockOrder { operation: Some(operation), block, threads, .. } = &mut self.order else {
            return;
        };
        let known = if access.releases {
            operation.flags.enable();
            threads.snapshot(linear)
        } else if operation.flags.is_enabled()
            && let Some(known) = threads.fenced(linear)
        {
            Arc::clone(known)
        } else {
            return;
        };
        let clock = known.of(linear);
        let release = FlagRelease { block: *block, thread: linear, clock, known };
        operation.flags.release(place, release);
    }
}

impl BlockChecker for BlockCheck {
    fn start(&mut self, index: [u32; 3]) {
        let [x, y, z] = index;
        self.index = index;
        self.order.block = (z * self.grid[1] + y).wrapping_mul(self.grid[0]).wrapping_add(x);
        if !self.order.threads.start(self.touched_shared) {
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
        let tracked = match self.allocations.find(address, access, context.memory) {
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
        let (order, thread) = (&mut self.order, context.linear);
        let kind = AccessClass::of(access);
        let bytes = u64::from(access.bytes);
        let clock = order.threads.clock(thread);
        let author = Author {
            kind,
            operation: order.operation_bits(),
            block: order.block,
            thread,
            clock: clock.unwrap_or(0),
            line: context.line,
        };
        let wanted = AccessChecks { races: wanted.races && clock.is_some(), ..wanted };
        let plain = PlainWrite::of(address, access, value);
        if let (Some(writer), Some(write)) = (&self.writer, plain) {
            writer.note(order.block, thread, write);
        }
        let (shadow, place) = (tracked.shadow(), tracked.place(address));
        let found = shadow
            .access(place, bytes, &author, wanted, |record| order.is_after(record, kind, thread));
        if let Err(hazard) = found {
            // A report looks at all of the checks, and so at none that is borrowed.
            let tracked = Arc::clone(tracked);
            let info = || Some(tracked.info(address));
            let findings = self.findings(context);
            return match hazard {
                AccessHazard::Unwritten => Err(findings.unwritten(address, access, info())),
                // Who writes what is there anyway does nothing that others of the launch could see.
                AccessHazard::Race(record)
                    if record.operation() == author.operation
                        && plain.is_some_and(|write| self.is_silent(write, record)) =>
                {
                    Ok(())
                }
                AccessHazard::Race(record) => Err(findings.race(address, access, record, info())),
            };
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
        let (order, thread) = (&self.order, context.linear);
        if let Some(clock) = order.threads.clock(thread).filter(|_| !self.shared.is_empty()) {
            let operation = order.operation_bits();
            let author = Author { kind, operation, block: 0, thread, clock, line: context.line };
            let indices = place / SHARED_GRANULE..(place + bytes).div_ceil(SHARED_GRANULE);
            let cells = &mut self.shared[indices.start as usize..indices.end as usize];
            // An access is aligned to its size, so it has part of one granule or all of some.
            let touched = touched(indices.start * SHARED_GRANULE, SHARED_GRANULE, &range);
            let found = cells.iter_mut().try_for_each(|cell| {
                cell.access(&author, touched, &mut |record: AccessRecord| {
                    order.knows(thread, order.block, record)
                })
            });
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
            self.release((address, Some(self.order.block)), access, context.linear);
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
        let order = &mut self.order;
        let Some(operation) = &order.operation else { return };
        if operation.flags.is_enabled() {
            let place = (address, is_shared.then_some(order.block));
            if let Some(acquired) = operation.flags.acquire(place) {
                order.threads.acquire(linear, acquired);
            }
        }
    }

    fn copy_group(&mut self, linear: u32, step: CopyGroup) {
        let Some(clock) = self.order.threads.clock(linear) else { return };
        let done = self.copies.step(linear, clock, step);
        self.finish(done);
    }

    fn copies_arrive(&mut self, linear: u32, barrier: u64, last: usize) {
        let Some(clock) = self.order.threads.clock(linear) else { return };
        self.copies.arrive(linear, clock, barrier, last);
    }

    fn arrive_at_phase(&mut self, linear: u32, barrier: u64) {
        self.order.threads.arrive_at_phase(linear, barrier);
    }

    fn complete_phase(&mut self, barrier: u64) {
        self.order.threads.complete_phase(barrier);
        let done = self.copies.complete(barrier);
        self.finish(done);
    }

    fn wait_for_phase(&mut self, linear: u32, barrier: u64) {
        self.order.threads.wait_for_phase(linear, barrier);
    }

    fn fence(&mut self, linear: u32) {
        if let Some(operation) = &self.order.operation {
            operation.flags.enable();
            self.order.threads.fence(linear);
        }
    }

    fn arrive(&mut self, linear: u32, barrier: usize) {
        self.order.threads.arrive(linear, barrier);
    }

    fn open(&mut self, barrier: usize, waiting: &mut dyn Iterator<Item = u32>) {
        self.order.threads.open(barrier, waiting);
    }

    fn sync_warp(&mut self, first: u32, members: u32) {
        self.order.threads.sync_warp(first, (0..32).filter(|lane| members >> lane & 1 != 0));
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
