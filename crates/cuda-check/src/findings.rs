//! From what is wrong with an access of a thread to the report that says so.

use ptx_jit::{AccessContext, AccessInfo, AccessKind, AccessRefusal};

use super::filed;
use super::operation::{CheckedOperation, Label, by_bits};
use super::record::{AccessClass, AccessRecord};
use super::report::{Actor, AllocationInfo, Report, ReportKind};
use super::tracked;

/// The order that is missing where memory is used before its stream allocates it.
pub(crate) const USED_TOO_EARLY: &str = "nothing orders it after the allocation: the stream must \
    wait for an event recorded after the allocation in the stream that it is made in, or the host \
    must wait for that before it enqueues the other";

/// The block that a finding is about.
pub(crate) struct FaultSite {
    pub(crate) block: [u32; 3],
    /// Threads of a block per axis.
    pub(crate) extent: [u32; 3],
}

/// Makes reports about a thread.
pub(crate) struct Findings<'a> {
    operation: Option<&'a CheckedOperation>,
    site: FaultSite,
    context: &'a AccessContext<'a>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(
        operation: Option<&'a CheckedOperation>,
        site: FaultSite,
        context: &'a AccessContext<'a>,
    ) -> Findings<'a> {
        Findings { operation, site, context }
    }

    /// An access that is not allowed.
    pub(crate) fn illegal(
        &self,
        kind: ReportKind,
        address: u64,
        access: AccessInfo,
    ) -> AccessRefusal {
        let near = match kind {
            ReportKind::UseAfterFree => tracked::find_freed(address),
            ReportKind::StreamRace => tracked::find_coming(address),
            _ => tracked::find(address).or_else(|| tracked::nearest(address)),
        };
        let detail = match (kind, &near) {
            (ReportKind::OutOfBounds, None) => {
                "nothing is allocated near the address: it may be \
                 host memory that is not page-locked, or an address of another memory space"
            }
            (ReportKind::StreamRace, _) => USED_TOO_EARLY,
            (ReportKind::NoPeerAccess, Some(tracked)) => tracked.permission(),
            (ReportKind::ReadOnly, Some(tracked)) if tracked.has_protection() => {
                tracked.permission()
            }
            _ => "",
        };
        let allocation = near.map(|tracked| tracked.info(address));
        self.file(kind, Some((address, access)), allocation, None, detail)
    }

    /// A read of memory that nobody wrote: global, or else at a place in shared or local memory.
    pub(crate) fn unwritten(
        &self,
        address: u64,
        access: AccessInfo,
        allocation: Option<AllocationInfo>,
    ) -> AccessRefusal {
        let detail = match allocation {
            Some(_) => "",
            None => {
                "the address counts from the start of the block's shared or the thread's \
                     local memory"
            }
        };
        self.file(ReportKind::Uninitialized, Some((address, access)), allocation, None, detail)
    }

    /// A race in global memory.
    pub(crate) fn race(
        &self,
        address: u64,
        access: AccessInfo,
        record: AccessRecord,
        allocation: Option<AllocationInfo>,
    ) -> AccessRefusal {
        let same = self.operation.is_some_and(|own| own.bits() == record.operation());
        let other = by_bits(record.operation());
        let actor = self.author_of(record, other.as_deref());
        let same_block = actor.block == Some(self.site.block);
        let (kind, detail) = match (self.operation, &other) {
            (Some(own), Some(other)) if !same => (ReportKind::StreamRace, missing_edge(own, other)),
            _ if same_block => (
                ReportKind::GlobalRace,
                "no barrier orders the two threads of the block: __syncthreads() is missing \
                 between the accesses, or __syncwarp() among lanes of one warp"
                    .to_owned(),
            ),
            _ => (
                ReportKind::GlobalRace,
                "nothing orders the two blocks of the launch: it takes atomic operations, a flag \
                 that is set after __threadfence(), or two launches"
                    .to_owned(),
            ),
        };
        self.file(kind, Some((address, access)), allocation, Some(actor), &detail)
    }

    /// A race in shared memory, at a place in it.
    pub(crate) fn shared_race(
        &self,
        place: u64,
        access: AccessInfo,
        record: AccessRecord,
    ) -> AccessRefusal {
        let mut actor = self.author_of(record, self.operation);
        actor.block = Some(self.site.block);
        let same_warp = record.thread() / 32 == self.context.linear / 32;
        let detail = match same_warp {
            true => {
                "__syncwarp() is missing between the accesses: lanes of a warp do not wait \
                     for each other; the address counts from the start of shared memory"
            }
            false => {
                "__syncthreads() is missing between the accesses; the address counts from \
                      the start of shared memory"
            }
        };
        self.file(ReportKind::SharedRace, Some((place, access)), None, Some(actor), detail)
    }

    /// An access to shared memory that a copy writes for which its thread has not waited.
    pub(crate) fn too_early(
        &self,
        place: u64,
        access: AccessInfo,
        copy: AccessRecord,
    ) -> AccessRefusal {
        let mut actor = self.author_of(copy, self.operation);
        actor.block = Some(self.site.block);
        let detail = "the other access is an asynchronous copy that is not done: its thread must \
                      commit it and wait for its group (cp.async.wait_group), or the phase of the \
                      mbarrier that it arrives at must complete; the address counts from the start \
                      of shared memory";
        self.file(ReportKind::SharedRace, Some((place, access)), None, Some(actor), detail)
    }

    /// Reports a misuse that is no access.
    pub(crate) fn remark(&self, kind: ReportKind, detail: String) {
        let _ = self.file(kind, None, None, None, &detail);
    }

    fn file(
        &self,
        kind: ReportKind,
        accessed: Option<(u64, AccessInfo)>,
        allocation: Option<AllocationInfo>,
        other: Option<Actor>,
        detail: &str,
    ) -> AccessRefusal {
        let words = accessed.map_or("operation", |(_, access)| access.access.name());
        let report = Report {
            kind,
            actor: Some(self.actor(words)),
            address: accessed.map(|(address, _)| address),
            bytes: accessed.map_or(0, |(_, access)| u64::from(access.bytes)),
            allocation,
            other,
            made: None,
            detail: detail.to_owned(),
        };
        filed::file(report.clone());
        AccessRefusal::new(report)
    }

    fn actor(&self, access: &'static str) -> Actor {
        let AccessContext { kernel, thread, line, .. } = *self.context;
        let mut actor = described(access, self.operation, line);
        actor.kernel = Some(kernel.to_owned());
        actor.block = Some(self.site.block);
        actor.thread = Some(thread);
        actor
    }

    /// The author of a recorded access, for a report.
    fn author_of(&self, record: AccessRecord, operation: Option<&CheckedOperation>) -> Actor {
        author(record, operation, self.site.extent)
    }
}

