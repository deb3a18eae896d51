//! Programs that miss an order between streams, devices or the host: each is reported, and is not
//! once the order is there.

use cuda_sim::control::{self, ReportKind};
use cuda_sys::{CUdeviceptr, CUevent, CUresult, CUstream};

use super::bench::{CHECKED, pinned, zeros};
use crate::cuda;
use crate::ok;
use crate::sim::{self, DEFAULT, Gpu, KERNELS, NON_BLOCKING, in_child};

const BYTES: usize = 4096;

/// Two devices, and what programs use of them.
struct Lab {
    gpu: Gpu,
    other: Gpu,
}

/// A program, which is right if it is told to wait; the memory that it races on otherwise.
type Program = fn(&Lab, bool) -> u64;

const PROGRAMS: &[(&str, Program)] = &[
    ("fill and copy", fill_and_copy),
    ("the wait is in another stream", wrong_stream),
    ("the event is recorded too early", too_early),
    ("non-blocking beside the default stream", non_blocking),
    ("memory is used again", used_again),
    ("a chain without its middle", chain),
    ("a join of one of two", join),
    ("a copy from another device", devices),
    ("two launches", launches),
    ("a launch and a fill", launch_and_fill),
    ("two copies into pinned memory", into_pinned),
    ("a pinned source is used again", pinned_source),
    ("halves that overlap", halves),
    ("a host wait for another stream", host_wait),
    ("an event of before", old_event),
    ("a function of the host is no order", host_function),
    ("a kernel reads what a copy writes", kernel_reads),
    ("a peer reads too early", peer),
];

impl Lab {
    fn stream(&self) -> CUstream {
        self.gpu.stream(NON_BLOCKING)
    }

    fn event(&self) -> CUevent {
        self.gpu.event(2)
    }

    fn buffer(&self) -> CUdeviceptr {
        zeros(&self.gpu, BYTES)
    }

    /// Launches a kernel of the corpus of small ones.
    fn launch(&self, name: &std::ffi::CStr, stream: CUstream, arguments: &[u64]) {
        let function = sim::function(self.gpu.load(KERNELS), name);
        accepted(sim::launch(function, [1, 1], stream, arguments));
    }
}

/// Calls succeed, or fail because what was enqueued before has raced by now.
fn accepted(result: CUresult) {
    let raced = CUresult::CUDA_ERROR_LAUNCH_FAILED;
    assert!(result == CUresult::CUDA_SUCCESS || result == raced, "{result}");
}

fn fill(buffer: CUdeviceptr, stream: CUstream) {
    accepted(cuda!(cuMemsetD8Async(buffer, 1, BYTES, stream)));
}

fn copy(to: CUdeviceptr, from: CUdeviceptr, stream: CUstream) {
    accepted(cuda!(cuMemcpyAsync(to, from, BYTES, stream)));
}

fn record(event: CUevent, stream: CUstream) {
    accepted(cuda!(cuEventRecord(event, stream)));
}

fn wait(stream: CUstream, event: CUevent) {
    accepted(cuda!(cuStreamWaitEvent(stream, event, 0)));
}

/// Orders what comes in one stream after what is in another, if asked.
fn order(lab: &Lab, is_there: bool, before: CUstream, after: CUstream) {
    if is_there {
        let event = lab.event();
        record(event, before);
        wait(after, event);
    }
}

fn fill_and_copy(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    fill(x, one);
    order(lab, is_there, one, two);
    copy(y, x, two);
    x
}

fn wrong_stream(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    fill(x, one);
    order(lab, true, one, if is_there { two } else { lab.stream() });
    copy(y, x, two);
    x
}

fn too_early(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    let event = lab.event();
    record(event, one);
    fill(x, one);
    if is_there {
        record(event, one);
    }
    wait(two, event);
    copy(y, x, two);
    x
}

fn non_blocking(lab: &Lab, is_there: bool) -> u64 {
    let (x, y) = (lab.buffer(), lab.buffer());
    let stream = lab.gpu.stream(if is_there { 0 } else { NON_BLOCKING });
    fill(x, DEFAULT);
    copy(y, x, stream);
    x
}

fn used_again(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    copy(y, x, one);
    order(lab, is_there, one, two);
    fill(x, two);
    x
}

fn chain(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, z) = (lab.buffer(), lab.buffer(), lab.buffer());
    let (one, two, three) = (lab.stream(), lab.stream(), lab.stream());
    fill(x, one);
    order(lab, true, one, two);
    copy(y, x, two);
    order(lab, is_there, two, three);
    copy(z, y, three);
    y
}

fn join(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, z) = (lab.buffer(), lab.buffer(), lab.buffer());
    let (one, two, three) = (lab.stream(), lab.stream(), lab.stream());
    fill(x, one);
    fill(y, two);
    order(lab, true, one, three);
    order(lab, is_there, two, three);
    copy(z, x, three);
    copy(z, y, three);
    y
}

