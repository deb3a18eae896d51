//! A snapshot as a page to look at.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::{
    BlockState, DeviceSnapshot, Frames, HostSnapshot, Pool, Segment, Snapshot, SnapshotBlock,
    TraceEntry,
};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPTS: [&str; 5] = [
    include_str!("page/model.js"),
    include_str!("page/timeline.js"),
    include_str!("page/segments.js"),
    include_str!("page/tables.js"),
    include_str!("page/page.js"),
];

impl Snapshot {
    /// The page of [`write_html`](Snapshot::write_html).
    pub fn to_html(&self) -> String {
        let parts = [("/*STYLE*/", STYLE), ("/*SCRIPT*/", &SCRIPTS.concat())];
        let page = parts.iter().fold(PAGE.to_owned(), |page, (at, part)| page.replace(at, part));
        page.replace("/*DATA*/", &in_script(&PageWriter::default().snapshot(self)))
    }
}

/// JSON that can stand in a script of a page: nothing in its texts ends the script, or a comment.
fn in_script(value: &Value) -> String {
    let text = value.to_string();
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // They are in texts only, where an escape means the same.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            character => safe.push(character),
        }
    }
    safe
}

/// One part of the page: a device, or page-locked memory.
struct PagePart<'a> {
    label: String,
    has_streams: bool,
    segments: Vec<&'a Segment>,
    trace: &'a [TraceEntry],
    state: Option<&'a DeviceSnapshot>,
}

impl<'a> PagePart<'a> {
    fn device(snapshot: &'a Snapshot, index: usize) -> PagePart<'a> {
        let is_its = |segment: &&Segment| segment.device == index;
        PagePart {
            label: format!("cuda:{index}"),
            has_streams: true,
            segments: snapshot.segments.iter().filter(is_its).collect(),
            trace: snapshot.device_traces.get(index).map_or(&[][..], Vec::as_slice),
            state: snapshot.devices.iter().find(|device| device.device == index),
        }
    }

    fn host(host: &'a HostSnapshot) -> PagePart<'a> {
        let HostSnapshot { segments, trace, state } = host;
        let label = "page-locked".to_owned();
        let segments = segments.iter().collect();
        PagePart { label, has_streams: false, segments, trace, state: Some(state) }
    }
}

/// Writes what the page's script reads; `page/model.js` names the places in each array.
#[derive(Default)]
struct PageWriter<'a> {
    stacks: HashMap<&'a Frames, usize>,
    stack_list: Vec<&'a Frames>,
    tags: HashMap<&'a str, usize>,
    tag_list: Vec<&'a str>,
    /// Whether what is written now belongs to streams.
    has_streams: bool,
}

impl<'a> PageWriter<'a> {
    fn snapshot(mut self, snapshot: &'a Snapshot) -> Value {
        let of_devices = snapshot.devices.iter().map(|device| device.device);
        let of_segments = snapshot.segments.iter().map(|segment| segment.device);
        let traces = snapshot.device_traces.iter().enumerate();
        let of_traces = traces.filter(|(_, trace)| !trace.is_empty()).map(|(device, _)| device);
        let devices: BTreeSet<_> = of_devices.chain(of_segments).chain(of_traces).collect();
        let of_devices = devices.into_iter().map(|device| PagePart::device(snapshot, device));
        let parts = of_devices.chain(snapshot.host.as_ref().map(PagePart::host));
        let parts: Vec<Value> = parts.map(|part| self.part(part)).collect();
        let stacks = self.stack_list.iter().map(|frames| {
            frames.iter().map(|frame| format!("{}:{}", frame.filename, frame.line)).collect()
        });
        let stacks: Vec<Value> = stacks.collect();
        json!({ "devices": parts, "stacks": stacks, "tags": self.tag_list })
    }

    fn part(&mut self, part: PagePart<'a>) -> Value {
        self.has_streams = part.has_streams;
        let none = DeviceSnapshot::default();
        let device = part.state.unwrap_or(&none);
        let refusal = part.state.and_then(|device| device.out_of_memory.as_ref());
        let refusal = refusal.map(|state| {
            let segments = self.segments(&state.segments);
            json!({ "time": state.time_us, "report": state.report, "segments": segments })
        });
        json!({
            "label": part.label,
            "name": device.name,
            "policy": device.policy,
            "total": device.total,
            "free": device.free,
            "limit": device.limit,
            "dropped": device.dropped_events,
            "statistics": device.statistics,
            "segments": self.segments(part.segments),
            "events": part.trace.iter().map(|entry| self.event(entry)).collect::<Vec<_>>(),
            "refusal": Vec::from_iter(refusal),
        })
    }

    fn segments(&mut self, segments: impl IntoIterator<Item = &'a Segment>) -> Vec<Value> {
        segments.into_iter().map(|segment| self.segment(segment)).collect()
    }

    fn segment(&mut self, segment: &'a Segment) -> Value {
        json!({
            "address": segment.address,
            "bytes": segment.total_size,
            "stream": self.has_streams.then_some(segment.stream),
            "pool": segment.segment_pool_id.1,
            "small": u8::from(segment.segment_type == Pool::Small),
            "pages": u8::from(segment.is_expandable),
            "blocks": segment.blocks.iter().map(|block| self.block(block)).collect::<Vec<_>>(),
        })
    }

    fn block(&mut self, block: &'a SnapshotBlock) -> Value {
        let state = match block.state {
            BlockState::Inactive => 0,
            BlockState::ActiveAllocated => 1,
            BlockState::ActiveAwaitingFree => 2,
        };
        let stack = self.stack(&block.frames);
        let tag = block.tag.as_deref().map(|tag| self.tag(tag));
        let SnapshotBlock { address, size, requested_size, age, time_us, .. } = block;
        json!([address, size, requested_size, state, stack, tag, age, time_us])
    }

    fn event(&mut self, entry: &'a TraceEntry) -> Value {
        let stack = self.stack(&entry.frames);
        let tag = entry.user_metadata.as_deref().map(|tag| self.tag(tag));
        let stream = self.has_streams.then_some(entry.stream);
        let TraceEntry { address, size, time_us, device_free, .. } = entry;
        json!([entry.action.name(), address, size, stream, time_us, stack, tag, device_free])
    }

    fn stack(&mut self, frames: &'a Frames) -> Option<u64> {
        if frames.is_empty() {
            return None;
        }
        let number = *self.stacks.entry(frames).or_insert_with(|| {
            self.stack_list.push(frames);
            self.stack_list.len() - 1
        });
        Some(number as u64)
    }

    fn tag(&mut self, tag: &'a str) -> u64 {
        let number = *self.tags.entry(tag).or_insert_with(|| {
            self.tag_list.push(tag);
            self.tag_list.len() - 1
        });
        number as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_script_around_it() {
        let text = in_script(&json!("</script>&\"\\\n\u{1}\u{2028}"));
        assert_eq!(text, r#""\u003c/script\u003e\u0026\"\\\n\u0001\u2028""#);
        let read: String = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(read, "</script>&\"\\\n\u{1}\u{2028}");
    }
}
