//! The memory of graphs: what they use lives as long as they do, and then goes.

use std::sync::Arc;

use cuda_sim::control::{Counters, counters};
use cuda_sys::CUresult;
use gpu_runtime::{
    Access, Capture, CaptureMode, CaptureProblem, Device, DeviceAllocation, DeviceBuffer, Error,
    Order, ordered, take_drop_errors, with_capture_mode, with_order,
};
use test_support::isolate;

use super::{add, captured, increment, stream};
use crate::fixture::{MemoryBaseline, device, elementwise, fill, pinned, read, start, zeros};

/// What the driver has for this process, once all that nobody uses any more was given back.
fn left() -> [usize; 7] {
    for device in Device::all().expect("a driver") {
        let _ = device.synchronize();
        device.release_idle_handles();
    }
    drop(pinned(0));
    let counters = counters();
    let Counters { streams, events, modules, allocations, host_allocations, .. } = counters;
    let Counters { graphs, executable_graphs, .. } = counters;
    [streams, events, modules, allocations, host_allocations, graphs, executable_graphs]
}

#[test]
fn what_a_graph_uses_lives_until_it_goes() {
    isolate(|| {
        const COUNT: usize = 512 << 10;
        let (main, store) = (stream(), elementwise(device(), "fill"));
        let sum = elementwise(device(), "add_to");
        let mut sums = zeros(device(), COUNT);
        let before = MemoryBaseline::now();
        let mut input = DeviceBuffer::<u32>::new(device(), COUNT).expect("memory");
        fill(&store, &main, 3, &mut input).expect("the launch is taken");
        let graph = captured(&main, |_| add(&sum, &main, &input, &mut sums));
        let exec = graph.instantiate().expect("it is complete");
        drop((input, graph, sum));
        for launch in 1..=3 {
            exec.launch(&main).expect("the launch is taken");
            // New memory does not take the place of the input.
            drop(zeros(device(), COUNT));
            assert_eq!(read(&sums)[0], 3 * launch);
        }
        device().synchronize().expect("the device works");
        before.is_less_by(4 * COUNT, "the graph has the input");
        drop(exec);
        device().synchronize().expect("the device works");
        before.is_less_by(0, "the graph is gone");
    })
    .run();
}

