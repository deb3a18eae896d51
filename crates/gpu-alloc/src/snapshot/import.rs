//! Snapshots that PyTorch has written.

use std::collections::HashMap;
use std::sync::Arc;

use pickle::{Allowed, Pickle, PickleValue};

use super::{
    Action, BlockState, DeviceSnapshot, Frame, Frames, HostSnapshot, OutOfMemoryMoment, Pool,
    Segment, Snapshot, SnapshotBlock, TraceEntry,
};

/// Why bytes are no snapshot that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// They are no pickle of plain data.
    #[error("this is no pickled snapshot: {0}")]
    Pickle(#[from] pickle::Error),
    /// They are a pickle of something else.
    #[error("this is no snapshot of memory: {field} is missing, or not what it should be")]
    Field {
        /// The part that is missing or wrong.
        field: &'static str,
    },
    /// Its parts refer to each other in a way that makes it many times larger than the pickle.
    #[error("this is no snapshot of memory: it repeats the same parts again and again")]
    Repetitive,
}

type Result<T> = std::result::Result<T, SnapshotError>;

impl Snapshot {
    /// Reads a snapshot as `torch.cuda.memory._dump_snapshot` or
    /// [`to_pickle`](Snapshot::to_pickle) writes it, or the pickled list of segments of
    /// `torch.cuda.memory_snapshot`.
    ///
    /// Fields that this crate does not know are passed over, and nothing in the pickle is executed.
    ///
    /// # Errors
    /// [`SnapshotError`] if it is something else.
    pub fn from_pickle(bytes: &[u8]) -> Result<Snapshot> {
        let pickle = Pickle::read(bytes, Allowed::NOTHING)?;
        let (most, most_text) = (bytes.len(), bytes.len().saturating_mul(COPIES));
        let mut importer = Importer { frames: HashMap::new(), most, most_text };
        let root = pickle.root();
        if root.items().is_some() {
            let segments = importer.segments(root)?;
            return Ok(Snapshot { segments, ..Snapshot::default() });
        }
        let segments = root.get("segments").ok_or(SnapshotError::Field { field: "segments" })?;
        Ok(Snapshot {
            segments: importer.segments(segments)?,
            device_traces: importer.traces(root.get("device_traces"))?,
            devices: importer.devices(root.get("devices"))?,
            host: root.get("host_memory").map(|host| importer.host(host)).transpose()?,
        })
    }
}

/// The number of times that a text may be copied, on average over all that there is: the names of
/// statistics are kept once for all devices.
const COPIES: usize = 256;

struct Importer {
    /// The stacks that were read, so that they are shared as they are in the pickle.
    frames: HashMap<usize, Frames>,
    /// The number of parts that may still be read: each takes a byte at least, if it is there only
    /// once.
    most: usize,
    /// The number of bytes of text that may still be copied.
    most_text: usize,
}

