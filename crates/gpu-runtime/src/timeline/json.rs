//! Trace files: Chrome's trace event format, as JSON.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Trace, TracedOperation, streams};
use crate::types::{Device, StreamId, Work};

/// The number of the host among the processes of the file; devices come after it.
const HOST: usize = 0;

pub(super) fn write(trace: &Trace, out: impl io::Write) -> io::Result<()> {
    let mut file = File::begin(out, trace)?;
    names(trace).into_iter().try_for_each(|name| file.event(&name))?;
    for wait in &trace.waits {
        let track = Track { process: HOST, thread: wait.thread };
        let name = format!("wait for {}", wait.device);
        let details = json!({ "reason": wait.reason.to_string(), "place": wait.place.to_string() });
        file.event(&slice("wait", &name, track, &wait.time, details))?;
    }
    for range in &trace.ranges {
        let track = Track { process: HOST, thread: range.thread };
        let details = json!({ "place": range.place.to_string() });
        file.event(&slice("range", &range.name, track, &range.time, details))?;
    }
    let streams = streams(&trace.operations);
    let track = |operation: &TracedOperation| Track {
        process: device(operation.id.stream.device()),
        thread: streams.binary_search(&operation.id.stream).unwrap_or(streams.len()),
    };
    for (number, operation) in trace.operations.iter().enumerate() {
        let host = Track { process: HOST, thread: operation.thread };
        let (name, details) = (name(&operation.work), details(operation));
        file.event(&slice("enqueue", &name, host, &operation.call, details.clone()))?;
        let Some(time) = &operation.time else { continue };
        let track = track(operation);
        file.event(&slice(category(&operation.work), &name, track, time, details))?;
        file.arrow("enqueue", 2 * number, (host, within(&operation.call)), (track, time.start))?;
    }
    let by_stream = by_stream(&trace.operations);
    for (number, operation) in trace.operations.iter().enumerate() {
        let Some((awaited, time)) = operation.awaits.zip(operation.time.as_ref()) else { continue };
        let Some(own) = by_stream.get(&awaited.stream) else { continue };
        // The newest piece of work that was recorded, of those that are waited for.
        let before = own.partition_point(|other| other.id.sequence <= awaited.sequence);
        let Some(last) = before.checked_sub(1).map(|last| own[last]) else { continue };
        let Some(end) = &last.time else { continue };
        let (begin, end) = ((track(last), within(end)), (track(operation), time.end));
        file.arrow("wait", 2 * number + 1, begin, end)?;
    }
    file.end()
}

/// A file of which some events have been written, a line for each.
struct File<W> {
    out: W,
    is_first: bool,
}

impl<W: io::Write> File<W> {
    fn begin(mut out: W, trace: &Trace) -> io::Result<File<W>> {
        let accuracy = trace.accuracy.iter().map(|(device, accuracy)| {
            (format!("{device} against the host"), Value::from(format!("{accuracy:?}")))
        });
        let accuracy: Map<String, Value> = accuracy.collect();
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        serde_json::to_writer(&mut out, &accuracy)?;
        write!(out, ",\"traceEvents\":[")?;
        Ok(File { out, is_first: true })
    }

    fn event(&mut self, event: &Value) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" };
        self.out.write_all(separator.as_bytes())?;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }

    /// An arrow, between instants within two slices.
    fn arrow(
        &mut self,
        name: &str,
        number: usize,
        (from, begin): (Track, Duration),
        (to, end): (Track, Duration),
    ) -> io::Result<()> {
        let part = |phase: &str, track: Track, at: Duration| {
            json!({
                "ph": phase, "cat": name, "name": name, "id": number,
                "pid": track.process, "tid": track.thread, "ts": microseconds(at),
            })
        };
        self.event(&part("s", from, begin))?;
        let mut arrival = part("f", to, end);
        // It ends at the slice around it, and not at the next one to begin.
        arrival["bp"] = "e".into();
        self.event(&arrival)
    }

    fn end(mut self) -> io::Result<()> {
        writeln!(self.out, "]}}")
    }
}

/// The work of each stream, by its numbers.
fn by_stream(operations: &[TracedOperation]) -> HashMap<StreamId, Vec<&TracedOperation>> {
    let mut by_stream: HashMap<_, Vec<_>> = HashMap::new();
    for operation in operations {
        by_stream.entry(operation.id.stream).or_default().push(operation);
    }
    by_stream
}

/// The names of the processes and threads of the file.
fn names(trace: &Trace) -> Vec<Value> {
    let named = |what: &str, track: Track, name: String| {
        let args = json!({ "name": name });
        json!({ "ph": "M", "name": what, "pid": track.process, "tid": track.thread, "args": args })
    };
    let host = Track { process: HOST, thread: 0 };
    let mut names = vec![named("process_name", host, "host".to_owned())];
    for (thread, name) in trace.threads.iter().enumerate() {
        names.push(named("thread_name", Track { process: HOST, thread }, name.to_string()));
    }
    for (thread, stream) in streams(&trace.operations).iter().enumerate() {
        let track = Track { process: device(stream.device()), thread };
        names.push(named("process_name", track, stream.device().to_string()));
        names.push(named("thread_name", track, stream.to_string()));
    }
    names
}

/// A line of the picture.
#[derive(Clone, Copy)]
struct Track {
    process: usize,
    thread: usize,
}

fn slice(category: &str, name: &str, track: Track, time: &Range<Duration>, args: Value) -> Value {
    json!({
        "ph": "X", "cat": category, "name": name, "pid": track.process, "tid": track.thread,
        "ts": microseconds(time.start), "dur": microseconds(time.end - time.start), "args": args,
    })
}

/// An instant in the slice: an arrow that begins at its very end would belong to the next.
fn within(time: &Range<Duration>) -> Duration {
    time.start + (time.end - time.start) / 2
}

fn device(device: Device) -> usize {
    device.index() + 1
}

fn details(operation: &TracedOperation) -> Value {
    let mut details = json!({
        "number": operation.id.sequence,
        "stream": operation.id.stream.to_string(),
        "place": operation.place.to_string(),
    });
    if let Work::Copy { bytes, .. } | Work::Fill { bytes } = operation.work {
        details["bytes"] = bytes.into();
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

/// The format's unit, with nanoseconds as decimals.
fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds() {
        let text = |nanoseconds| json!(microseconds(Duration::from_nanos(nanoseconds))).to_string();
        assert_eq!(text(1_234_005), "1234.005");
        assert_eq!(text(86_400_000_000_001), "86400000000.001");
    }
}
