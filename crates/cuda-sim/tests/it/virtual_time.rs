//! Virtual time: what a model of an H200 says, by hand and by the driver.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cuda_sim::control::{self, Config, KernelWork, Time, TimeModel};
use cuda_sys::{CUcontext, CUdeviceptr, CUevent, CUresult, CUstream};

use crate::sim::{self, KERNELS, NON_BLOCKING, in_child};
use crate::{cuda, fails, ok};

const MODEL: TimeModel = TimeModel::H200;
const SIZE: usize = 16 << 20;

/// Starts a machine of eight devices in virtual time.
fn start(memory: u64) {
    let time = Time::Virtual(MODEL);
    let config = Config { devices: 8, memory_per_device: memory, time, ..Config::default() };
    control::configure(config).expect("nobody has initialised it yet");
    ok!(cuInit(0));
}

/// A device as new.
struct Gpu {
    context: CUcontext,
}

// SAFETY: a context's handle is a number, which any thread may pass to the driver.
unsafe impl Sync for Gpu {}

impl Gpu {
    fn new(ordinal: i32) -> Gpu {
        let mut context = ptr::null_mut();
        ok!(cuDevicePrimaryCtxRetain(&mut context, ordinal));
        let gpu = Gpu { context };
        gpu.enter();
        gpu
    }

    fn enter(&self) {
        ok!(cuCtxSetCurrent(self.context));
    }

    fn buffer(&self, bytes: usize) -> CUdeviceptr {
        self.enter();
        let mut pointer = 0;
        ok!(cuMemAlloc_v2(&mut pointer, bytes));
        pointer
    }

    fn stream(&self) -> CUstream {
        self.enter();
        let mut stream = ptr::null_mut();
        ok!(cuStreamCreate(&mut stream, NON_BLOCKING));
        stream
    }

    fn event(&self) -> CUevent {
        self.enter();
        let mut event = ptr::null_mut();
        ok!(cuEventCreate(&mut event, 0));
        event
    }

    /// Runs work between two events of a stream and returns what lies between.
    fn time(&self, stream: CUstream, work: impl FnOnce()) -> Duration {
        let (begin, end) = (self.event(), self.event());
        ok!(cuEventRecord(begin, stream));
        work();
        self.enter();
        ok!(cuEventRecord(end, stream));
        ok!(cuEventSynchronize(end));
        elapsed(begin, end)
    }
}

fn elapsed(begin: CUevent, end: CUevent) -> Duration {
    let mut milliseconds = 0.0;
    ok!(cuEventElapsedTime(&mut milliseconds, begin, end));
    Duration::from_secs_f64(f64::from(milliseconds) / 1e3)
}

fn pinned(bytes: usize) -> *mut std::ffi::c_void {
    let mut pointer = ptr::null_mut();
    ok!(cuMemAllocHost_v2(&mut pointer, bytes));
    pointer
}

fn now() -> Duration {
    control::virtual_now().expect("time is virtual")
}

/// Seconds that so many bytes take at so many bytes per second.
fn seconds(bytes: usize, bandwidth: f64) -> f64 {
    bytes as f64 / bandwidth
}

#[track_caller]
fn is_close(measured: Duration, by_hand: f64) {
    let ratio = measured.as_secs_f64() / by_hand;
    assert!((0.9..1.1).contains(&ratio), "{measured:?} is not {by_hand} seconds");
}

/// Runs a program 20 times beside threads that do nothing but run.
fn is_the_same_under_load<R: PartialEq + std::fmt::Debug>(program: impl Fn() -> R) -> R {
    /// Ends the load, also when the program panics.
    struct Load<'a>(&'a AtomicBool);
    impl Drop for Load<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    let idle = program();
    std::thread::scope(|scope| {
        let load = Load(&stop);
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let loaded: Vec<R> = (0..20).map(|_| program()).collect();
        drop(load);
        assert!(loaded.iter().all(|loaded| *loaded == idle), "{idle:?}, but {loaded:?}");
    });
    idle
}

/// Hands a program that copies so many bytes of page-locked memory to `run`.
fn upload(bytes: usize, run: impl FnOnce(&dyn Fn() -> Duration) -> Duration) {
    start(2 << 30);
    let gpu = Gpu::new(0);
    let (x, host, stream) = (gpu.buffer(bytes), pinned(bytes), gpu.stream());
    let copy = || gpu.time(stream, || ok!(cuMemcpyHtoDAsync_v2(x, host, bytes, stream)));
    is_close(run(&copy), seconds(bytes, 55e9));
}

#[test]
fn a_copy_of_page_locked_memory_takes_what_the_host_link_takes() {
    in_child(&[], || upload(SIZE, |copy| is_the_same_under_load(copy)));
}

/// Once: the copy is made, too, which takes a while.
#[test]
fn a_copy_of_a_gibibyte_takes_what_the_host_link_takes() {
    in_child(&[], || upload(1 << 30, |copy| copy()));
}

