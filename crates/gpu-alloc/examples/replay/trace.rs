//! A trace of allocations: read, checked, and ready to be replayed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use gpu_alloc::Snapshot;
use gpu_alloc::snapshot::SnapshotError;

/// The events of a trace, first to last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AllocationTrace {
    pub(crate) events: Vec<TraceEvent>,
    /// The number of names of blocks, which count from 0 and are used again.
    pub(crate) names: usize,
    /// The number of streams, which count from 0.
    pub(crate) streams: usize,
    /// The most bytes that were asked for, and not freed, at any one time.
    pub(crate) peak_requested: u64,
}

/// One event. Names and streams are indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceEvent {
    Allocate { name: u32, bytes: u64, stream: u32 },
    Free { name: u32 },
    RecordStream { name: u32, stream: u32 },
    Synchronize { stream: u32 },
    EmptyCache,
}

/// Why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    #[error("the trace cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("{path} cannot be opened: {error}")]
    NoFile { path: String, error: std::io::Error },
    #[error("a trace is of one device: --device is for snapshots")]
    OneDevice,
    #[error("the snapshot has {count} devices, from 0 on, and none with the number {device}")]
    NoDevice { device: usize, count: usize },
    #[error("line {line} of the trace is `{text}`: {reason}")]
    Line { line: usize, text: String, reason: &'static str },
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("the trace allocates nothing")]
    Empty,
}

/// The number of characters that an error shows of a bad line.
const SHOWN: usize = 60;
/// The most bytes of a line, its end included. A kilobyte of gzip can unpack to a line of a gigabyte.
const MAX_LINE: u64 = 4096;
/// The most events of a trace, which take a gigabyte and a half: a hundred times the largest recorded one.
const MAX_EVENTS: usize = 1 << 26;

const NOT_IN_USE: &str = "the name is not in use";

impl AllocationTrace {
    /// Reads a file, plain or gzipped; or the history of a device in a pickled snapshot, the first if
    /// none is named.
    pub(crate) fn open(path: &Path, device: Option<usize>) -> Result<AllocationTrace, TraceError> {
        let no_file = |error| TraceError::NoFile { path: path.display().to_string(), error };
        let mut file = BufReader::new(File::open(path).map_err(no_file)?);
        if file.fill_buf()?.starts_with(&[0x80]) {
            let mut pickle = Vec::new();
            file.read_to_end(&mut pickle)?;
            let snapshot = Snapshot::from_pickle(&pickle)?;
            let (device, count) = (device.unwrap_or(0), snapshot.device_traces.len());
            if device >= count {
                return Err(TraceError::NoDevice { device, count });
            }
            return AllocationTrace::read(snapshot.to_trace(device).as_bytes());
        }
        if device.is_some() {
            return Err(TraceError::OneDevice);
        }
        let is_gzipped = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let content: Box<dyn Read> =
            if is_gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        AllocationTrace::read(BufReader::new(content))
    }

    /// Reads lines. It never holds more than one of them, and refuses one that is too long as well
    /// as too many events, so that no content takes all memory.
    pub(crate) fn read(mut content: impl BufRead) -> Result<AllocationTrace, TraceError> {
        let mut reader = TraceReader::default();
        let mut text = String::new();
        for line in 1.. {
            text.clear();
            if content.by_ref().take(MAX_LINE + 1).read_line(&mut text)? == 0 {
                break;
            }
            reader.line(&text).map_err(|reason| {
                let text = text.trim_end().chars().take(SHOWN).collect();
                TraceError::Line { line, text, reason }
            })?;
        }
        let TraceReader { trace, peak_requested, names, streams, .. } = reader;
        if peak_requested == 0 {
            return Err(TraceError::Empty);
        }
        Ok(AllocationTrace {
            events: trace,
            names: names as usize,
            streams: streams.len(),
            peak_requested,
        })
    }