#[test]
fn nothing_is_left_of_graphs_that_were_captured_launched_abandoned_and_failed() {
    isolate(|| {
        start();
        {
            let (main, side) = (stream(), stream());
            let kernel = elementwise(device(), "increment");
            let mut buffer = zeros(device(), 100);
            let mut capture = |result: Result<(), Error>| {
                main.capture(|_| {
                    increment(&kernel, &main, &mut buffer)?;
                    increment(&kernel, &side, &mut buffer)?;
                    result
                })
            };
            let (graph, ()) = capture(Ok(())).expect("it can be captured");
            capture(Err(Error::NotCompiledIn)).expect_err("the closure fails");
            let execs: Vec<_> = (0..5).map(|_| graph.instantiate().expect("it is")).collect();
            execs.iter().for_each(|exec| exec.launch(&side).expect("the launch is taken"));
            execs[0].update(&graph).expect("it is the same");
            assert_eq!(read(&buffer), [10; 100]);
        }
        assert_eq!(left(), [0; 7]);
        assert!(take_drop_errors().is_empty());
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}

#[test]
fn page_locked_memory_is_read_at_each_launch() {
    isolate(|| {
        let stream = stream();
        let mut source = pinned(100);
        let buffer = zeros(device(), 100);
        let graph = captured(&stream, |_| {
            ordered(&stream, &[(buffer.uses(), Access::Write)], || {
                // SAFETY: both outlive the launches, which the test waits for.
                unsafe { stream.enqueue_htod(buffer.ptr(), source.as_ptr().cast(), 400) }
            })
        });
        let exec = graph.instantiate().expect("it is complete");
        for value in 1..4 {
            source.fill(value);
            exec.launch(&stream).expect("the launch is taken");
            assert_eq!(read(&buffer), [value; 100]);
        }
    })
    .run();
}

#[test]
fn memory_of_the_capture_holds_nothing_before_the_graph_is_launched() {
    isolate(|| {
        let (main, other) = (stream(), stream());
        let memory = Arc::new(DeviceAllocation::new(device(), 400).expect("memory"));
        let (graph, record) = main
            .capture(|capture| -> Result<_, Error> {
                let record = capture.record(&main, false);
                capture.attach(Arc::clone(&memory)).expect("the only one of its type");
                ordered(&main, &[(&*record, Access::Write)], || {
                    // SAFETY: the graph keeps the memory.
                    unsafe { main.enqueue_fill(memory.ptr(), 1, 400) }
                })?;
                Ok(record)
            })
            .expect("it can be captured");
        assert_eq!(graph.inputs(), 0, "it is not from outside");
        let touch =
            |order| with_order(order, || ordered(&other, &[(&*record, Access::Read)], || Ok(())));
        for order in [Order::Automatic, Order::Manual] {
            let refused = touch(order);
            let problem = CaptureProblem::NeverLaunched;
            assert!(
                matches!(&refused, Err(Error::Capture { problem: p, .. }) if *p == problem),
                "{refused:?}"
            );
        }
        let exec = graph.instantiate().expect("it is complete");
        exec.launch(&main).expect("the launch is taken");
        touch(Order::Automatic).expect("it was filled");
        let points = record.snapshot().points().count();
        assert_eq!(points, 2, "the launch is a write, and then there was a read");
        assert_eq!(Arc::strong_count(&memory), 2, "the graph keeps it");
        drop((graph, exec));
        device().synchronize().expect("the device works");
        assert_eq!(Arc::strong_count(&memory), 1);
        record.release(None, |_| ());
    })
    .run();
}

#[test]
fn without_memory_a_capture_goes_on_or_leaves_nothing() {
    isolate(|| {
        start();
        {
            let (main, kernel) = (stream(), elementwise(device(), "increment"));
            let mut buffer = zeros(device(), 100);
            let all = device().memory_info().expect("memory").total;
            let too_much = || DeviceAllocation::new(device(), all);
            let (graph, ()) = main
                .capture(|_| {
                    increment(&kernel, &main, &mut buffer)?;
                    let refused = with_capture_mode(CaptureMode::Relaxed, too_much);
                    assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
                    increment(&kernel, &main, &mut buffer)
                })
                .expect("the capture goes on");
            let failed = main.capture(|_| {
                increment(&kernel, &main, &mut buffer)?;
                with_capture_mode(CaptureMode::Relaxed, too_much).map(drop)
            });
            assert!(matches!(failed, Err(Error::OutOfMemory { .. })), "{failed:?}");
            graph.instantiate().expect("it is complete").launch(&main).expect("it is taken");
            assert_eq!(read(&buffer), [2; 100]);
        }
        assert_eq!(left(), [0; 7]);
    })
    .env("GPU_DRIVER", "software:1")
    .run();
}

#[test]
fn a_device_that_dies_gives_back_what_graphs_had() {
    isolate(|| {
        start();
        {
            let (main, kernel) = (stream(), elementwise(device(), "increment"));
            let mut buffer = zeros(device(), 100);
            let graph = captured(&main, |_| increment(&kernel, &main, &mut buffer));
            let exec = graph.instantiate().expect("it is complete");
            exec.launch(&main).expect("the launch is taken");
            let result = CUresult::CUDA_ERROR_ECC_UNCORRECTABLE;
            let fault = cuda_sim::control::InjectedFault::Dead { device: 0, result };
            cuda_sim::control::inject(&fault).expect("there is a device 0");
            assert!(matches!(exec.launch(&main), Err(Error::DeviceLost { .. })));
            let failed = main.capture(|_: &Capture| Ok::<_, Error>(()));
            assert!(matches!(failed, Err(Error::DeviceLost { .. })), "{failed:?}");
        }
        assert_eq!(left(), [0; 7]);
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}
