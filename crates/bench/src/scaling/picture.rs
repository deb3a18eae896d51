//! A step of `Replicas` as an SVG picture: three tracks for each device.

use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use gpu_runtime::{Trace, TracedOperation, Work};

const WIDTH: f64 = 960.0;
/// The left end of the tracks, right of their names.
const LEFT: f64 = 130.0;
const TOP: f64 = 48.0;
const TRACK: f64 = 13.0;
/// The tracks of a device, and room below them.
const DEVICE: f64 = 3.0 * TRACK + 7.0;
const AXIS: f64 = 26.0;

/// The meaning of a bar.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Call,
    Forward,
    Backward,
    Sum,
    Other,
    Copy,
}

const LEGEND: [(Kind, &str); 6] = [
    (Kind::Call, "calls of the host"),
    (Kind::Forward, "forward"),
    (Kind::Backward, "backward"),
    (Kind::Sum, "sums of gradients"),
    (Kind::Other, "into buckets, and the optimizer"),
    (Kind::Copy, "copies to other devices"),
];

/// Draws a trace of so many devices.
pub(super) fn draw(title: &str, devices: usize, trace: &Trace) -> String {
    let times = trace.operations.iter().filter_map(|operation| operation.time.as_ref());
    let end = times.map(|time| time.end).max().unwrap_or_default();
    let mut picture =
        TimelinePicture { text: String::new(), scale: (WIDTH - LEFT - 20.0) / end.as_secs_f64() };
    let height = TOP + devices as f64 * DEVICE + AXIS;
    picture.line(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    ));
    picture.write(10.0, 17.0, title);
    picture.legend();
    for device in 0..devices {
        picture.device(TOP + device as f64 * DEVICE, device, trace);
    }
    picture.axis(TOP + devices as f64 * DEVICE, end);
    picture.line("</svg>");
    picture.text
}

struct TimelinePicture {
    text: String,
    /// Points to a second.
    scale: f64,
}

impl TimelinePicture {
    fn device(&mut self, top: f64, device: usize, trace: &Trace) {
        self.write(10.0, top + 1.5 * TRACK + 4.0, &format!("device {device}"));
        let mut tracks: [Vec<(Kind, Range<Duration>)>; 3] = Default::default();
        let own = trace.operations.iter().filter(|o| o.id.stream.device().index() == device);
        for operation in own {
            tracks[0].push((Kind::Call, operation.call.clone()));
            if let (Some((track, kind)), Some(time)) = (kind(operation), &operation.time) {
                tracks[track].push((kind, time.clone()));
            }
        }
        for (number, (name, bars)) in
            ["host", "kernels", "links"].into_iter().zip(tracks).enumerate()
        {
            let top = top + number as f64 * TRACK;
            self.write(75.0, top + 10.0, name);
            self.track(top, bars);
        }
    }

    /// Draws bars, those of one kind as one where nothing can be seen between them.
    fn track(&mut self, top: f64, mut bars: Vec<(Kind, Range<Duration>)>) {
        bars.sort_by_key(|(_, time)| time.start);
        let mut drawn: Vec<(Kind, f64, f64)> = Vec::new();
        for (kind, time) in bars {
            let (from, to) = (self.at(time.start), self.at(time.end));
            match drawn.last_mut() {
                Some((last, _, end)) if *last == kind && from < *end + 0.4 => *end = end.max(to),
                _ => drawn.push((kind, from, to)),
            }
        }
        for (kind, from, to) in drawn {
            let (width, height) = ((to - from).max(0.2), TRACK - 2.0);
            let colour = kind.colour();
            self.line(&format!(
                "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{colour}\"/>"
            ));
        }
    }

    fn legend(&mut self) {
        let mut x = LEFT;
        for (kind, name) in LEGEND {
            let colour = kind.colour();
            self.line(&format!(
                "<rect x=\"{x:.1}\" y=\"27\" width=\"10\" height=\"10\" fill=\"{colour}\"/>"
            ));
            self.write(x + 14.0, 36.0, name);
            x += 30.0 + 6.0 * name.len() as f64;
        }
    }

    fn axis(&mut self, top: f64, end: Duration) {
        let step = Duration::from_millis(5);
        for time in (0..).map(|tick| step * tick).take_while(|time| *time <= end) {
            let x = self.at(time);
            self.line(&format!("<path d=\"M{x:.1} {top:.1}v5\" stroke=\"#888\"/>"));
            self.write(x - 8.0, top + 17.0, &format!("{} ms", time.as_millis()));
        }
    }

    fn at(&self, time: Duration) -> f64 {
        LEFT + time.as_secs_f64() * self.scale
    }

    fn write(&mut self, x: f64, y: f64, text: &str) {
        self.line(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#333\">{text}</text>"));
    }

    fn line(&mut self, line: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// The track of an operation among those of its device, and its kind; nothing for what only orders
/// streams.
fn kind(operation: &TracedOperation) -> Option<(usize, Kind)> {
    match &operation.work {
        Work::Kernel { name } => {
            let name = name.to_string();
            Some((
                1,
                match &*name {
                    "forward" => Kind::Forward,
                    "backward" => Kind::Backward,
                    _ if name.contains("all_reduce") => Kind::Sum,
                    _ => Kind::Other,
                },
            ))
        }
        Work::Copy { .. } => Some((2, Kind::Copy)),
        _ => None,
    }
}

impl Kind {
    fn colour(self) -> &'static str {
        match self {
            Kind::Call => "#8c8c8c",
            Kind::Forward => "#9ccb86",
            Kind::Backward => "#4f8a4f",
            Kind::Sum => "#c0504d",
            Kind::Other => "#d9b36c",
            Kind::Copy => "#6fa8dc",
        }
    }
}
