//! Random programs on a device that is too small for them, with work under way on several streams:
//! whoever is refused memory could not have been served, whatever work was waited for; and is served
//! once those have released theirs whom the error names.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};

use cuda_sim::control::{Schedule, set_memory_limit, set_schedule};
use gpu_alloc::policy::{
    Address, Log, MemorySource, Physical, SourceCall, SourceError, StreamAndPool,
    VirtualMemorySource,
};
use gpu_alloc::{
    DeviceMemory, DeviceSource, OutOfMemory, allocate, empty_cache, memory_allocated, memory_stats,
    memory_tag, set_memory_source,
};
use gpu_runtime::{Device, Error, Stream};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use test_support::isolate;

use crate::certificate::{Request, Rules, STREAMS, Taken, World};
use crate::device_support::{devices, fill, vouched};
use crate::effort;

const MIB: u64 = 1 << 20;
const CAPACITY: u64 = 64 * MIB;
/// How many tags memory is held under.
const TAGS: usize = 40;

/// The device's memory, whose calls are told to the test.
#[derive(Debug)]
struct Told {
    source: Log<DeviceSource>,
    calls: Sender<SourceCall>,
}

impl Told {
    fn tell(&mut self) {
        for call in self.source.take_calls() {
            self.calls.send(call).expect("the test lives as long as the process");
        }
    }

    fn ask<R>(&mut self, ask: impl FnOnce(&mut dyn VirtualMemorySource<Error = Error>) -> R) -> R {
        let answer = ask(self.source.virtual_memory().expect("the device has some"));
        self.tell();
        answer
    }
}

impl MemorySource for Told {
    type Error = Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Error>> {
        let answer = self.source.allocate(bytes);
        self.tell();
        answer
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.source.release(address, bytes);
        self.tell();
    }

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = Error>> {
        Some(self)
    }
}

impl VirtualMemorySource for Told {
    type Error = Error;

    fn page_bytes(&self) -> u64 {
        2 * MIB
    }

    fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<Error>> {
        self.ask(|memory| memory.reserve(bytes))
    }

    fn unreserve(&mut self, address: Address, bytes: u64) {
        self.ask(|memory| memory.unreserve(address, bytes));
    }

    fn create(&mut self, bytes: u64) -> Result<Physical, SourceError<Error>> {
        self.ask(|memory| memory.create(bytes))
    }

    fn destroy(&mut self, physical: Physical, bytes: u64) {
        self.ask(|memory| memory.destroy(physical, bytes));
    }

    fn map(
        &mut self,
        address: Address,
        physical: Physical,
        bytes: u64,
    ) -> Result<(), SourceError<Error>> {
        self.ask(|memory| memory.map(address, physical, bytes))
    }

    fn set_access(&mut self, address: Address, bytes: u64) -> Result<(), SourceError<Error>> {
        self.ask(|memory| memory.set_access(address, bytes))
    }

