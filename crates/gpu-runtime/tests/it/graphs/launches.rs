//! Launches: one operation, in order with all others.

use std::sync::mpsc::channel;

use gpu_runtime::{Device, Error, GraphExec, LaunchConfig, Stream, Timeline, Work};
use test_support::isolate;

use super::{add, captured, increment, stream};
use crate::fixture::{Gate, device, elementwise, fill, pinned, read, start, zeros};

#[test]
fn a_launch_comes_after_what_writes_its_memory_and_before_what_reads_it() {
    isolate(|| {
        let (before, main, after) = (stream(), stream(), stream());
        let (store, sum) = (elementwise(device(), "fill"), elementwise(device(), "add_to"));
        let (mut x, mut y) = (zeros(device(), 100), zeros(device(), 100));
        let into = pinned(100);
        let graph = captured(&main, |_| add(&sum, &main, &x, &mut y));
        let exec = graph.instantiate().expect("it is complete");
        let gate = Gate::hold(&before);
        fill(&store, &before, 7, &mut x).expect("the launch is taken");
        exec.launch(&main).expect("the launch is taken");
        let arriving = after.copy_dtoh_pinned(&y, into).expect("the copy is taken");
        // A write that must come after the launch has read.
        let own = stream();
        fill(&store, &own, 9, &mut x).expect("the launch is taken");
        assert!(!main.query().expect("it works") && !own.query().expect("it works"));
        gate.open();
        assert_eq!(*arriving.wait().expect("the device works"), [7; 100]);
        assert_eq!(read(&x), [9; 100]);
    })
    .run();
}

#[test]
fn launches_of_one_graph_come_one_after_the_other_on_whichever_streams_and_threads() {
    isolate(|| {
        let main = stream();
        let kernel = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 100);
        let graph =
            captured(&main, |_| (0..10).try_for_each(|_| increment(&kernel, &main, &mut buffer)));
        let execs = [(); 2].map(|()| graph.instantiate().expect("it is complete"));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let exec = &execs[thread % 2];
                scope.spawn(move || {
                    let stream = stream();
                    (0..20).for_each(|_| exec.launch(&stream).expect("the launch is taken"));
                });
            }
        });
        assert_eq!(read(&buffer), [1600; 100]);
    })
    .run();
}

#[test]
fn a_launch_in_a_capture_becomes_part_of_that_graph() {
    isolate(|| {
        let (main, side) = (stream(), stream());
        let kernel = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 100);
        let inner = captured(&main, |_| increment(&kernel, &main, &mut buffer));
        let exec = inner.instantiate().expect("it is complete");
        let outer = captured(&main, |_| {
            exec.launch(&main)?;
            increment(&kernel, &side, &mut buffer)?;
            exec.launch(&main)
        });
        drop((inner, exec));
        let outer = outer.instantiate().expect("it is complete");
        (0..3).for_each(|_| outer.launch(&side).expect("the launch is taken"));
        assert_eq!(read(&buffer), [9; 100]);
    })
    .run();
}

#[test]
fn a_graph_can_be_dropped_while_it_runs() {
    isolate(|| {
        let (main, kernel) = (stream(), elementwise(device(), "increment"));
        let mut buffer = zeros(device(), 100);
        let into = pinned(100);
        let exec: GraphExec = {
            let graph = captured(&main, |_| increment(&kernel, &main, &mut buffer));
            graph.instantiate().expect("it is complete")
        };
        let gate = Gate::hold(&main);
        exec.launch(&main).expect("the launch is taken");
        let arriving = main.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
        drop((exec, kernel, buffer));
        gate.open();
        assert_eq!(*arriving.wait().expect("the device works"), [1; 100]);
    })
    .run();
}

#[test]
fn a_late_error_names_the_graph() {
    isolate(|| {
        start();
        let device = Device::get(0).expect("a device");
        let (stream, module) = (
            Stream::new(device).expect("a stream"),
            device.load(include_str!("../../ptx/faults.ptx")).expect("it loads"),
        );
        let wild = module.function("write_nowhere").expect("the kernel exists");
        let graph = captured(&stream, |_| {
            let config = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
            // SAFETY: the fault is what the test is about.
            unsafe { wild.launch(&stream, config, ()) }
        });
        graph.instantiate().expect("it is complete").launch(&stream).expect("it is taken");
        let error = stream.synchronize().expect_err("the kernel writes where nothing is");
        let Error::DeviceLost { launch: Some(launch), .. } = &error else { panic!("{error}") };
        assert!(matches!(launch.work, Work::Graph { .. }), "{error}");
    })
    .run();
}

#[test]
fn a_timeline_has_launches_as_one_operation() {
    isolate(|| {
        let (stream, kernel) = (stream(), elementwise(device(), "increment"));
        let mut buffer = zeros(device(), 100);
        let graph = captured(&stream, |_| {
            (0..3).try_for_each(|_| increment(&kernel, &stream, &mut buffer))
        });
        let exec = graph.instantiate().expect("it is complete");
        let timeline = Timeline::start([device()]).expect("it can be started");
        exec.launch(&stream).expect("the launch is taken");
        let trace = timeline.finish().expect("the device works");
        let [launch] = trace.operations.as_slice() else { panic!("{:?}", trace.operations) };
        assert_eq!(launch.work.to_string(), "a graph of 3 nodes");
        assert!(launch.time.is_some(), "{launch:?}");
    })
    .run();
}

#[test]
fn other_threads_go_on_while_one_captures() {
    isolate(|| {
        start();
        let (told, results) = channel();
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let told = told.clone();
                scope.spawn(move || {
                    let (main, side) = (stream(), stream());
                    let kernel = elementwise(device(), "increment");
                    let mut buffer = zeros(device(), 64);
                    for _ in 0..10 {
                        if thread % 2 == 0 {
                            let graph = captured(&main, |_| {
                                increment(&kernel, &main, &mut buffer)?;
                                increment(&kernel, &side, &mut buffer)
                            });
                            let exec = graph.instantiate().expect("it is complete");
                            exec.launch(&main).expect("the launch is taken");
                        } else {
                            increment(&kernel, &main, &mut buffer).expect("it is taken");
                            increment(&kernel, &side, &mut buffer).expect("it is taken");
                        }
                    }
                    told.send(read(&buffer)).expect("somebody listens");
                });
            }
        });
        drop(told);
        assert_eq!(results.iter().collect::<Vec<_>>(), vec![vec![20; 64]; 6]);
    })
    .run();
}