/// A copy and a kernel on two streams: how long each takes, and both together.
fn overlapped(gpu: &Gpu, x: CUdeviceptr, host: *mut std::ffi::c_void) -> [Duration; 3] {
    let [copies, kernels, main] = [(); 3].map(|()| gpu.stream());
    let mut module = ptr::null_mut();
    ok!(cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
    let kernel = sim::function(module, c"nothing");
    // A quarter of a millisecond's worth of memory traffic.
    control::declare_kernel("nothing", |_, _, _| KernelWork {
        bytes: MODEL.memory / 4000,
        instructions: 0,
    });
    let copy = || ok!(cuMemcpyHtoDAsync_v2(x, host, SIZE, copies));
    let launch = || assert_eq!(sim::launch(kernel, [1, 1], kernels, &[]), CUresult::CUDA_SUCCESS);
    let alone = [gpu.time(copies, copy), gpu.time(kernels, launch)];
    let (fork, joins) = (gpu.event(), [gpu.event(), gpu.event()]);
    let both = gpu.time(main, || {
        ok!(cuEventRecord(fork, main));
        for (stream, join) in [copies, kernels].into_iter().zip(joins) {
            ok!(cuStreamWaitEvent(stream, fork, 0));
            if stream == copies {
                copy()
            } else {
                launch()
            }
            ok!(cuEventRecord(join, stream));
            ok!(cuStreamWaitEvent(main, join, 0));
        }
    });
    [alone[0], alone[1], both]
}

#[test]
fn a_copy_and_a_kernel_on_two_streams_overlap() {
    in_child(&[], || {
        start(256 << 20);
        let gpu = Gpu::new(0);
        let (x, host) = (gpu.buffer(SIZE), pinned(SIZE));
        let times = is_the_same_under_load(|| overlapped(&gpu, x, host));
        is_close(times[0], seconds(SIZE, 55e9));
        is_close(times[1], 0.25e-3);
        is_close(times[2], seconds(SIZE, 55e9));
    });
}

/// A device with its part in a broadcast.
struct Member {
    gpu: Gpu,
    buffer: CUdeviceptr,
    stream: CUstream,
    done: CUevent,
}

/// Copies from device to device, each after the one that brought the bytes to its source, and how
/// long all take.
fn broadcast(members: &[Member], copies: &[(usize, usize)]) -> Duration {
    let main = &members[0];
    main.gpu.time(main.stream, || {
        for (from, to) in copies.iter().map(|&(from, to)| (&members[from], &members[to])) {
            from.gpu.enter();
            ok!(cuEventRecord(from.done, from.stream));
            to.gpu.enter();
            ok!(cuStreamWaitEvent(to.stream, from.done, 0));
            let (to_context, from_context) = (to.gpu.context, from.gpu.context);
            let (target, source) = (to.buffer, from.buffer);
            let stream = to.stream;
            ok!(cuMemcpyPeerAsync(target, to_context, source, from_context, SIZE, stream));
        }
        for member in &members[1..] {
            member.gpu.enter();
            ok!(cuEventRecord(member.done, member.stream));
            ok!(cuStreamWaitEvent(main.stream, member.done, 0));
        }
    })
}

#[test]
fn a_broadcast_to_eight_devices_takes_what_its_shape_says() {
    const CHAIN: &[(usize, usize)] = &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)];
    const TREE: &[(usize, usize)] = &[(0, 4), (0, 2), (4, 6), (0, 1), (2, 3), (4, 5), (6, 7)];
    const STAR: &[(usize, usize)] = &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7)];
    in_child(&[], || {
        start(256 << 20);
        let members = [0, 1, 2, 3, 4, 5, 6, 7].map(|ordinal| {
            let gpu = Gpu::new(ordinal);
            let (buffer, stream, done) = (gpu.buffer(SIZE), gpu.stream(), gpu.event());
            Member { gpu, buffer, stream, done }
        });
        let all = || [CHAIN, TREE, STAR].map(|copies| broadcast(&members, copies));
        let [chain, tree, star] = is_the_same_under_load(all);
        // The copy, and what a stream loses from one operation to the next.
        let copy = seconds(SIZE, 450e9) + 1.5e-6;
        let hop = copy + 1e-6;
        // Five calls, and the way of the first copy to its device.
        let begin = 5.0 * 2e-6 + 3e-6;
        is_close(chain, begin + 7.0 * hop);
        is_close(tree, begin + 3.0 * hop);
        // All leave through the first device's port, and stand in line there.
        is_close(star, begin + 7.0 * copy);
    });
}

/// Two threads that copy at the same time to one device: how long each takes.
fn threads(sizes: [usize; 2]) -> [Duration; 2] {
    control::reset().expect("no host function");
    control::expect_host_threads(3).expect("time is virtual");
    let gpu = &Gpu::new(0);
    let parts = sizes.map(|bytes| {
        let (x, host) = (gpu.buffer(bytes), pinned(bytes).expose_provenance() as u64);
        (x, host, gpu.stream().addr(), bytes)
    });
    let before = now();
    std::thread::scope(|scope| {
        let threads = parts.map(|(x, host, stream, bytes)| {
            scope.spawn(move || {
                gpu.enter();
                let stream = ptr::without_provenance_mut(stream);
                for _ in 0..3 {
                    control::spend(Duration::from_micros(100)).expect("time is virtual");
                    ok!(cuMemcpyAsync(x, host, bytes, stream));
                    ok!(cuStreamSynchronize(stream));
                }
                now() - before
            })
        });
        threads.map(|thread| thread.join().expect("no panic"))
    })
}

