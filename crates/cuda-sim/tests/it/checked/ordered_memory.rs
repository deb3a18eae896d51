//! Memory whose life begins and ends in a stream's order, and memory with two addresses: what misses
//! an order is reported, and is not once the order is there.

use std::cell::Cell;
use std::ptr;

use cuda_sim::control::{self, ReportKind};
use cuda_sys::{CUdeviceptr, CUevent, CUfunction, CUstream, CUstreamCaptureMode};

use super::bench::{CHECKED, mapped};
use crate::sim::{self, Gpu, KERNELS, NON_BLOCKING, in_child};
use crate::virtual_memory::{GRANULE, create};
use crate::{cuda, ok};

const BYTES: usize = 4096;

/// A device with what programs use of it, made before anything can go wrong.
struct Lab {
    gpu: Gpu,
    one: CUstream,
    two: CUstream,
    events: Cell<Vec<CUevent>>,
    increment: CUfunction,
    store: CUfunction,
}

/// A program, which is right if it is told to be; the memory that it is wrong about otherwise.
type Program = fn(&Lab, bool) -> u64;

/// What may be reported, which depends on what runs first.
type Kinds = &'static [ReportKind];

const USE_AFTER_FREE: Kinds = &[ReportKind::UseAfterFree];
const STREAM_RACE: Kinds = &[ReportKind::StreamRace];
const EITHER: Kinds = &[ReportKind::StreamRace, ReportKind::UseAfterFree];
const UNWRITTEN: Kinds = &[ReportKind::Uninitialized];

const PROGRAMS: &[(&str, Program, Kinds)] = &[
    ("a fill before the allocation", filled_too_early, STREAM_RACE),
    ("a launch before the allocation", launched_too_early, STREAM_RACE),
    ("a free before another stream's fill", freed_too_early, EITHER),
    ("a free before another stream's launch", freed_before_launch, EITHER),
    ("a launch after the free", used_after_free, USE_AFTER_FREE),
    ("ordinary memory freed too early", ordinary_memory, EITHER),
    ("memory that is used again", used_again, UNWRITTEN),
    ("a graph's memory that nobody wrote", graph_reads, UNWRITTEN),
    ("a graph's memory after its end", after_graph, USE_AFTER_FREE),
    ("a graph's memory before its beginning", beside_graph, STREAM_RACE),
    ("memory with two addresses", two_addresses, STREAM_RACE),
];

fn allocate(stream: CUstream) -> CUdeviceptr {
    let mut pointer = 0;
    ok!(cuMemAllocAsync(&mut pointer, BYTES, stream));
    pointer
}

// Calls succeed, or fail because what was enqueued before has been found wrong by now.

fn free(pointer: CUdeviceptr, stream: CUstream) {
    let _ = cuda!(cuMemFreeAsync(pointer, stream));
}

fn fill(pointer: CUdeviceptr, stream: CUstream) {
    let _ = cuda!(cuMemsetD8Async(pointer, 1, BYTES, stream));
}

/// Adds one to what is there.
fn increment(lab: &Lab, pointer: CUdeviceptr, stream: CUstream) {
    let _ = sim::launch(lab.increment, [1, 1], stream, &[pointer]);
}

fn order(lab: &Lab, is_there: bool, before: CUstream, after: CUstream) {
    if is_there {
        let mut events = lab.events.take();
        let event = events.pop().expect("there are enough");
        lab.events.set(events);
        let _ = cuda!(cuEventRecord(event, before));
        let _ = cuda!(cuStreamWaitEvent(after, event, 0));
    }
}

fn filled_too_early(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, two, .. } = lab;
    let pointer = allocate(one);
    order(lab, is_there, one, two);
    fill(pointer, two);
    free(pointer, two);
    pointer
}

fn launched_too_early(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, two, .. } = lab;
    let pointer = allocate(one);
    order(lab, is_there, one, two);
    let _ = sim::launch(lab.store, [1, 1], two, &[pointer, 7]);
    free(pointer, two);
    pointer
}

fn freed_too_early(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, two, .. } = lab;
    let pointer = allocate(one);
    order(lab, true, one, two);
    fill(pointer, two);
    order(lab, is_there, two, one);
    free(pointer, one);
    pointer
}

fn freed_before_launch(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, two, .. } = lab;
    let pointer = allocate(one);
    fill(pointer, one);
    order(lab, true, one, two);
    increment(lab, pointer, two);
    order(lab, is_there, two, one);
    free(pointer, one);
    pointer
}

fn used_after_free(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, .. } = lab;
    let pointer = allocate(one);
    fill(pointer, one);
    if is_there {
        increment(lab, pointer, one);
    }
    free(pointer, one);
    if !is_there {
        increment(lab, pointer, one);
    }
    pointer
}

