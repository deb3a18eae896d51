//! Programs that miss a wait between streams, or between devices.

use crate::ok;
use crate::sim::{DEFAULT, KERNELS};

use super::lab::*;

pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "no wait for the producer", run: producer, expected: &[1; LENGTH] },
    Program { name: "the wait is in another stream", run: wrong_stream, expected: &[1; LENGTH] },
    Program { name: "the event is recorded too early", run: too_early, expected: &[1; LENGTH] },
    Program { name: "the wait comes after the consumer", run: too_late, expected: &[1; LENGTH] },
    Program { name: "the event is recorded anew", run: anew, expected: &[1; LENGTH] },
    Program { name: "a non-blocking stream", run: non_blocking, expected: &[1; LENGTH] },
    Program { name: "a priority is no order", run: priority, expected: &[1; LENGTH] },
    Program { name: "memory is used again", run: reuse, expected: &[1; LENGTH] },
    Program { name: "a chain without its middle", run: chain, expected: &[2; LENGTH] },
    Program { name: "a join of one of two", run: join, expected: &[2; LENGTH] },
    Program { name: "two buffers taken in turn", run: turns, expected: &[1, 2, 3, 4] },
    Program { name: "a counter is set to zero", run: counter, expected: &[3] },
    Program { name: "a copy from another device", run: devices, expected: &[1; LENGTH] },
    Program { name: "a kernel reads from another device", run: peer, expected: &[1] },
    Program { name: "blocks are no order", run: blocks, expected: &[1, 2, 3, 4] },
];

fn producer(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, done) = (lab.buffer(0), lab.buffer(0), lab.event());
    let [one, two] = lab.streams();
    fill(x, 1, one);
    record(done, one);
    if there.is_there() {
        wait(two, done);
    }
    copy(y, x, two);
    lab.result(y)
}

fn wrong_stream(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, done) = (lab.buffer(0), lab.buffer(0), lab.event());
    let [one, two, three] = lab.streams();
    fill(x, 1, one);
    record(done, one);
    wait(if there.is_there() { two } else { three }, done);
    copy(y, x, two);
    lab.result(y)
}

fn too_early(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, done) = (lab.buffer(0), lab.buffer(0), lab.event());
    let [one, two] = lab.streams();
    record(done, one);
    fill(x, 1, one);
    if there.is_there() {
        record(done, one);
    }
    wait(two, done);
    copy(y, x, two);
    lab.result(y)
}

fn too_late(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, done) = (lab.buffer(0), lab.buffer(0), lab.event());
    let [one, two] = lab.streams();
    fill(x, 1, one);
    record(done, one);
    if there.is_there() {
        wait(two, done);
    }
    copy(y, x, two);
    wait(two, done);
    lab.result(y)
}

fn anew(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y) = (lab.buffer(0), lab.buffer(0));
    let events = [lab.event(), lab.event()];
    let [one, two, three] = lab.streams();
    fill(x, 1, one);
    record(events[0], one);
    record(events[usize::from(there.is_there())], three);
    wait(two, events[0]);
    copy(y, x, two);
    lab.result(y)
}

fn non_blocking(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y) = (lab.buffer(0), lab.buffer(0));
    let other = lab.stream_with(u32::from(!there.is_there()), 0);
    fill(x, 1, DEFAULT);
    copy(y, x, other);
    lab.result(y)
}

fn priority(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, done) = (lab.buffer(0), lab.buffer(0), lab.event());
    let (first, second) = (lab.stream_with(1, -5), lab.stream_with(1, 0));
    fill(x, 1, first);
    record(done, first);
    if there.is_there() {
        wait(second, done);
    }
    copy(y, x, second);
    lab.result(y)
}

/// A program that keeps memory for later gives it to another stream.
fn reuse(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, given_back) = (lab.buffer(1), lab.buffer(0), lab.event());
    let [one, two] = lab.streams();
    copy(y, x, one);
    record(given_back, one);
    if there.is_there() {
        wait(two, given_back);
    }
    fill(x, 7, two);
    lab.result(y)
}

fn chain(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, z) = (lab.buffer(0), lab.buffer(1), lab.buffer(0));
    let (filled, copied) = (lab.event(), lab.event());
    let [one, two, three] = lab.streams();
    fill(x, 2, one);
    record(filled, one);
    wait(two, filled);
    copy(y, x, two);
    record(copied, two);
    wait(three, if there.is_there() { copied } else { filled });
    copy(z, y, three);
    lab.result(z)
}