    /// The number of events of each kind, under PyTorch's name for it.
    pub(crate) fn counts(&self) -> [(&'static str, usize); 5] {
        let kinds = ["alloc", "free", "record_stream", "sync", "empty_cache"];
        let kind = |event: &TraceEvent| match event {
            TraceEvent::Allocate { .. } => 0,
            TraceEvent::Free { .. } => 1,
            TraceEvent::RecordStream { .. } => 2,
            TraceEvent::Synchronize { .. } => 3,
            TraceEvent::EmptyCache => 4,
        };
        let mut counts = [0; 5];
        self.events.iter().for_each(|event| counts[kind(event)] += 1);
        std::array::from_fn(|kind| (kinds[kind], counts[kind]))
    }
}

#[derive(Default)]
struct TraceReader {
    trace: Vec<TraceEvent>,
    /// The index and the size of what is held, by what the trace calls it.
    held: HashMap<u64, (u32, u64)>,
    /// The number of indices so far, some of which are free.
    names: u32,
    unused: Vec<u32>,
    streams: HashMap<u64, u32>,
    requested: u64,
    peak_requested: u64,
}

impl TraceReader {
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        if line.len() as u64 > MAX_LINE {
            return Err("it is longer than 4096 bytes");
        }
        let mut words = line.split_ascii_whitespace();
        let Some(kind) = words.next().filter(|kind| !kind.starts_with('#')) else {
            return Ok(());
        };
        let mut number = |missing| {
            words.next().ok_or(missing)?.parse::<u64>().map_err(|_| "it must hold whole numbers")
        };
        let event = match kind {
            "a" => {
                let (name, bytes) = (number("a name is missing")?, number("a size is missing")?);
                self.allocate(name, bytes, number("a stream is missing")?)?
            }
            "f" => self.free(number("a name is missing")?)?,
            "r" => {
                let name = number("a name is missing")?;
                let (name, _) = *self.held.get(&name).ok_or(NOT_IN_USE)?;
                let stream = self.stream(number("a stream is missing")?);
                TraceEvent::RecordStream { name, stream }
            }
            "s" => TraceEvent::Synchronize { stream: self.stream(number("a stream is missing")?) },
            "e" => TraceEvent::EmptyCache,
            _ => return Err("it must begin with `a`, `f`, `r`, `s`, `e` or `#`"),
        };
        if words.next().is_some() {
            return Err("there is too much in it");
        }
        if self.trace.len() == MAX_EVENTS {
            return Err("it is one event too many: a trace has 67108864 at most");
        }
        self.trace.push(event);
        Ok(())
    }

    fn allocate(&mut self, name: u64, bytes: u64, stream: u64) -> Result<TraceEvent, &'static str> {
        if bytes == 0 {
            return Err("the size must not be 0");
        }
        let Entry::Vacant(entry) = self.held.entry(name) else {
            return Err("the name is in use");
        };
        let name = self.unused.pop().unwrap_or(self.names);
        self.names = self.names.max(name + 1);
        entry.insert((name, bytes));
        self.requested = self.requested.checked_add(bytes).ok_or("the sizes are too large")?;
        self.peak_requested = self.peak_requested.max(self.requested);
        Ok(TraceEvent::Allocate { name, bytes, stream: self.stream(stream) })
    }

    fn free(&mut self, name: u64) -> Result<TraceEvent, &'static str> {
        let (name, bytes) = self.held.remove(&name).ok_or(NOT_IN_USE)?;
        self.unused.push(name);
        self.requested -= bytes;
        Ok(TraceEvent::Free { name })
    }

    fn stream(&mut self, stream: u64) -> u32 {
        let next = self.streams.len() as u32;
        *self.streams.entry(stream).or_insert(next)
    }
}

