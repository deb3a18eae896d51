//! Writes the history down while an allocator works.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gpu_runtime::StreamId;

use super::frees::Frees;
use super::mappings::MappedMemoryPlaces;
use super::{EventKind, HistoryEvent, InUse, now};
use crate::observers::{AllocationRecord, CallSite, HeapState};
use crate::policy::{Address, SegmentSnapshot, SourceCall, StreamAndPool};

/// The last events of an allocator.
#[derive(Debug)]
pub(crate) struct HistoryRecorder {
    events: VecDeque<HistoryEvent>,
    most: usize,
    /// The number of events that were dropped for newer ones.
    dropped: u64,
    /// Whose memory begins at which address, for when it goes back to the driver.
    segments: BTreeMap<u64, StreamAndPool<StreamId>>,
    frees: Frees<HistoryEvent>,
    /// The frees of memory that is still in use, though it could be handed out, by the numbers of their
    /// events.
    in_use: Frees<u64>,
    mappings: MappedMemoryPlaces,
    last_refusal: Option<LastRefusal>,
}

/// A request that was refused.
#[derive(Debug, Clone)]
pub(crate) struct LastRefusal {
    /// The time, in microseconds since 1970.
    pub(crate) time: u64,
    pub(crate) report: String,
    pub(crate) heap: HeapState,
}

impl HistoryRecorder {
    /// A recorder for an allocator that has these segments.
    pub(crate) fn new(most: usize, segments: &[SegmentSnapshot<StreamId>]) -> HistoryRecorder {
        let owner = |segment: &SegmentSnapshot<StreamId>| {
            Some((segment.address.0, StreamAndPool { pool: segment.pool, stream: segment.stream? }))
        };
        HistoryRecorder {
            events: VecDeque::new(),
            most,
            dropped: 0,
            segments: segments.iter().filter_map(owner).collect(),
            frees: Frees::default(),
            in_use: Frees::default(),
            mappings: MappedMemoryPlaces::default(),
            last_refusal: None,
        }
    }

    /// Keeps so many events from now on.
    pub(crate) fn keep(&mut self, most: usize) {
        self.most = most;
        self.forget();
    }

    /// The events, oldest first.
    pub(crate) fn events(&self) -> impl Iterator<Item = &HistoryEvent> {
        self.events.iter()
    }

