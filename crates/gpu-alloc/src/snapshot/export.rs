//! A snapshot as PyTorch writes it.

use std::collections::HashMap;

use pickle::{Entries, Memo, PickleWriter};

use super::{
    Action, BlockState, DeviceSnapshot, Frame, Frames, HostSnapshot, OutOfMemoryMoment, Pool,
    Segment, Snapshot, SnapshotBlock, TraceEntry,
};

impl Snapshot {
    /// The snapshot as a pickle, as `torch.cuda.memory._dump_snapshot` writes one:
    /// [PyTorch's page for it](https://pytorch.org/memory_viz) and the functions of
    /// `torch.cuda._memory_viz` read it.
    ///
    /// What PyTorch has no field for comes under names that its readers pass over.
    ///
    /// ```
    /// use gpu_alloc::Snapshot;
    ///
    /// let snapshot = gpu_alloc::memory_snapshot();
    /// let pickle = snapshot.to_pickle();
    /// assert_eq!(Snapshot::from_pickle(&pickle)?, snapshot);
    /// # Ok::<(), gpu_alloc::snapshot::SnapshotError>(())
    /// ```
    pub fn to_pickle(&self) -> Vec<u8> {
        let mut exporter = StackWriter { frames: HashMap::new() };
        let mut writer = PickleWriter::new();
        writer.dict(|root| {
            exporter.segments(root.of("segments"), &self.segments);
            root.of("device_traces").list(&self.device_traces, |writer, trace| {
                writer.list(trace, |writer, entry| {
                    writer.dict(|entries| exporter.entry(entries, entry));
                });
            });
            root.of("devices").list(&self.devices, |writer, device| {
                writer.dict(|entries| exporter.device(entries, device));
            });
            if let Some(HostSnapshot { segments, trace, state }) = &self.host {
                root.of("host_memory").dict(|host| {
                    exporter.segments(host.of("segments"), segments);
                    host.of("trace").list(trace, |writer, entry| {
                        writer.dict(|entries| exporter.entry(entries, entry));
                    });
                    host.of("state").dict(|entries| exporter.device(entries, state));
                });
            }
        });
        writer.finish()
    }
}

/// Remembers which stacks were written, so that each is written once.
struct StackWriter<'a> {
    frames: HashMap<&'a [Frame], Memo>,
}

impl<'a> StackWriter<'a> {
    fn segments(&mut self, writer: &mut PickleWriter, segments: &'a [Segment]) {
        writer.list(segments, |writer, segment| {
            writer.dict(|entries| self.segment(entries, segment));
        });
    }

    fn segment(&mut self, entries: &mut Entries<'_>, segment: &'a Segment) {
        entries.of("device").int(segment.device as u64);
        entries.of("address").int(segment.address);
        entries.of("total_size").int(segment.total_size);
        entries.of("allocated_size").int(segment.allocated_size);
        entries.of("active_size").int(segment.active_size);
        entries.of("requested_size").int(segment.requested_size);
        entries.of("stream").int(segment.stream);
        entries.of("segment_type").text(match segment.segment_type {
            Pool::Small => "small",
            Pool::Large => "large",
        });
        entries.of("segment_pool_id").pair(segment.segment_pool_id);
        entries.of("is_expandable").bool(segment.is_expandable);
        self.frames(entries.of("frames"), &segment.frames);
        entries.of("blocks").list(&segment.blocks, |writer, block| {
            writer.dict(|entries| self.block(entries, block));
        });
    }

    fn block(&mut self, entries: &mut Entries<'_>, block: &'a SnapshotBlock) {
        entries.of("address").int(block.address);
        entries.of("size").int(block.size);
        entries.of("requested_size").int(block.requested_size);
        entries.of("state").text(match block.state {
            BlockState::ActiveAllocated => "active_allocated",
            BlockState::ActiveAwaitingFree => "active_awaiting_free",
            BlockState::Inactive => "inactive",
        });
        self.frames(entries.of("frames"), &block.frames);
        if let Some(tag) = &block.tag {
            entries.of("user_metadata").text(tag);
        }
        optional(entries, "age", block.age);
        optional(entries, "time_us", block.time_us);
    }

    fn entry(&mut self, entries: &mut Entries<'_>, entry: &'a TraceEntry) {
        entries.of("action").text(entry.action.name());
        // PyTorch gives this instead of an address.
        match entry.action {
            Action::Oom => optional(entries, "device_free", entry.device_free),
            _ => entries.of("addr").int(entry.address),
        }
        entries.of("size").int(entry.size);
        entries.of("stream").int(entry.stream);
        entries.of("pool_id").pair(entry.pool_id);
        entries.of("time_us").int(entry.time_us);
        self.frames(entries.of("frames"), &entry.frames);
        if entry.is_in_use {
            entries.of("in_use").bool(true);
        }
        optional(entries, "in_use_until_us", entry.in_use_until_us);
        if let Some(tag) = &entry.user_metadata {
            entries.of("user_metadata").text(tag);
        }
    }

    fn device(&mut self, entries: &mut Entries<'_>, device: &'a DeviceSnapshot) {
        entries.of("device").int(device.device as u64);
        entries.of("name").text(&device.name);
        entries.of("total").int(device.total);
        entries.of("free").int(device.free);
        entries.of("policy").text(&device.policy);
        optional(entries, "limit", device.limit);
        entries.of("statistics").dict(|statistics| {
            for (name, value) in &device.statistics {
                statistics.of(name).int(*value);
            }
        });
        entries.of("dropped_events").int(device.dropped_events);
        if let Some(OutOfMemoryMoment { time_us, report, segments }) = &device.out_of_memory {
            entries.of("out_of_memory").dict(|heap| {
                heap.of("time_us").int(*time_us);
                heap.of("report").text(report);
                self.segments(heap.of("segments"), segments);
            });
        }
    }

    fn frames(&mut self, writer: &mut PickleWriter, frames: &'a Frames) {
        if let Some(known) = self.frames.get(&**frames) {
            return writer.get(*known);
        }
        writer.list(frames, |writer, frame| {
            writer.dict(|entries| {
                entries.of("filename").text(&frame.filename);
                entries.of("line").int(frame.line);
                entries.of("name").text(&frame.name);
            });
        });
        self.frames.insert(frames, writer.keep());
    }
}

fn optional(entries: &mut Entries<'_>, key: &str, value: Option<u64>) {
    if let Some(value) = value {
        entries.of(key).int(value);
    }
}
