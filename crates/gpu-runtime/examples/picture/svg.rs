//! A trace as an SVG picture: a track for the host's calls, and one for each stream.

use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use gpu_runtime::{Device, StreamId, Trace, TracedOperation, Work};

const WIDTH: f64 = 960.0;
/// The left end of the tracks, right of their names.
const LEFT: f64 = 90.0;
const TITLE: f64 = 30.0;
const TRACK: f64 = 26.0;
/// Below the tracks of a panel: the axis, and room to the next.
const AXIS: f64 = 50.0;

/// Draws traces below each other, all to the same scale.
pub(crate) fn draw(device: Device, panels: &[(&str, &Trace)]) -> String {
    let end = panels.iter().map(|(_, trace)| end(trace)).max().unwrap_or_default();
    let scale = Scale((WIDTH - LEFT - 20.0) / end.as_secs_f64());
    let heights = panels.iter().map(|(_, trace)| height(trace));
    let mut picture = Picture(String::new());
    picture.line(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>",
        heights.sum::<f64>()
    ));
    let mut top = 0.0;
    for (title, trace) in panels {
        picture.panel(top, &format!("{title}: {}", trace.overlap(device)), trace, &scale, end);
        top += height(trace);
    }
    picture.line("</svg>");
    picture.0
}

/// Translates an instant to a position, from left to right.
struct Scale(f64);

impl Scale {
    fn at(&self, time: Duration) -> f64 {
        LEFT + time.as_secs_f64() * self.0
    }
}

struct Picture(String);

impl Picture {
    fn panel(&mut self, top: f64, title: &str, trace: &Trace, scale: &Scale, end: Duration) {
        self.text(10.0, top + 19.0, "#000", title);
        let track = |number: usize| top + TITLE + number as f64 * TRACK;
        self.text(10.0, track(0) + 16.0, "#444", "host");
        for range in &trace.ranges {
            self.bar(scale, track(0), &range.time, "#e4e4e4", "");
        }
        for operation in &trace.operations {
            if is_shown(&operation.work) {
                self.bar(scale, track(0), &operation.call, "#8c8c8c", "");
            }
        }
        for (number, (stream, name)) in streams(trace).into_iter().enumerate() {
            let top = track(number + 1);
            self.text(10.0, top + 16.0, "#444", name);
            for operation in trace.operations.iter().filter(|o| o.id.stream == stream) {
                if let (true, Some(time)) = (is_shown(&operation.work), &operation.time) {
                    let (colour, name) = look(operation);
                    self.bar(scale, top, time, colour, name);
                }
            }
        }
        self.axis(track(streams(trace).len() + 1) + 6.0, scale, end);
    }

    fn axis(&mut self, top: f64, scale: &Scale, end: Duration) {
        let step = Duration::from_micros(200);
        let ticks = (0..).map(|tick| step * tick).take_while(|time| *time <= end);
        for time in ticks {
            let x = scale.at(time);
            self.line(&format!(
                "<path d=\"M{x:.1} {top:.1}v5\" stroke=\"#888\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" fill=\"#666\" text-anchor=\"middle\">{} µs</text>",
                top + 17.0,
                time.as_micros()
            ));
        }
    }

    fn bar(
        &mut self,
        scale: &Scale,
        top: f64,
        Range { start, end }: &Range<Duration>,
        colour: &str,
        name: &str,
    ) {
        let (from, to) = (scale.at(*start), scale.at(*end));
        // What is too short to be seen still has a line.
        let width = (to - from).max(1.0);
        let height = TRACK - 4.0;
        self.line(&format!(
            "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height}\" \
             fill=\"{colour}\" stroke=\"#fff\" stroke-width=\"0.5\"/>"
        ));
        if width > 7.0 * name.len() as f64 {
            self.text(from + 2.0, top + 15.0, "#000", name);
        }
    }

    fn text(&mut self, x: f64, y: f64, colour: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.line(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{text}</text>"));
    }

    fn line(&mut self, line: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }
}

/// Whether it is drawn: what takes a device's time, and not what only orders streams.
fn is_shown(work: &Work) -> bool {
    !matches!(work, Work::Wait)
}

fn look(operation: &TracedOperation) -> (&'static str, &str) {
    match &operation.work {
        Work::Kernel { name } => ("#7fb77e", name),
        Work::Copy { .. } => ("#6fa8dc", "copy"),
        _ => ("#d9b36c", "other"),
    }
}

/// The streams of a trace, and what they mostly do.
fn streams(trace: &Trace) -> Vec<(StreamId, &'static str)> {
    let mut streams: Vec<(StreamId, &'static str)> = Vec::new();
    for operation in trace.operations.iter().filter(|operation| is_shown(&operation.work)) {
        if streams.iter().all(|(known, _)| *known != operation.id.stream) {
            let is_copy = matches!(operation.work, Work::Copy { .. });
            streams.push((operation.id.stream, if is_copy { "copies" } else { "kernels" }));
        }
    }
    streams
}

fn height(trace: &Trace) -> f64 {
    TITLE + (streams(trace).len() + 1) as f64 * TRACK + AXIS
}

fn end(trace: &Trace) -> Duration {
    let times = trace.operations.iter().filter_map(|operation| operation.time.as_ref());
    times.map(|time| time.end).max().unwrap_or_default()
}
