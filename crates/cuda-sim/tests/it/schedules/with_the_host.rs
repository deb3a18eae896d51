//! Programs in which the host does not wait for a device, or a host function for a stream.

use std::sync::{Arc, Mutex};

use cuda_sys::CUstream;

use crate::cuda;
use crate::ok;
use crate::sim::{DEFAULT, enqueue};

use super::lab::*;

pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "the host reads too early", run: reads, expected: &[1; LENGTH] },
    Program { name: "the host waits for another stream", run: other, expected: &[1; LENGTH] },
    Program { name: "the host waits for an old event", run: old_event, expected: &[1; LENGTH] },
    Program { name: "an event that nobody recorded", run: unrecorded, expected: &[1; LENGTH] },
    Program { name: "the host writes too early", run: overwrites, expected: &[1; LENGTH] },
    Program { name: "the host writes too late", run: writes_late, expected: &[1; LENGTH] },
    Program { name: "host functions are no order", run: functions, expected: &[1, 2] },
    Program { name: "a host function reads too early", run: function, expected: &[1; LENGTH] },
    Program { name: "the default stream is not waited for", run: fills, expected: &[1; LENGTH] },
    Program { name: "one staging buffer for two", run: staging, expected: &[1, 2] },
];

fn reads(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host, stream) = (lab.buffer(1), lab.pinned(0), lab.stream());
    download(host, x, stream);
    if there.is_there() {
        synchronize(stream);
    }
    host.read()
}

fn other(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host) = (lab.buffer(0), lab.pinned(0));
    let [one, two] = lab.streams();
    fill(x, 1, one);
    download(host, x, one);
    synchronize(if there.is_there() { one } else { two });
    host.read()
}

fn old_event(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host, event) = (lab.buffer(1), lab.pinned(0), lab.event());
    let stream = lab.stream();
    record(event, stream);
    download(host, x, stream);
    if there.is_there() {
        record(event, stream);
    }
    ok!(cuEventSynchronize(event));
    host.read()
}

/// The program asks in a loop: asking must get it on.
fn unrecorded(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host, event) = (lab.buffer(1), lab.pinned(0), lab.event());
    let stream = lab.stream();
    download(host, x, stream);
    if there.is_there() {
        record(event, stream);
    }
    while cuda!(cuEventQuery(event)) != cuda_sys::CUresult::CUDA_SUCCESS {}
    host.read()
}

fn overwrites(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host, stream) = (lab.buffer(0), lab.pinned(1), lab.stream());
    upload(x, host, stream);
    if there.is_there() {
        synchronize(stream);
    }
    host.write(2);
    lab.result(x)
}

fn writes_late(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host, stream) = (lab.buffer(0), lab.pinned(0), lab.stream());
    if there.is_there() {
        host.write(1);
    }
    upload(x, host, stream);
    host.write(1);
    lab.result(x)
}

fn push(list: &Arc<Mutex<Vec<u32>>>, value: u32, stream: CUstream) {
    let list = Arc::clone(list);
    enqueue(stream, move || list.lock().expect("no panic").push(value));
}

fn functions(lab: &Lab, there: Wait) -> Vec<u32> {
    let list = Arc::default();
    let [one, two] = lab.streams();
    let called = lab.event();
    push(&list, 1, one);
    record(called, one);
    if there.is_there() {
        wait(two, called);
    }
    push(&list, 2, two);
    lab.finish();
    let list = list.lock().expect("no panic");
    list.clone()
}

fn function(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host, copied) = (lab.buffer(1), lab.pinned(0), lab.event());
    let [one, two] = lab.streams();
    download(host, x, one);
    record(copied, one);
    if there.is_there() {
        wait(two, copied);
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    enqueue(two, move || *sees.lock().expect("no panic") = host.read());
    lab.finish();
    let seen = seen.lock().expect("no panic");
    seen.clone()
}

/// Fills without a stream return before they are done.
fn fills(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, host, stream) = (lab.buffer(0), lab.pinned(0), lab.stream());
    ok!(cuMemsetD32_v2(x, 1, LENGTH));
    if there.is_there() {
        synchronize(DEFAULT);
    }
    download(host, x, stream);
    synchronize(stream);
    host.read()
}

fn staging(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, host) = (lab.buffer(0), lab.buffer(0), lab.pinned(1));
    let stream = lab.stream();
    upload(x, host, stream);
    if there.is_there() {
        synchronize(stream);
    }
    host.write(2);
    upload(y, host, stream);
    [lab.result(x)[0], lab.result(y)[0]].to_vec()
}