fn join(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, y, z) = (lab.buffer(0), lab.buffer(0), lab.buffer(0));
    let (one_done, two_done) = (lab.event(), lab.event());
    let [main, one, two] = lab.streams();
    fill(x, 1, one);
    record(one_done, one);
    fill(y, 2, two);
    record(two_done, two);
    wait(main, one_done);
    if there.is_there() {
        wait(main, two_done);
    }
    copy(z, x, main);
    copy(z, y, main);
    lab.result(z)
}

/// One stream uploads into two buffers in turn, another one takes the values out.
fn turns(lab: &Lab, there: Wait) -> Vec<u32> {
    let (buffers, out) = ([lab.buffer(0), lab.buffer(0)], lab.buffer(0));
    let (full, empty) = ([lab.event(), lab.event()], [lab.event(), lab.event()]);
    let [upload, compute] = lab.streams();
    for index in 0..LENGTH {
        let turn = index % 2;
        if there.is_there() {
            wait(upload, empty[turn]);
        }
        fill(buffers[turn], index as u32 + 1, upload);
        record(full[turn], upload);
        wait(compute, full[turn]);
        let place = out + 4 * index as u64;
        ok!(cuMemcpyDtoDAsync_v2(place, buffers[turn], 4, compute));
        record(empty[turn], compute);
    }
    lab.result(out)
}

fn counter(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, zeroed) = (lab.buffer(0), lab.event());
    let increment = lab.kernel(KERNELS, c"increment");
    let [one, two] = lab.streams();
    ok!(cuMemsetD32Async(x, 0, 2, one));
    record(zeroed, one);
    if there.is_there() {
        wait(two, zeroed);
    }
    (0..3).for_each(|_| launch(increment, 1, two, &[x]));
    lab.result(x)[..1].to_vec()
}

fn devices(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, filled, one) = (lab.buffer(0), lab.event(), lab.stream());
    lab.enter(1);
    let (y, two) = (lab.buffer(0), lab.stream());
    lab.enter(0);
    fill(x, 1, one);
    record(filled, one);
    lab.enter(1);
    if there.is_there() {
        wait(two, filled);
    }
    ok!(cuMemcpyPeerAsync(y, lab.context(1), x, lab.context(0), BYTES, two));
    lab.result(y)
}

fn peer(lab: &Lab, there: Wait) -> Vec<u32> {
    let (x, filled, one) = (lab.buffer(0), lab.event(), lab.stream());
    lab.enter(1);
    ok!(cuCtxEnablePeerAccess(lab.context(0), 0));
    let (y, two) = (lab.buffer(0), lab.stream());
    let kernel = lab.kernel(KERNELS, c"copy");
    lab.enter(0);
    ok!(cuMemsetD32Async(x, 1, 1, one));
    record(filled, one);
    lab.enter(1);
    if there.is_there() {
        wait(two, filled);
    }
    launch(kernel, 1, two, &[y, x]);
    lab.result(y)[..1].to_vec()
}

/// Each block adds one to what the block before it has written.
const STAIRS: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry stairs(.param .u64 out, .param .u64 first)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [first];
    mov.u32 %r1, %ctaid.x;
    cvt.u64.u32 %rd3, %r1;
    add.s64 %rd3, %rd3, %rd2;
    shl.b64 %rd4, %rd3, 2;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r2, [%rd5];
    add.s32 %r2, %r2, 1;
    st.global.u32 [%rd5+4], %r2;
    ret;
}
\0";

fn blocks(lab: &Lab, there: Wait) -> Vec<u32> {
    let mut out = 0;
    ok!(cuMemAlloc_v2(&mut out, 4 + BYTES));
    ok!(cuMemsetD32_v2(out, 0, LENGTH + 1));
    let (stairs, stream) = (lab.kernel(STAIRS, c"stairs"), lab.stream());
    ok!(cuCtxSynchronize());
    if there.is_there() {
        (0..LENGTH as u64).for_each(|first| launch(stairs, 1, stream, &[out, first]));
    } else {
        launch(stairs, LENGTH as u32, stream, &[out, 0]);
    }
    lab.result(out + 4)
}