impl Importer {
    fn list<'a, T>(
        &mut self,
        value: Option<PickleValue<'a>>,
        field: &'static str,
        mut read: impl FnMut(&mut Importer, PickleValue<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(Vec::new()) };
        let items = value.items().ok_or(SnapshotError::Field { field })?;
        let parts = |item| 1 + PickleValue::entries(item).map_or(0, |entries| entries.len());
        let items: Vec<_> = items.collect();
        self.spend(items.iter().copied().map(parts).sum())?;
        items.into_iter().map(|item| read(self, item)).collect()
    }

    /// Counts parts that are read.
    fn spend(&mut self, parts: usize) -> Result<()> {
        self.most = self.most.checked_sub(parts).ok_or(SnapshotError::Repetitive)?;
        Ok(())
    }

    /// A text of its own.
    fn copy(&mut self, text: &str) -> Result<String> {
        let left = self.most_text.checked_sub(text.len());
        self.most_text = left.ok_or(SnapshotError::Repetitive)?;
        Ok(text.to_owned())
    }

    fn segments(&mut self, value: PickleValue<'_>) -> Result<Vec<Segment>> {
        self.list(Some(value), "segments", Importer::segment)
    }

    fn segment(&mut self, value: PickleValue<'_>) -> Result<Segment> {
        let address = number(value, "address")?;
        let mut next = address;
        let blocks = self.list(value.get("blocks"), "blocks", |importer, value| {
            let block = importer.block(value, next)?;
            next = block.address.saturating_add(block.size);
            Ok(block)
        })?;
        let sum = |select: fn(&SnapshotBlock) -> u64| {
            blocks.iter().fold(0_u64, |sum, block| sum.saturating_add(select(block)))
        };
        Ok(Segment {
            device: usize::try_from(number_or(value, "device", 0)?).unwrap_or(usize::MAX),
            address,
            total_size: number_or(value, "total_size", sum(|block| block.size))?,
            allocated_size: number_or(value, "allocated_size", 0)?,
            active_size: number_or(value, "active_size", 0)?,
            requested_size: number_or(value, "requested_size", sum(|block| block.requested_size))?,
            stream: number_or(value, "stream", 0)?,
            segment_type: match text(value, "segment_type").as_deref() {
                Some("small") => Pool::Small,
                _ => Pool::Large,
            },
            segment_pool_id: pair(value, "segment_pool_id")?,
            is_expandable: number_or(value, "is_expandable", 0)? != 0,
            frames: self.frames(value.get("frames"))?,
            blocks,
        })
    }

    /// A block; older snapshots do not say where it is, but it comes after the one before.
    fn block(&mut self, value: PickleValue<'_>, next: u64) -> Result<SnapshotBlock> {
        let size = number(value, "size")?;
        let state = match text(value, "state").as_deref() {
            Some("active_allocated") => BlockState::ActiveAllocated,
            Some("inactive") => BlockState::Inactive,
            Some("active_awaiting_free" | "active_pending_free") => BlockState::ActiveAwaitingFree,
            _ => return Err(SnapshotError::Field { field: "state" }),
        };
        let requested = if state == BlockState::Inactive { 0 } else { size };
        Ok(SnapshotBlock {
            address: number_or(value, "address", next)?,
            size,
            requested_size: number_or(value, "requested_size", requested)?,
            state,
            frames: self.frames(value.get("frames"))?,
            tag: text(value, "user_metadata"),
            age: optional(value, "age")?,
            time_us: optional(value, "time_us")?,
        })
    }

    fn traces(&mut self, value: Option<PickleValue<'_>>) -> Result<Vec<Vec<TraceEntry>>> {
        self.list(value, "device_traces", |importer, trace| {
            importer.list(Some(trace), "device_traces", Importer::entry)
        })
    }

    fn entry(&mut self, value: PickleValue<'_>) -> Result<TraceEntry> {
        let action = text(value, "action").ok_or(SnapshotError::Field { field: "action" })?;
        let action = Action::of_name(&action);
        // The one stands where the other would.
        let (address, device_free) = match action {
            Action::Oom => (0, optional(value, "device_free")?),
            _ => (number_or(value, "addr", 0)?, None),
        };
        Ok(TraceEntry {
            action,
            address,
            size: number_or(value, "size", 0)?,
            stream: number_or(value, "stream", 0)?,
            pool_id: pair(value, "pool_id")?,
            time_us: number_or(value, "time_us", 0)?,
            frames: self.frames(value.get("frames"))?,
            user_metadata: text(value, "user_metadata").filter(|text| !text.is_empty()),
            device_free,
            is_in_use: number_or(value, "in_use", 0)? != 0,
            in_use_until_us: optional(value, "in_use_until_us")?,
        })
    }

    fn host(&mut self, value: PickleValue<'_>) -> Result<HostSnapshot> {
        let field = |field| value.get(field).ok_or(SnapshotError::Field { field });
        Ok(HostSnapshot {
            segments: self.segments(field("segments")?)?,
            trace: self.list(Some(field("trace")?), "trace", Importer::entry)?,
            state: self.device(field("state")?)?,
        })
    }

    fn devices(&mut self, value: Option<PickleValue<'_>>) -> Result<Vec<DeviceSnapshot>> {
        self.list(value, "devices", Importer::device)
    }

    fn device(&mut self, value: PickleValue<'_>) -> Result<DeviceSnapshot> {
        let heap = value.get("out_of_memory");
        Ok(DeviceSnapshot {
            device: usize::try_from(number(value, "device")?).unwrap_or(usize::MAX),
            name: self.copy(&text(value, "name").unwrap_or_default())?,
            total: number_or(value, "total", 0)?,
            free: number_or(value, "free", 0)?,
            policy: self.copy(&text(value, "policy").unwrap_or_default())?,
            limit: optional(value, "limit")?,
            statistics: self.statistics(value.get("statistics"))?,
            dropped_events: number_or(value, "dropped_events", 0)?,
            out_of_memory: heap.map(|heap| self.heap(heap)).transpose()?,
        })
    }

    fn statistics(&mut self, value: Option<PickleValue<'_>>) -> Result<Vec<(String, u64)>> {
        let Some(entries) = value.and_then(PickleValue::entries) else { return Ok(Vec::new()) };
        self.spend(entries.len())?;
        let numbers = entries
            .filter_map(|(name, value)| Some((name.text()?, u64::try_from(value.int()?).ok()?)));
        numbers.map(|(name, number)| Ok((self.copy(name)?, number))).collect()
    }

    fn heap(&mut self, value: PickleValue<'_>) -> Result<OutOfMemoryMoment> {
        let segments = value.get("segments").ok_or(SnapshotError::Field { field: "segments" })?;
        Ok(OutOfMemoryMoment {
            time_us: number_or(value, "time_us", 0)?,
            report: self.copy(&text(value, "report").unwrap_or_default())?,
            segments: self.segments(segments)?,
        })
    }

    fn frames(&mut self, value: Option<PickleValue<'_>>) -> Result<Frames> {
        let identity = value.and_then(PickleValue::identity);
        if let Some(known) = identity.and_then(|identity| self.frames.get(&identity)) {
            return Ok(Arc::clone(known));
        }
        let frames = self.list(value, "frames", |_, value| {
            Ok(Frame {
                filename: text(value, "filename").unwrap_or_default(),
                line: number_or(value, "line", 0)?,
                name: text(value, "name").unwrap_or_default(),
            })
        })?;
        let frames = Frames::from(frames);
        self.frames.extend(identity.map(|identity| (identity, Arc::clone(&frames))));
        Ok(frames)
    }
}

