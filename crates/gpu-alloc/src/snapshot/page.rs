//! A snapshot as a page to look at.

mod json;

use std::collections::{BTreeSet, HashMap};

use self::json::Json;
use super::{
    Block, BlockState, DeviceState, Frames, HostMemory, Pool, Segment, Snapshot, TraceEntry,
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
        page.replace("/*DATA*/", &Exporter::default().snapshot(self))
    }
}

/// What the page shows at once: a device, or page-locked memory.
struct Part<'a> {
    label: String,
    has_streams: bool,
    segments: Vec<&'a Segment>,
    trace: &'a [TraceEntry],
    state: Option<&'a DeviceState>,
}

impl<'a> Part<'a> {
    fn device(snapshot: &'a Snapshot, index: usize) -> Part<'a> {
        let is_its = |segment: &&Segment| segment.device == index;
        Part {
            label: format!("cuda:{index}"),
            has_streams: true,
            segments: snapshot.segments.iter().filter(is_its).collect(),
            trace: snapshot.device_traces.get(index).map_or(&[][..], Vec::as_slice),
            state: snapshot.devices.iter().find(|device| device.device == index),
        }
    }

    fn host(host: &'a HostMemory) -> Part<'a> {
        let HostMemory { segments, trace, state } = host;
        let label = "page-locked".to_owned();
        let segments = segments.iter().collect();
        Part { label, has_streams: false, segments, trace, state: Some(state) }
    }
}

/// Writes what the page's script reads; `page/model.js` names the places in each array.
#[derive(Default)]
struct Exporter<'a> {
    stacks: HashMap<&'a Frames, usize>,
    stack_list: Vec<&'a Frames>,
    tags: HashMap<&'a str, usize>,
    tag_list: Vec<&'a str>,
    /// Whether what is written now belongs to streams.
    has_streams: bool,
}

impl<'a> Exporter<'a> {
    fn snapshot(mut self, snapshot: &'a Snapshot) -> String {
        let of_devices = snapshot.devices.iter().map(|device| device.device);
        let of_segments = snapshot.segments.iter().map(|segment| segment.device);
        let traces = snapshot.device_traces.iter().enumerate();
        let of_traces = traces.filter(|(_, trace)| !trace.is_empty()).map(|(device, _)| device);
        let devices: BTreeSet<_> = of_devices.chain(of_segments).chain(of_traces).collect();
        let mut json = Json::default();
        json.object(|json| {
            let of_devices = devices.into_iter().map(|device| Part::device(snapshot, device));
            let parts = of_devices.chain(snapshot.host.as_ref().map(Part::host));
            json.key("devices").array(parts, |json, part| self.part(json, part));
            json.key("stacks").array(&self.stack_list, |json, frames| {
                json.array(frames.iter(), |json, frame| {
                    json.text(&format!("{}:{}", frame.filename, frame.line));
                });
            });
            json.key("tags").array(&self.tag_list, |json, tag| json.text(tag));
        });
        json.finish()
    }

    fn part(&mut self, json: &mut Json, part: Part<'a>) {
        self.has_streams = part.has_streams;
        let none = DeviceState::default();
        let device = part.state.unwrap_or(&none);
        let moment = part.state.and_then(|device| device.out_of_memory.as_ref());
        json.object(|json| {
            json.key("label").text(&part.label);
            json.key("name").text(&device.name);
            json.key("policy").text(&device.policy);
            json.key("total").number(device.total);
            json.key("free").number(device.free);
            json.key("limit").optional(device.limit);
            json.key("dropped").number(device.dropped_events);
            json.key("statistics").array(&device.statistics, |json, (name, value)| {
                json.array([(Some(name), 0), (None, *value)], |json, (name, value)| match name {
                    Some(name) => json.text(name),
                    None => json.number(value),
                });
            });
            json.key("segments").array(part.segments, |json, segment| self.segment(json, segment));
            json.key("events").array(part.trace, |json, entry| self.event(json, entry));
            json.key("refusal").array(moment, |json, moment| {
                json.object(|json| {
                    json.key("time").number(moment.time_us);
                    json.key("report").text(&moment.report);
                    json.key("segments").array(&moment.segments, |json, segment| {
                        self.segment(json, segment);
                    });
                });
            });
        });
    }

    fn segment(&mut self, json: &mut Json, segment: &'a Segment) {
        json.object(|json| {
            json.key("address").number(segment.address);
            json.key("bytes").number(segment.total_size);
            json.key("stream").optional(self.has_streams.then_some(segment.stream));
            json.key("pool").number(segment.segment_pool_id.1);
            json.key("small").number(u64::from(segment.segment_type == Pool::Small));
            json.key("pages").number(u64::from(segment.is_expandable));
            json.key("blocks").array(&segment.blocks, |json, block| self.block(json, block));
        });
    }

    fn block(&mut self, json: &mut Json, block: &'a Block) {
        let state = match block.state {
            BlockState::Inactive => 0,
            BlockState::ActiveAllocated => 1,
            BlockState::ActiveAwaitingFree => 2,
        };
        let stack = self.stack(&block.frames);
        let tag = block.tag.as_deref().map(|tag| self.tag(tag));
        let numbers = [
            Some(block.address),
            Some(block.size),
            Some(block.requested_size),
            Some(state),
            stack,
            tag,
            block.age,
            block.time_us,
        ];
        json.array(numbers, Json::optional);
    }

    fn event(&mut self, json: &mut Json, entry: &'a TraceEntry) {
        let stack = self.stack(&entry.frames);
        let tag = entry.user_metadata.as_deref().map(|tag| self.tag(tag));
        let stream = self.has_streams.then_some(entry.stream);
        let numbers = [Some(entry.address), Some(entry.size), stream, Some(entry.time_us)];
        let rest = [stack, tag, entry.device_free];
        let numbers = numbers.into_iter().chain(rest).map(|number| (None, number));
        let action = std::iter::once((Some(entry.action.name()), None));
        json.array(action.chain(numbers), |json, (name, number)| match name {
            Some(name) => json.text(name),
            None => json.optional(number),
        });
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