    /// The number of events that are missing before the first.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn allocated(&mut self, holder: &AllocationRecord) {
        self.reuse(holder.address, holder.requested);
        self.write(HistoryEvent::of(EventKind::Alloc, holder));
    }

    /// Writes a free down, which waits for the uses on other streams, or leaves that to the next owner.
    pub(crate) fn freed(
        &mut self,
        holder: &AllocationRecord,
        bytes: u64,
        uses: &[(StreamId, u64)],
        waits: bool,
    ) {
        let number = self.dropped + self.events.len() as u64;
        let own = holder.owner.map(|owner| owner.stream);
        let elsewhere = uses.iter().copied().filter(|(stream, _)| Some(*stream) != own);
        let complete = HistoryEvent::of(EventKind::FreeCompleted, holder);
        if waits {
            self.write(HistoryEvent::of(EventKind::FreeRequested, holder));
            let range = (holder.address.0, bytes);
            let complete = self.frees.free(range, elsewhere, complete);
            complete.into_iter().for_each(|complete| self.write(complete));
            return;
        }
        let is_over = self.in_use.free((number, 0), elsewhere, number).is_some();
        let in_use = if is_over { InUse::No } else { InUse::Yes };
        self.write(HistoryEvent { in_use, ..HistoryEvent::of(EventKind::FreeRequested, holder) });
        self.write(complete);
    }

    pub(crate) fn completed(&mut self, stream: StreamId, sequence: u64) {
        let done = self.frees.completed(stream, sequence);
        done.into_iter().for_each(|free| self.write_now(free));
        for number in self.in_use.completed(stream, sequence) {
            let index = number.checked_sub(self.dropped).map(|index| index as usize);
            if let Some(event) = index.and_then(|index| self.events.get_mut(index)) {
                event.in_use = InUse::Until(now());
            }
        }
    }

    /// The streams whose work uses memory that could be handed out.
    pub(crate) fn awaited(&self) -> BTreeSet<StreamId> {
        self.in_use.awaited()
    }

    /// Writes down what was asked of the driver, for a request if there was one.
    pub(crate) fn called(
        &mut self,
        calls: &[SourceCall],
        request: Option<(Option<StreamAndPool<StreamId>>, CallSite)>,
    ) {
        let (owner, call_site) =
            (request.and_then(|(owner, _)| owner), request.map(|(_, call_site)| call_site));
        for call in calls {
            match *call {
                SourceCall::Allocated { address, bytes } => {
                    self.came(EventKind::SegmentAlloc, (address, bytes), owner, call_site);
                }
                SourceCall::Released { address, bytes } => {
                    self.went(EventKind::SegmentFree, (address, bytes), call_site);
                }
                SourceCall::Mapped { physical, address, bytes } => {
                    if let Some(old) = self.mappings.mapped(physical, address, bytes) {
                        self.went(EventKind::SegmentUnmap, old, call_site);
                    }
                    self.came(EventKind::SegmentMap, (address, bytes), owner, call_site);
                }
                SourceCall::Unmapped { address, bytes } => {
                    let is_first_end = self.mappings.unmapped(address, bytes);
                    if is_first_end {
                        self.went(EventKind::SegmentUnmap, (address, bytes), call_site);
                    }
                }
                SourceCall::Destroyed { physical, .. } => self.mappings.destroyed(physical),
                _ => {}
            }
        }
    }

    /// Writes down that memory came from the driver.
    fn came(
        &mut self,
        what: EventKind,
        (address, bytes): (Address, u64),
        owner: Option<StreamAndPool<StreamId>>,
        call_site: Option<CallSite>,
    ) {
        self.segments.extend(owner.map(|owner| (address.0, owner)));
        self.write(HistoryEvent::new(what, (address, bytes), owner, call_site));
    }

    /// Writes down that memory went back to the driver, or elsewhere.
    fn went(
        &mut self,
        what: EventKind,
        (address, bytes): (Address, u64),
        call_site: Option<CallSite>,
    ) {
        self.reuse(address, bytes);
        let owner = self.release(address, bytes);
        self.write(HistoryEvent::new(what, (address, bytes), owner, call_site));
    }

    /// Writes down that a request for so many bytes was refused, when there were so many left, with
    /// the error's text and how things stood.
    pub(crate) fn refused(
        &mut self,
        (bytes, free): (u64, u64),
        owner: Option<StreamAndPool<StreamId>>,
        call_site: CallSite,
        (report, heap): (String, HeapState),
    ) {
        let what = EventKind::OutOfMemory { free };
        let event = HistoryEvent::new(what, (Address(0), bytes), owner, Some(call_site));
        self.last_refusal = Some(LastRefusal { time: event.time, report, heap });
        self.write(event);
    }

    /// The last request that was refused.
    pub(crate) fn last_refusal(&self) -> Option<&LastRefusal> {
        self.last_refusal.as_ref()
    }

    pub(crate) fn snapshot_taken(&mut self) {
        self.write(HistoryEvent::new(EventKind::Snapshot, (Address(0), 0), None, None));
    }

    /// The owner of memory that goes back to the driver: pages may go in other pieces than they came.
    fn release(&mut self, address: Address, bytes: u64) -> Option<StreamAndPool<StreamId>> {
        let (_, owner) = self.segments.range(..=address.0).next_back()?;
        let owner = *owner;
        let range = address.0..address.0.saturating_add(bytes);
        self.segments.extract_if(range, |_, _| true).for_each(drop);
        Some(owner)
    }

    /// Completes the frees of memory that is in other hands.
    fn reuse(&mut self, address: Address, bytes: u64) {
        let done = self.frees.reused(address.0, bytes);
        done.into_iter().for_each(|free| self.write_now(free));
    }

    fn write_now(&mut self, event: HistoryEvent) {
        self.write(HistoryEvent { time: now(), ..event });
    }

    fn write(&mut self, event: HistoryEvent) {
        self.events.push_back(event);
        self.forget();
    }

    fn forget(&mut self) {
        let mut surplus = self.events.len().saturating_sub(self.most);
        if surplus == 0 {
            return;
        }
        // The end of a free says nothing without its beginning; PyTorch's viewer stumbles over it.
        let of_nothing = |event: &&HistoryEvent| event.what == EventKind::FreeCompleted;
        surplus += self.events.iter().skip(surplus).take_while(of_nothing).count();
        self.events.drain(..surplus);
        self.dropped += surplus as u64;
    }
}

impl HistoryEvent {
    /// An event that happens now.
    fn new(
        what: EventKind,
        (address, bytes): (Address, u64),
        owner: Option<StreamAndPool<StreamId>>,
        call_site: Option<CallSite>,
    ) -> HistoryEvent {
        let (address, time) = (address.0, now());
        HistoryEvent { what, address, bytes, owner, time, call_site, in_use: InUse::No }
    }

    /// An event that happens now to the memory of a holder.
    fn of(what: EventKind, holder: &AllocationRecord) -> HistoryEvent {
        HistoryEvent::new(
            what,
            (holder.address, holder.requested),
            holder.owner,
            Some(holder.call_site),
        )
    }
}