fn number(value: PickleValue<'_>, field: &'static str) -> Result<u64> {
    optional(value, field)?.ok_or(SnapshotError::Field { field })
}

fn number_or(value: PickleValue<'_>, field: &'static str, default: u64) -> Result<u64> {
    Ok(optional(value, field)?.unwrap_or(default))
}

/// A number that may be missing or `None`, but must not be something else.
fn optional(value: PickleValue<'_>, field: &'static str) -> Result<Option<u64>> {
    let Some(value) = value.get(field).filter(|value| !value.is_none()) else { return Ok(None) };
    let number = value.int().and_then(|number| u64::try_from(number).ok());
    number.map(Some).ok_or(SnapshotError::Field { field })
}

fn text(value: PickleValue<'_>, field: &str) -> Option<Arc<str>> {
    value.get(field)?.text().map(Arc::clone)
}

fn pair(value: PickleValue<'_>, field: &'static str) -> Result<(u64, u64)> {
    let Some(value) = value.get(field).filter(|value| !value.is_none()) else { return Ok((0, 0)) };
    let error = || SnapshotError::Field { field };
    let numbers: Vec<_> = value.items().ok_or_else(error)?.take(3).map(PickleValue::int).collect();
    let number = |number: i128| u64::try_from(number).map_err(|_| error());
    match numbers[..] {
        [Some(first), Some(second)] => Ok((number(first)?, number(second)?)),
        _ => Err(error()),
    }
}