#[test]
fn two_host_threads_share_a_link_the_same_way_each_time() {
    in_child(&[], || {
        start(256 << 20);
        let sizes = [SIZE / 2, SIZE / 4];
        let ends = is_the_same_under_load(|| threads(sizes));
        let [one, two] = sizes.map(|bytes| seconds(bytes, 55e9) + 1.5e-6);
        // Before each copy there are what the thread spends, the call, and the way to the device;
        // before the first one another call besides.
        let first = 2e-6 + 3.0 * (105e-6 + one);
        is_close(ends[0], first);
        // The other thread comes to the link while it is taken, each time.
        is_close(ends[1], first + two);
        let last = ends[0].max(ends[1]);
        control::wait_until(last).expect("time is virtual");
        assert!(now() >= last);
    });
}

#[test]
fn a_program_that_asks_in_a_loop_sees_work_end_when_its_clock_has_come_there() {
    in_child(&[], || {
        start(256 << 20);
        let gpu = Gpu::new(0);
        let (x, host, stream) = (gpu.buffer(SIZE), pinned(SIZE), gpu.stream());
        let event = gpu.event();
        let asked = is_the_same_under_load(|| {
            ok!(cuMemcpyHtoDAsync_v2(x, host, SIZE, stream));
            ok!(cuEventRecord(event, stream));
            let mut asked = 0;
            while cuda!(cuEventQuery(event)) == CUresult::CUDA_ERROR_NOT_READY {
                asked += 1;
            }
            ok!(cuStreamQuery(stream));
            asked
        });
        is_close(Duration::from_nanos(asked * MODEL.call), seconds(SIZE, 55e9));
    });
}

#[test]
fn an_event_that_lies_in_the_future_is_not_ready() {
    in_child(&[], || {
        start(256 << 20);
        let gpu = Gpu::new(0);
        let (x, stream, events) = (gpu.buffer(SIZE), gpu.stream(), [gpu.event(), gpu.event()]);
        ok!(cuEventRecord(events[0], stream));
        ok!(cuMemsetD8Async(x, 1, SIZE, stream));
        ok!(cuEventRecord(events[1], stream));
        fails!(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&mut 0.0, events[0], events[1]));
        fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
        control::spend(Duration::from_millis(1)).expect("time is virtual");
        ok!(cuStreamQuery(stream));
        is_close(elapsed(events[0], events[1]), seconds(SIZE, 4.35e12) + 7e-6);
    });
}

#[test]
fn kernels_take_what_their_code_and_their_threads_say() {
    in_child(&[], || {
        start(256 << 20);
        let gpu = Gpu::new(0);
        let (x, stream) = (gpu.buffer(64 << 20), gpu.stream());
        let mut module = ptr::null_mut();
        ok!(cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
        let blocks = sim::function(module, c"blocks");
        // Each thread stores four bytes.
        let (grid, threads) = (1 << 14, 1024);
        let time = gpu.time(stream, || {
            let launched = sim::launch(blocks, [grid, threads], stream, &[x]);
            assert_eq!(launched, CUresult::CUDA_SUCCESS);
        });
        let bytes = 4 * (grid * threads) as usize;
        is_close(time, seconds(bytes, 4.35e12) + 5e-6);
    });
}

#[test]
fn real_time_is_not_controlled() {
    in_child(&[], || {
        sim::start();
        let real = control::ControlError::RealTime;
        assert_eq!(control::virtual_now(), Err(real.clone()));
        assert_eq!(control::spend(Duration::ZERO), Err(real));
    });
}

/// A program that asks until another thread, whose clock is far ahead, lets it go on.
#[test]
fn a_thread_that_asks_in_a_loop_does_not_hold_up_those_that_are_far_ahead() {
    in_child(&[], || {
        start(256 << 20);
        let gpu = &Gpu::new(0);
        let (asked, own) = (gpu.stream(), gpu.stream());
        let gate = sim::Gate::close(asked);
        gate.wait_until_reached();
        control::spend(Duration::from_secs(10)).expect("time is virtual");
        let address = asked.addr();
        let (begun, begins) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                gpu.enter();
                let asked = ptr::without_provenance_mut(address);
                while cuda!(cuStreamQuery(asked)) == CUresult::CUDA_ERROR_NOT_READY {
                    let _ = begun.send(());
                }
            });
            begins.recv().expect("it asks");
            // What it waits for cannot come before this does.
            ok!(cuMemsetD8Async(gpu.buffer(64), 1, 64, own));
            ok!(cuStreamSynchronize(own));
            gate.open();
        });
    });
}