    fn unmap(&mut self, address: Address, bytes: u64) {
        self.ask(|memory| memory.unmap(address, bytes));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Allocate { stream: usize, bytes: u64 },
    Use { which: usize, stream: usize },
    Drop { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let bytes = prop_oneof![1..4000_u64, 1..MIB, MIB..9 * MIB, 9 * MIB..24 * MIB];
    prop_oneof![
        4 => (stream(), bytes).prop_map(|(stream, bytes)| Step::Allocate { stream, bytes }),
        4 => (any::<usize>(), stream()).prop_map(|(which, stream)| Step::Use { which, stream }),
        3 => any::<usize>().prop_map(|which| Step::Drop { which }),
    ]
}

/// A device, and what is known of its memory without asking its allocator.
struct Program {
    device: Device,
    streams: [Stream; STREAMS],
    rules: Rules,
    calls: Receiver<SourceCall>,
    world: World,
    /// With the tags.
    held: Vec<(DeviceMemory, String)>,
    requests: usize,
    refusals: u64,
    /// How many refusals named so many holders: none, one, two, or more.
    named: [u64; 4],
}

impl Program {
    fn new(rules: Rules) -> Program {
        let [device, ..] = devices();
        device.memory_info().expect("the device works");
        set_memory_limit(device.index(), CAPACITY).expect("the driver is in use");
        let (told, calls) = channel();
        let source = Told { source: Log::new(DeviceSource::new(device)), calls: told };
        set_memory_source(device, vouched(source)).expect("nothing was allocated yet");
        let streams = [(); STREAMS].map(|()| Stream::new(device).expect("there is another"));
        let (world, held) = (World::default(), Vec::new());
        let (requests, refusals, named) = (0, 0, [0; 4]);
        Program { device, streams, rules, calls, world, held, requests, refusals, named }
    }

    fn run(&mut self, steps: &[Step], schedule: &Schedule) {
        set_schedule(schedule).expect("the driver is in use");
        for step in steps {
            match *step {
                Step::Allocate { stream, bytes } => {
                    if let Some(report) = self.allocate(stream, bytes) {
                        self.release_and_retry(stream, bytes, &report);
                    }
                }
                Step::Use { which, stream } => {
                    if let Some(index) = which.checked_rem(self.held.len()) {
                        fill(&self.streams[stream], &self.held[index].0, 1);
                    }
                }
                Step::Drop { which } => {
                    if let Some(index) = which.checked_rem(self.held.len()) {
                        self.drop_held(index);
                    }
                }
            }
        }
        self.end();
    }

    fn drop_held(&mut self, index: usize) {
        self.world.taken.swap_remove(index);
        self.held.swap_remove(index);
    }

    /// Releases what the holders have whom the error names: that must do.
    fn release_and_retry(&mut self, stream: usize, bytes: u64, report: &OutOfMemory) {
        let named = &report.enough_to_release;
        self.named[named.len().min(3)] += 1;
        assert_eq!(named.is_empty(), report.is_too_large(), "{report}");
        if named.is_empty() {
            return;
        }
        let is_named = |(memory, tag): &(DeviceMemory, String)| {
            let mut of_stream = named.iter().filter(|one| one.stream == memory.stream().id());
            of_stream.any(|one| one.tag.is_some_and(|named| named.name() == tag))
        };
        for index in (0..self.held.len()).rev() {
            if is_named(&self.held[index]) {
                self.drop_held(index);
            }
        }
        let refused = self.allocate(stream, bytes);
        assert!(refused.is_none(), "{report}\nthen:\n{}", refused.expect("it was refused"));
    }

    /// Makes a request; the error if it is refused.
    fn allocate(&mut self, stream: usize, bytes: u64) -> Option<Box<OutOfMemory>> {
        let home = StreamAndPool::from(stream);
        let request = Request { rules: self.rules, requested: bytes, home };
        let allocated = self.allocated();
        self.requests += 1;
        let tag = format!("part {}", self.requests % TAGS);
        let inside = memory_tag(&tag);
        let outcome = allocate(self.device, bytes as usize, &self.streams[stream]);
        drop(inside);
        let calls: Vec<_> = self.calls.try_iter().collect();
        self.world.see(&calls, Some((home, request.is_small())));
        match outcome {
            Ok(memory) => {
                let start = memory.ptr().address();
                // PyTorch's policies leave a rest with a block that is too small to be of use.
                let bytes = self
                    .allocated()
                    .zip(allocated)
                    .map_or(request.block(), |(now, before)| now - before);
                let range = start..start + bytes;
                assert_eq!(self.world.claims(&range), (0, 0), "what is held is nobody else's");
                self.world.taken.push(Taken { range, awaits: None });
                self.held.push((memory, tag));
                None
            }
            Err(gpu_alloc::Error::OutOfMemory(report)) => {
                self.check(request, &report);
                Some(report)
            }
            Err(error) => panic!("the device works: {error}"),
        }
    }

    /// What is held, as the allocator counts it; nothing where no block is larger than it must be.
    fn allocated(&self) -> Option<u64> {
        (self.rules != Rules::Stitched).then(|| memory_allocated(self.device) as u64)
    }

    fn check(&mut self, request: Request, report: &OutOfMemory) {
        self.refusals += 1;
        let certificate = &report.certificate;
        assert!(certificate.is_final(), "more might be had later: {report}");
        let told: u64 = certificate.evidence().usages.iter().map(|usage| usage.held).sum();
        let held = self.world.claims(&(0..u64::MAX)).0;
        assert_eq!(told, held, "what is held is told of: {report}");
        let shortage = request.shortage(&self.world, CAPACITY);
        assert!(shortage > 0, "{request:?} could have been served: {report}");
    }

    /// Drops everything, after which all memory goes back.
    fn end(&mut self) {
        self.held.clear();
        self.world.taken.clear();
        self.device.synchronize().expect("the device works");
        empty_cache().expect("the device works");
        self.world.see(&self.calls.try_iter().collect::<Vec<_>>(), None);
        let free = self.device.memory_info().expect("the device works").free;
        assert_eq!(free as u64, CAPACITY, "nothing is lost");
    }
}

fn refusals_are_right(rules: Rules) {
    let program = RefCell::new(Program::new(rules));
    let steps = prop::collection::vec(step(), effort::steps(80));
    let outcome =
        TestRunner::new(effort::cases(60)).run(&(any::<u64>(), steps), |(seed, steps)| {
            let schedule = if seed % 4 == 0 { Schedule::Fast } else { Schedule::Adversarial(seed) };
            program.borrow_mut().run(&steps, &schedule);
            Ok(())
        });
    outcome.expect("whoever is refused could not have been served");
    let program = program.into_inner();
    assert!(program.refusals > 0, "the device is too small");
    assert!(program.named[1..].iter().any(|count| *count > 0), "{:?}", program.named);
    assert!(memory_stats(program.device).num_sync_all_streams > 0, "some work was waited for");
}

#[test]
fn stitched_memory_is_refused_only_to_whom_nothing_would_help() {
    isolate(|| refusals_are_right(Rules::Stitched)).env("SLUICE_ALLOCATOR", "stitched").run();
}

#[test]
fn segments_are_refused_only_to_whom_nothing_would_help() {
    isolate(|| refusals_are_right(Rules::Native)).env("SLUICE_ALLOCATOR", "pytorch").run();
}

#[test]
fn expandable_segments_are_refused_only_to_whom_nothing_would_help() {
    isolate(|| refusals_are_right(Rules::Expandable))
        .env("SLUICE_ALLOCATOR", "pytorch-expandable")
        .run();
}