fn devices(lab: &Lab, is_there: bool) -> u64 {
    let (here, there) = (lab.buffer(), zeros(&lab.other, BYTES));
    let far = lab.other.stream(NON_BLOCKING);
    let done = lab.other.event(2);
    fill(there, far);
    record(done, far);
    lab.gpu.enter();
    let near = lab.stream();
    if is_there {
        wait(near, done);
    }
    copy(here, there, near);
    there
}

fn launches(lab: &Lab, is_there: bool) -> u64 {
    let (x, one, two) = (lab.buffer(), lab.stream(), lab.stream());
    lab.launch(c"increment", one, &[x]);
    order(lab, is_there, one, two);
    lab.launch(c"increment", two, &[x]);
    x
}

fn launch_and_fill(lab: &Lab, is_there: bool) -> u64 {
    let (x, one, two) = (lab.buffer(), lab.stream(), lab.stream());
    lab.launch(c"increment", one, &[x]);
    order(lab, is_there, one, two);
    fill(x, two);
    x
}

fn into_pinned(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    let host = pinned(&lab.gpu, BYTES);
    copy(host, x, one);
    order(lab, is_there, one, two);
    copy(host, y, two);
    host
}

fn pinned_source(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    let host = pinned(&lab.gpu, BYTES);
    copy(x, host, one);
    order(lab, is_there, one, two);
    copy(host, y, two);
    host
}

fn halves(lab: &Lab, is_there: bool) -> u64 {
    let (x, one, two) = (lab.buffer(), lab.stream(), lab.stream());
    let half = BYTES / 2;
    ok!(cuMemsetD8Async(x, 1, half, one));
    let start = if is_there { half } else { half - 3 };
    accepted(cuda!(cuMemsetD8Async(x + start as u64, 2, half, two)));
    x
}

fn host_wait(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    fill(x, one);
    ok!(cuStreamSynchronize(if is_there { one } else { two }));
    copy(y, x, two);
    x
}

fn old_event(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    let (old, new) = (lab.event(), lab.event());
    fill(y, one);
    record(old, one);
    fill(x, one);
    record(new, one);
    ok!(cuEventSynchronize(if is_there { new } else { old }));
    copy(y, x, two);
    x
}

fn host_function(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    fill(x, one);
    sim::enqueue(if is_there { one } else { two }, || {});
    if !is_there {
        // So that it does not happen to run when the host knows of the fill, at the end.
        ok!(cuStreamSynchronize(two));
    }
    order(lab, true, if is_there { one } else { lab.stream() }, two);
    copy(y, x, two);
    x
}

fn kernel_reads(lab: &Lab, is_there: bool) -> u64 {
    let (x, y, one, two) = (lab.buffer(), lab.buffer(), lab.stream(), lab.stream());
    fill(x, one);
    order(lab, is_there, one, two);
    lab.launch(c"copy", two, &[y, x]);
    x
}

fn peer(lab: &Lab, is_there: bool) -> u64 {
    let (here, there) = (lab.buffer(), zeros(&lab.other, BYTES));
    let far = lab.other.stream(NON_BLOCKING);
    fill(there, far);
    if is_there {
        ok!(cuCtxSynchronize());
    }
    lab.gpu.enter();
    ok!(cuCtxEnablePeerAccess(lab.other.context, 0));
    lab.launch(c"copy", lab.stream(), &[here, there]);
    there
}

/// Runs a program on devices as new; the memory it may race on.
fn run(program: Program, is_there: bool) -> (u64, Vec<control::Report>) {
    let [gpu, other] = Gpu::take_several();
    control::clear_reports();
    let lab = Lab { gpu, other };
    let memory = program(&lab, is_there);
    for gpu in [&lab.gpu, &lab.other] {
        gpu.enter();
        let _ = cuda!(cuCtxSynchronize());
    }
    let reports = control::reports();
    drop(lab);
    control::reset().expect("no host function");
    (memory, reports)
}

#[test]
fn a_missing_order_is_reported_with_both_operations_and_what_is_missing() {
    in_child(CHECKED, || {
        for &(name, program) in PROGRAMS {
            let (memory, reports) = run(program, false);
            let report = reports.first().unwrap_or_else(|| panic!("{name}: not found"));
            let text = report.to_string();
            assert_eq!(report.kind, ReportKind::StreamRace, "{name}: {text}");
            let allocation = report.allocation.as_ref().expect("an allocation");
            assert_eq!(allocation.address, memory, "{name}: {text}");
            assert!(allocation.made.call > 0 && report.address.is_some(), "{name}: {text}");
            let actor = report.actor.as_ref().expect("an operation");
            let other = report.other.as_ref().expect("the other operation");
            assert_ne!(actor.stream, other.stream, "{name}: {text}");
            assert!(report.detail.contains("must wait for an event"), "{name}: {text}");
            let calls = [actor, other].map(|side| side.enqueued.as_ref().map(|site| site.call));
            assert!(calls[0].is_some() && calls[0] != calls[1], "{name}: {text}");
        }
    });
}

#[test]
fn programs_that_order_their_work_are_not_reported() {
    in_child(CHECKED, || {
        for &(name, program) in PROGRAMS {
            let (_, reports) = run(program, true);
            assert!(reports.is_empty(), "{name}: {}", reports[0]);
        }
    });
}