/// Any bytes are refused, or make a trace that holds each name once at a time and no more than its
/// peak.
///
/// # Panics
/// When they do not.
#[cfg(any(test, fuzzing))]
pub(crate) fn try_bytes(bytes: &[u8]) {
    let Ok(trace) = AllocationTrace::read(bytes) else { return };
    assert_eq!(trace.counts().iter().map(|(_, count)| count).sum::<usize>(), trace.events.len());
    let (mut held, mut sum) = (vec![None; trace.names], 0);
    for event in &trace.events {
        match *event {
            TraceEvent::Allocate { name, bytes, stream } => {
                assert!(held[name as usize].replace(bytes).is_none());
                assert!((stream as usize) < trace.streams);
                sum += bytes;
            }
            TraceEvent::Free { name } => sum -= held[name as usize].take().expect("it is held"),
            TraceEvent::RecordStream { name, .. } => assert!(held[name as usize].is_some()),
            TraceEvent::Synchronize { stream } => assert!((stream as usize) < trace.streams),
            TraceEvent::EmptyCache => {}
        }
        assert!(sum <= trace.peak_requested);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_lines_are_refused_or_make_a_trace(
            lines in prop::collection::vec("[afrse#] ?[0-3]? ?[0-9]{0,3} ?[0-2]?", 0..30),
        ) {
            try_bytes(lines.join("\n").as_bytes());
        }
    }

    #[test]
    fn every_kind_of_line_is_read_and_names_are_recycled() {
        let text = "# a comment\na 7 100 0\nr 7 3\nf 7\n\ns 3\ne\na 7 50 0\na 9 60 3\n";
        let trace = AllocationTrace::read(text.as_bytes()).expect("it is well formed");
        let expected = [
            TraceEvent::Allocate { name: 0, bytes: 100, stream: 0 },
            TraceEvent::RecordStream { name: 0, stream: 1 },
            TraceEvent::Free { name: 0 },
            TraceEvent::Synchronize { stream: 1 },
            TraceEvent::EmptyCache,
            TraceEvent::Allocate { name: 0, bytes: 50, stream: 0 },
            TraceEvent::Allocate { name: 1, bytes: 60, stream: 1 },
        ];
        assert_eq!(trace.events, expected);
        assert_eq!((trace.names, trace.streams, trace.peak_requested), (2, 2, 110));
        assert_eq!(trace.counts().map(|(_, count)| count), [3, 1, 1, 1, 1]);
    }

    #[test]
    fn a_bad_line_is_named_with_its_number() {
        for (text, line, reason) in [
            ("a 1 10 0\nf 2\n", 2, "the name is not in use"),
            ("a 1 10 0\na 1 10 0\n", 2, "the name is in use"),
            ("a 1 0 0\n", 1, "the size must not be 0"),
            ("a 1 10\n", 1, "a stream is missing"),
            ("a 1 10 0 0\n", 1, "there is too much in it"),
            ("a 1 -1 0\n", 1, "it must hold whole numbers"),
            ("\nfree 1\n", 2, "it must begin with `a`, `f`, `r`, `s`, `e` or `#`"),
            ("a 1 9 0\nf 1\nr 1 2\n", 3, "the name is not in use"),
        ] {
            match AllocationTrace::read(text.as_bytes()) {
                Err(TraceError::Line { line: at, reason: why, .. }) => {
                    assert_eq!((at, why), (line, reason), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(matches!(AllocationTrace::read("# nothing\n".as_bytes()), Err(TraceError::Empty)));
    }

    #[test]
    fn a_snapshot_is_read_as_the_history_of_a_device() {
        let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pytorch/snapshot.pickle");
        let [first, second] =
            [0, 1].map(|device| AllocationTrace::open(&snapshot, Some(device)).unwrap());
        // What was held before, what was freed of it, and one block that another stream uses.
        let held = TraceEvent::Allocate { name: 0, bytes: 1000, stream: 0 };
        assert_eq!((first.events.len(), first.events[0]), (6, held));
        assert_eq!(second.events, [TraceEvent::Allocate { name: 0, bytes: 40 << 20, stream: 0 }]);
        let error = AllocationTrace::open(&snapshot, Some(7)).unwrap_err();
        assert!(error.to_string().contains("none with the number 7"), "{error}");
        let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cnn_train.trace.gz");
        assert!(matches!(AllocationTrace::open(&trace, Some(0)), Err(TraceError::OneDevice)));
    }

    #[test]
    fn a_small_file_that_unpacks_to_an_endless_line_is_refused_at_its_beginning() {
        // As a decompressor gives it: it would take 2^40 bytes to hold.
        let endless = BufReader::new(std::io::repeat(b'#').take(1 << 40));
        let error = AllocationTrace::read(endless).unwrap_err();
        assert!(error.to_string().ends_with("it is longer than 4096 bytes"), "{error}");
    }

    #[test]
    fn what_is_no_text_is_an_error() {
        assert!(matches!(
            AllocationTrace::read(&[0xff, 0xfe, b'\n'][..]),
            Err(TraceError::Unreadable(_))
        ));
        let error = AllocationTrace::open(Path::new("no/such/file"), None).unwrap_err();
        assert!(error.to_string().starts_with("no/such/file cannot be opened"), "{error}");
    }
}
