//! A recorded history as an allocation trace, to be replayed with any policy.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Write};

use super::{Action, BlockState, Snapshot, TraceEntry};

impl Snapshot {
    /// The history of a device as an allocation trace, for the example `replay`. In each line stands
    /// one event: `a ID BYTES STREAM` allocates, `f ID` frees, `r ID STREAM` says that another
    /// stream uses the memory too, `s STREAM` that a stream has done all its work so far; what
    /// begins with `#` is a comment. Ids are used again after a free; stream 0 is the default stream.
    ///
    /// What was held before the history began is allocated first, as far as it is known: by its
    /// free, or because it is still held. A free that was not complete at once, or after which work on
    /// other streams used the memory on, waits, in the trace, for a stream of its own until that was
    /// over. Requests that were refused are comments, and so is
    /// nothing else: what the allocator did with the driver is for the replay to decide.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
    /// let device = gpu_runtime::Device::get(0)?;
    /// gpu_alloc::record_memory_history(Some(100));
    /// let memory = gpu_alloc::allocate(device, 1000, &device.default_stream()?)?;
    /// drop(gpu_alloc::allocate(device, 2000, &device.default_stream()?)?);
    /// drop(memory);
    /// let trace = gpu_alloc::memory_snapshot().to_trace(0);
    /// assert_eq!(trace, "a 0 1000 0\na 1 2000 0\nf 1\nf 0\n");
    /// # gpu_alloc::record_memory_history(None);
    /// # Ok::<(), gpu_alloc::Error>(())
    /// ```
    pub fn to_trace(&self, device: usize) -> String {
        let entries = self.device_traces.get(device).map_or(&[][..], Vec::as_slice);
        let before = self.held_before(device, entries);
        let streams = before.iter().map(|held| held.stream);
        let streams = StreamNumbers::new(streams.chain(entries.iter().map(|entry| entry.stream)));
        let mut trace = TraceText { streams, ..TraceText::default() };
        trace.write(&before, entries).expect("a string takes whatever is written to it");
        trace.text
    }

    /// The memory that was held when the history began.
    fn held_before(&self, device: usize, entries: &[TraceEntry]) -> Vec<HeldAtStart> {
        let mut held = BTreeMap::new();
        // Addresses of which something is known, after which they say nothing of before.
        let mut known = BTreeSet::new();
        for entry in entries {
            let is_of_block = match entry.action {
                Action::Alloc => true,
                Action::FreeRequested | Action::FreeCompleted => {
                    if !known.contains(&entry.address) {
                        let is_freed = entry.action == Action::FreeCompleted;
                        held.insert(entry.address, HeldAtStart::of_entry(entry, is_freed));
                    }
                    true
                }
                _ => false,
            };
            known.extend(is_of_block.then_some(entry.address));
        }
        let of_device = self.segments.iter().filter(|segment| segment.device == device);
        for segment in of_device {
            let blocks = segment.blocks.iter();
            for block in blocks.filter(|block| block.state == BlockState::ActiveAllocated) {
                if !known.contains(&block.address) {
                    let (address, bytes) = (block.address, block.requested_size);
                    let stream = segment.stream;
                    held.insert(address, HeldAtStart { address, bytes, stream, is_freed: false });
                }
            }
        }
        held.into_values().filter(|held| held.bytes > 0).collect()
    }
}

/// Memory that was held when the history began.
struct HeldAtStart {
    address: u64,
    bytes: u64,
    stream: u64,
    /// Whether only its last uses were awaited.
    is_freed: bool,
}

impl HeldAtStart {
    fn of_entry(entry: &TraceEntry, is_freed: bool) -> HeldAtStart {
        HeldAtStart { address: entry.address, bytes: entry.size, stream: entry.stream, is_freed }
    }
}

/// A trace in the making.
#[derive(Default)]
struct TraceText {
    text: String,
    streams: StreamNumbers,
    ids: ReusedNumbers,
    live: HashMap<u64, u64>,
    /// The streams that frees wait for, by address.
    waiting: HashMap<u64, u64>,
    /// Streams for frees to wait for, after those of the program.
    waits: ReusedNumbers,
    /// The times at which others of these streams have done their work, with the streams.
    ends: BTreeSet<(u64, u64)>,
}