fn ordinary_memory(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, two, .. } = lab;
    let pointer = lab.gpu.allocate(BYTES);
    fill(pointer, two);
    increment(lab, pointer, two);
    order(lab, is_there, two, one);
    free(pointer, one);
    pointer
}

fn used_again(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, .. } = lab;
    let old = allocate(one);
    fill(old, one);
    free(old, one);
    let new = allocate(one);
    assert_eq!(new, old, "a pool uses it again in the same stream");
    if is_there {
        fill(new, one);
    }
    increment(lab, new, one);
    free(new, one);
    new
}

/// Launches what is captured, twice; its memory.
fn launched(stream: CUstream, captured: impl FnOnce() -> u64) -> u64 {
    let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok!(cuStreamBeginCapture_v2(stream, mode));
    let pointer = captured();
    ok!(cuStreamEndCapture(stream, &mut graph));
    ok!(cuGraphInstantiateWithFlags(&mut executable, graph, 0));
    for _ in 0..2 {
        let _ = cuda!(cuGraphLaunch(executable, stream));
    }
    pointer
}

fn graph_reads(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, .. } = lab;
    launched(one, || {
        let pointer = allocate(one);
        if is_there {
            fill(pointer, one);
        }
        increment(lab, pointer, one);
        free(pointer, one);
        pointer
    })
}

fn after_graph(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, .. } = lab;
    let pointer = launched(one, || {
        let pointer = allocate(one);
        fill(pointer, one);
        free(pointer, one);
        pointer
    });
    if !is_there {
        increment(lab, pointer, one);
    }
    pointer
}

fn beside_graph(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, two, .. } = lab;
    let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok!(cuStreamBeginCapture_v2(one, mode));
    let pointer = allocate(one);
    fill(pointer, one);
    ok!(cuStreamEndCapture(one, &mut graph));
    ok!(cuGraphInstantiateWithFlags(&mut executable, graph, 0));
    ok!(cuGraphLaunch(executable, one));
    order(lab, is_there, one, two);
    let _ = sim::launch(lab.store, [1, 1], two, &[pointer, 7]);
    order(lab, true, two, one);
    free(pointer, one);
    pointer
}

fn two_addresses(lab: &Lab, is_there: bool) -> u64 {
    let &Lab { one, two, .. } = lab;
    let handle = create(lab.gpu.ordinal, GRANULE);
    let (here, there) = (mapped(&lab.gpu, handle), mapped(&lab.gpu, handle));
    fill(here, one);
    order(lab, is_there, one, two);
    fill(there, two);
    // Either fill may be the one that finds the other.
    let found = |report: &control::Report| report.allocation.as_ref().map(|known| known.address);
    let _ = cuda!(cuCtxSynchronize());
    control::reports().first().and_then(found).filter(|found| *found == here).unwrap_or(there)
}

/// Runs a program on a device as new; the memory that it may be wrong about.
fn run(program: Program, is_right: bool) -> (u64, Vec<control::Report>) {
    let gpu = Gpu::take();
    let [one, two] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    let events = Cell::new((0..4).map(|_| gpu.event(2)).collect());
    let module = gpu.load(KERNELS);
    let [increment, store] = [c"increment", c"store"].map(|name| sim::function(module, name));
    let lab = Lab { gpu, one, two, events, increment, store };
    control::clear_reports();
    let memory = program(&lab, is_right);
    let _ = cuda!(cuCtxSynchronize());
    let reports = control::reports();
    drop(lab);
    control::reset().expect("no host function");
    (memory, reports)
}

#[test]
fn memory_that_is_used_outside_of_its_life_is_reported() {
    in_child(CHECKED, || {
        for &(name, program, kinds) in PROGRAMS {
            let (memory, reports) = run(program, false);
            let report = reports.first().unwrap_or_else(|| panic!("{name}: not found"));
            let text = report.to_string();
            assert!(kinds.contains(&report.kind), "{name}: {text}");
            let allocation = report.allocation.as_ref().expect("an allocation");
            assert_eq!(allocation.address, memory, "{name}: {text}");
            assert!(allocation.made.call > 0 && report.address.is_some(), "{name}: {text}");
            let enqueued = report.actor.as_ref().and_then(|actor| actor.enqueued.as_ref());
            assert!(enqueued.is_some_and(|site| site.call > 0), "{name}: {text}");
        }
    });
}

#[test]
fn memory_that_is_used_within_its_life_is_not_reported() {
    in_child(CHECKED, || {
        for &(name, program, _) in PROGRAMS {
            let (_, reports) = run(program, true);
            assert!(reports.is_empty(), "{name}: {}", reports[0]);
        }
    });
}
