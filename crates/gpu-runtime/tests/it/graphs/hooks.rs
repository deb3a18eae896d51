//! What launches do beside the work of their graph: what comes before, and what is noted after.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use gpu_runtime::{CaptureProblem, DeviceBuffer, Error, Graph, Stream};
use test_support::isolate;

use super::{add, captured, increment, stream};
use crate::fixture::{device, elementwise, fill, read, zeros};

/// A graph that adds `x` to `total`, where each launch writes a number to `x` before: 1, 2, and so on.
fn counting(main: &Stream, total: &mut DeviceBuffer<u32>) -> Graph {
    let (store, sum) = (elementwise(device(), "fill"), elementwise(device(), "add_to"));
    let x = Arc::new(Mutex::new(zeros(device(), total.len())));
    captured(main, |capture| {
        let (launches, written) = (AtomicU32::new(0), Arc::clone(&x));
        capture.before_each_launch(move |stream| {
            let number = launches.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(fill(&store, stream, number, &mut written.lock().expect("no panic"))?)
        });
        let x = x.lock().expect("no panic");
        add(&sum, main, &x, total)
    })
}

#[test]
fn each_launch_finds_what_was_enqueued_before_it_on_whichever_streams_and_threads() {
    isolate(|| {
        let main = stream();
        let mut total = zeros(device(), 100);
        let graph = counting(&main, &mut total);
        let execs = [(); 2].map(|()| graph.instantiate().expect("it is complete"));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let exec = &execs[thread % 2];
                scope.spawn(move || {
                    let stream = stream();
                    (0..10).for_each(|_| exec.launch(&stream).expect("the launch is taken"));
                });
            }
        });
        assert_eq!(read(&total), [(1..=40).sum::<u32>(); 100]);
    })
    .run();
}

#[test]
fn a_launch_is_not_made_if_what_comes_before_it_fails() {
    isolate(|| {
        let (main, told) = (stream(), Arc::new(AtomicU32::new(0)));
        let kernel = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 100);
        let graph = captured(&main, |capture| {
            let launches = AtomicU32::new(0);
            capture.before_each_launch(move |_| match launches.fetch_add(1, Ordering::Relaxed) {
                1 => Err("the second one".into()),
                _ => Ok(()),
            });
            let told = Arc::clone(&told);
            capture.after_each_launch(move || _ = told.fetch_add(1, Ordering::Relaxed));
            increment(&kernel, &main, &mut buffer)
        });
        let exec = graph.instantiate().expect("it is complete");
        exec.launch(&main).expect("the launch is taken");
        let error = exec.launch(&main).expect_err("what comes before it fails");
        assert!(matches!(error, Error::BeforeLaunch { .. }), "{error:?}");
        assert!(error.to_string().contains("the second one"), "{error}");
        exec.launch(&main).expect("the launch is taken");
        assert_eq!(read(&buffer), [2; 100]);
        assert_eq!(told.load(Ordering::Relaxed), 2);
    })
    .run();
}

#[test]
fn a_graph_that_needs_something_before_its_launches_is_no_part_of_another() {
    isolate(|| {
        let (main, side) = (stream(), stream());
        let kernel = elementwise(device(), "increment");
        let (mut total, mut buffer) = (zeros(device(), 100), zeros(device(), 100));
        let inner = counting(&main, &mut total).instantiate().expect("it is complete");
        let outer = captured(&main, |_| {
            for stream in [&main, &side] {
                let refused = inner.launch(stream).expect_err("nobody would count");
                let problem = CaptureProblem::NeedsPreparation;
                assert!(matches!(refused, Error::Capture { problem: p, .. } if p == problem));
            }
            increment(&kernel, &main, &mut buffer)
        });
        outer.instantiate().and_then(|outer| outer.launch(&main)).expect("the capture went on");
        inner.launch(&main).expect("the launch is taken");
        assert_eq!((read(&buffer), read(&total)), (vec![1; 100], vec![1; 100]));
    })
    .run();
}

#[test]
fn each_launch_is_told_of_also_where_it_is_part_of_another() {
    isolate(|| {
        let (main, told) = (stream(), Arc::new(AtomicU32::new(0)));
        let kernel = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 100);
        let inner = captured(&main, |capture| {
            let told = Arc::clone(&told);
            capture.after_each_launch(move || _ = told.fetch_add(1, Ordering::Relaxed));
            increment(&kernel, &main, &mut buffer)
        });
        let inner = inner.instantiate().expect("it is complete");
        let outer = captured(&main, |_| inner.launch(&main));
        assert_eq!(told.load(Ordering::Relaxed), 0, "nothing was launched");
        let outer = outer.instantiate().expect("it is complete");
        (0..3).for_each(|_| outer.launch(&main).expect("the launch is taken"));
        inner.launch(&main).expect("the launch is taken");
        assert_eq!((told.load(Ordering::Relaxed), read(&buffer)), (4, vec![4; 100]));
    })
    .run();
}
