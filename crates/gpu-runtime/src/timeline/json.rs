//! Trace files: Chrome's trace event format, as JSON.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io;
use std::ops::Range;
use std::time::Duration;

use super::{Trace, TracedOperation, streams};
use crate::ledger::Work;
use crate::stream::StreamId;

/// The number of the host among the processes of the file; devices come after it.
const HOST: usize = 0;

pub(super) fn write(trace: &Trace, mut out: impl io::Write) -> io::Result<()> {
    writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{")?;
    let accuracy: Vec<_> = trace.accuracy.iter().map(accuracy).collect();
    writeln!(out, "{}}},\"traceEvents\":[", accuracy.join(",\n"))?;
    write!(out, "{}", events(trace).join(",\n"))?;
    writeln!(out, "]}}")
}

fn accuracy((device, accuracy): &(crate::Device, Duration)) -> String {
    format!("\"{device} against the host\":\"{accuracy:?}\"")
}

fn events(trace: &Trace) -> Vec<String> {
    let mut events = names(trace);
    for wait in &trace.waits {
        let track = Track { process: HOST, thread: wait.thread };
        let name = format!("wait for {}", wait.device);
        let details = format!("\"reason\":{},\"place\":{}", text(wait.reason), text(wait.place));
        events.push(slice("wait", &name, track, &wait.time, &details));
    }
    for range in &trace.ranges {
        let track = Track { process: HOST, thread: range.thread };
        let details = format!("\"place\":{}", text(range.place));
        events.push(slice("range", &range.name, track, &range.time, &details));
    }
    let streams = streams(&trace.operations);
    let track = |operation: &TracedOperation| Track {
        process: device(operation.id.stream.device()),
        thread: streams.binary_search(&operation.id.stream).unwrap_or(streams.len()),
    };
    for (number, operation) in trace.operations.iter().enumerate() {
        let host = Track { process: HOST, thread: operation.thread };
        let details = details(operation);
        events.push(slice("enqueue", &name(&operation.work), host, &operation.call, &details));
        let Some(time) = &operation.time else { continue };
        let track = track(operation);
        events.push(slice(
            category(&operation.work),
            &name(&operation.work),
            track,
            time,
            &details,
        ));
        let begin = (host, within(&operation.call));
        events.extend(arrow("enqueue", 2 * number, begin, (track, time.start)));
    }
    let by_stream = by_stream(&trace.operations);
    for (number, operation) in trace.operations.iter().enumerate() {
        let Some((awaited, time)) = operation.awaits.zip(operation.time.as_ref()) else { continue };
        let Some(own) = by_stream.get(&awaited.stream) else { continue };
        // The newest piece of work that was recorded, of those that are waited for.
        let before = own.partition_point(|other| other.id.sequence <= awaited.sequence);
        let Some(last) = before.checked_sub(1).map(|last| own[last]) else { continue };
        let Some(end) = &last.time else { continue };
        let begin = (track(last), within(end));
        events.extend(arrow("wait", 2 * number + 1, begin, (track(operation), time.end)));
    }
    events
}

/// The work of each stream, by its numbers.
fn by_stream(operations: &[TracedOperation]) -> HashMap<StreamId, Vec<&TracedOperation>> {
    let mut by_stream: HashMap<_, Vec<_>> = HashMap::new();
    for operation in operations {
        by_stream.entry(operation.id.stream).or_default().push(operation);
    }
    by_stream
}

/// What the processes and threads of the file are called.
fn names(trace: &Trace) -> Vec<String> {
    let streams = streams(&trace.operations);
    let named = |what: &str, track: Track, name: &dyn fmt::Display| {
        format!("{{\"ph\":\"M\",\"name\":\"{what}\",{track},\"args\":{{\"name\":{}}}}}", text(name))
    };
    let mut names = vec![named("process_name", Track { process: HOST, thread: 0 }, &"host")];
    for (thread, name) in trace.threads.iter().enumerate() {
        names.push(named("thread_name", Track { process: HOST, thread }, name));
    }
    for (thread, stream) in streams.iter().enumerate() {
        let track = Track { process: device(stream.device()), thread };
        names.push(named("process_name", track, &stream.device()));
        names.push(named("thread_name", track, stream));
    }
    names
}

/// A line of the picture.
#[derive(Clone, Copy)]
struct Track {
    process: usize,
    thread: usize,
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"pid\":{},\"tid\":{}", self.process, self.thread)
    }
}

fn slice(
    category: &str,
    name: &str,
    track: Track,
    time: &Range<Duration>,
    details: &str,
) -> String {
    let (begin, length) = (Microseconds(time.start), Microseconds(time.end - time.start));
    format!(
        "{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":{},{track},\"ts\":{begin},\
         \"dur\":{length},\"args\":{{{details}}}}}",
        text(name)
    )
}

/// An arrow, between instants within two slices.
fn arrow(
    name: &str,
    number: usize,
    (from, begin): (Track, Duration),
    (to, end): (Track, Duration),
) -> [String; 2] {
    let part = |phase: &str, track: Track, at: Duration| {
        format!(
            "{{\"ph\":{phase},\"cat\":\"{name}\",\"name\":\"{name}\",\"id\":{number},{track},\
             \"ts\":{}}}",
            Microseconds(at)
        )
    };
    // It ends at the slice around it, and not at the next one to begin.
    [part("\"s\"", from, begin), part("\"f\",\"bp\":\"e\"", to, end)]
}

/// An instant in the slice: an arrow that begins at its very end would belong to the next.
fn within(time: &Range<Duration>) -> Duration {
    time.start + (time.end - time.start) / 2
}

fn device(device: crate::Device) -> usize {
    device.index() + 1
}

fn details(operation: &TracedOperation) -> String {
    let mut details = format!(
        "\"number\":{},\"stream\":{},\"place\":{}",
        operation.id.sequence,
        text(operation.id.stream),
        text(operation.place)
    );
    if let Work::Copy { bytes, .. } | Work::Fill { bytes } = operation.work {
        let _ = write!(details, ",\"bytes\":{bytes}");
    }
    details
}

fn name(work: &Work) -> String {
    match work {
        Work::Kernel { name } => name.to_string(),
        Work::Copy { direction, .. } => format!("copy {direction}"),
        Work::Fill { .. } => "fill".to_owned(),
        Work::Graph { nodes } => format!("graph of {} nodes", nodes.len()),
        other => other.to_string(),
    }
}

fn category(work: &Work) -> &'static str {
    match work {
        Work::Kernel { .. } => "kernel",
        Work::Copy { .. } => "copy",
        Work::Fill { .. } => "fill",
        Work::Graph { .. } => "graph",
        Work::Callback => "callback",
        Work::Wait => "wait",
        Work::Record => "record",
    }
}

/// Microseconds with three decimals: the format's unit.
struct Microseconds(Duration);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.0.as_nanos();
        write!(f, "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
    }
}

/// A JSON string.
fn text(value: impl fmt::Display) -> String {
    let mut text = String::from("\"");
    for c in value.to_string().chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_json_wants_it() {
        assert_eq!(text("a \"b\" \\ \n é"), "\"a \\\"b\\\" \\\\ \\u000a é\"");
    }

    #[test]
    fn times_are_microseconds() {
        assert_eq!(Microseconds(Duration::from_nanos(1_234_005)).to_string(), "1234.005");
    }
}