/// The author of a recorded access, for a report. `extent` is that of blocks, where the operation
/// does not tell.
pub(crate) fn author(
    record: AccessRecord,
    operation: Option<&CheckedOperation>,
    extent: [u32; 3],
) -> Actor {
    let access = record.class().map_or(AccessKind::Read, AccessClass::kind);
    let mut actor = described(access.name(), operation, record.line());
    if !matches!(record.class(), Some(AccessClass::BulkRead | AccessClass::BulkWrite)) {
        let (grid, extent) = match operation.map(|operation| &operation.label) {
            Some(Label::Launch { grid, block, .. }) => (*grid, *block),
            _ => ([1; 3], extent),
        };
        actor.block = Some(position(record.block(), grid));
        actor.thread = Some(position(record.thread(), extent));
    }
    actor
}

/// An operation as an actor.
pub(crate) fn described(
    access: &'static str,
    operation: Option<&CheckedOperation>,
    ptx_line: u32,
) -> Actor {
    let mut actor = Actor {
        access,
        kernel: None,
        operation: String::new(),
        stream: String::new(),
        device: None,
        block: None,
        thread: None,
        ptx_line,
        source: None,
        enqueued: None,
    };
    if let Some(operation) = operation {
        actor.operation = operation.label.to_string();
        actor.stream = operation.stream.describe();
        actor.device = Some(operation.stream.device);
        actor.enqueued = Some(operation.call.clone());
        if let Label::Launch { kernel, lines, .. } = &operation.label {
            actor.kernel = Some(kernel.to_string());
            actor.source = lines.source(ptx_line).map(|(file, line)| (file.to_owned(), line));
        }
    }
    actor
}

/// The smallest order that is missing between two operations, in words.
pub(crate) fn missing_edge(a: &CheckedOperation, b: &CheckedOperation) -> String {
    let (first, second) = if a.id < b.id { (a, b) } else { (b, a) };
    let [from, to] = [first, second].map(|operation| operation.stream.describe());
    format!(
        "{to} must wait for an event recorded in {from} after the {} and before the {} is \
         enqueued, or the host must wait for the one before it enqueues the other",
        first.label, second.label
    )
}

/// The place of an index in a grid or block of those extents, x first.
fn position(index: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (x.max(1), y.max(1));
    [index % x, index / x % y, index / x / y]
}