impl TraceText {
    fn write(&mut self, before: &[HeldAtStart], entries: &[TraceEntry]) -> fmt::Result {
        for held in before {
            self.allocate(held.address, held.bytes, held.stream)?;
            if held.is_freed {
                self.free_later(held.address)?;
            }
        }
        for (index, entry) in entries.iter().enumerate() {
            let over = self.ends.extract_if(..=(entry.time_us, u64::MAX), |_| true);
            let over: Vec<_> = over.map(|(_, wait)| wait).collect();
            over.into_iter().try_for_each(|wait| self.end_wait(wait))?;
            match entry.action {
                Action::Alloc if entry.size > 0 => {
                    self.allocate(entry.address, entry.size, entry.stream)?;
                }
                Action::FreeRequested => {
                    let next = entries.get(index + 1);
                    let is_complete = next.is_some_and(|next| {
                        next.action == Action::FreeCompleted && next.address == entry.address
                    });
                    if entry.is_in_use {
                        let wait = self.free_waiting(entry.address)?;
                        self.ends.extend(entry.in_use_until_us.zip(wait));
                    } else if is_complete {
                        self.free(entry.address)?;
                    } else {
                        self.free_later(entry.address)?;
                    }
                }
                Action::FreeCompleted => self.complete(entry.address)?,
                Action::Oom => writeln!(self.text, "# out of memory: {} bytes", entry.size)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn allocate(&mut self, address: u64, bytes: u64, stream: u64) -> fmt::Result {
        // Events may be missing: what is handed out again was freed before.
        self.complete(address)?;
        self.free(address)?;
        let (id, stream) = (self.ids.take(), self.streams.number(stream));
        self.live.insert(address, id);
        writeln!(self.text, "a {id} {bytes} {stream}")
    }

    fn free(&mut self, address: u64) -> fmt::Result {
        let Some(id) = self.live.remove(&address) else { return Ok(()) };
        self.ids.give_back(id);
        writeln!(self.text, "f {id}")
    }

    fn free_later(&mut self, address: u64) -> fmt::Result {
        let wait = self.free_waiting(address)?;
        self.waiting.extend(wait.map(|wait| (address, wait)));
        Ok(())
    }

    /// Frees what waits for a stream of its own; returns that.
    fn free_waiting(&mut self, address: u64) -> Result<Option<u64>, fmt::Error> {
        let Some(id) = self.live.get(&address) else { return Ok(None) };
        let wait = self.waits.take();
        writeln!(self.text, "r {id} {}", self.streams.count() + wait)?;
        self.free(address)?;
        Ok(Some(wait))
    }

    fn complete(&mut self, address: u64) -> fmt::Result {
        self.waiting.remove(&address).map_or(Ok(()), |wait| self.end_wait(wait))
    }

    fn end_wait(&mut self, wait: u64) -> fmt::Result {
        self.waits.give_back(wait);
        writeln!(self.text, "s {}", self.streams.count() + wait)
    }
}

/// Small numbers for the streams of the program, in the order in which they appear.
#[derive(Default)]
struct StreamNumbers(HashMap<u64, u64>);

impl StreamNumbers {
    fn new(streams: impl Iterator<Item = u64>) -> StreamNumbers {
        let mut numbers = HashMap::from([(0, 0)]);
        for stream in streams {
            let next = numbers.len() as u64;
            numbers.entry(stream).or_insert(next);
        }
        StreamNumbers(numbers)
    }

    fn number(&self, stream: u64) -> u64 {
        self.0.get(&stream).copied().unwrap_or(0)
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Numbers that are used again once they are given back.
#[derive(Default)]
struct ReusedNumbers {
    next: u64,
    back: Vec<u64>,
}

impl ReusedNumbers {
    fn take(&mut self) -> u64 {
        self.back.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn give_back(&mut self, number: u64) {
        self.back.push(number);
    }
}
