//! What is captured: on which streams, by whom, and what is told of it.

use std::sync::{Arc, Mutex};

use gpu_runtime::{
    Access, CaptureMode, CaptureStatus, Device, EnqueuedWork, Event, ExecutionContext,
    MemoryAccess, Observer, Order, Stream, Work, observe, with_order,
};
use test_support::isolate;

use super::{add, captured, increment, stream};
use crate::fixture::{device, elementwise, fill, read, start, zeros};

#[test]
fn what_is_captured_runs_at_each_launch_and_not_before() {
    isolate(|| {
        let (stream, kernel) = (stream(), elementwise(device(), "increment"));
        let mut buffer = zeros(device(), 300);
        assert_eq!(stream.capture_status().expect("a driver"), CaptureStatus::None);
        let graph = captured(&stream, |capture| {
            assert!(device().current_stream()?.eq(&stream) && capture.id() > 0);
            assert_eq!(stream.capture_status()?, CaptureStatus::Active);
            (0..3).try_for_each(|_| increment(&kernel, &stream, &mut buffer))
        });
        assert_eq!(stream.capture_status().expect("a driver"), CaptureStatus::None);
        assert_eq!(stream.sequence(), 0, "nothing was enqueued");
        assert_eq!(read(&buffer), [0; 300]);
        let exec = graph.instantiate().expect("it is complete");
        for launch in 1..=5 {
            exec.launch(&stream).expect("the launch is taken");
            assert_eq!(read(&buffer), [3 * launch; 300]);
        }
        assert_eq!(stream.sequence(), 5, "a launch is one operation");
    })
    .run();
}

#[test]
fn streams_and_devices_take_part_by_themselves_where_order_is_automatic() {
    isolate(|| {
        start();
        let devices = Device::all().expect("a driver");
        let main = stream();
        let sides: Vec<_> =
            devices.iter().map(|device| Stream::new(*device).expect("a stream")).collect();
        let kernels: Vec<_> = devices.iter().map(|device| elementwise(*device, "fill")).collect();
        let mut buffers: Vec<_> = devices.iter().map(|device| zeros(*device, 100)).collect();
        let mut sums = zeros(devices[0], 100);
        let add_to = elementwise(devices[0], "add_to");
        let mut arrived = zeros(devices[0], 100);
        let graph = captured(&main, |_| {
            for (index, side) in sides.iter().enumerate() {
                fill(&kernels[index], side, index as u32 + 1, &mut buffers[index])?;
                main.copy_dtod(&buffers[index], &mut arrived)?;
                add(&add_to, &main, &arrived, &mut sums)?;
                assert_eq!(side.capture_status()?, CaptureStatus::Active);
            }
            Ok(())
        });
        for side in &sides {
            assert_eq!(side.capture_status().expect("a driver"), CaptureStatus::None);
            assert_eq!(side.sequence(), 0);
        }
        assert_eq!(graph.nodes().len(), 3 * devices.len());
        let exec = graph.instantiate().expect("it is complete");
        for launch in 1..4 {
            exec.launch(&main).expect("the launch is taken");
            let sum = (1..=devices.len() as u32).sum::<u32>();
            assert_eq!(read(&sums), [sum * launch; 100]);
        }
    })
    .run();
}

#[test]
fn under_manual_order_streams_take_part_that_wait_for_one_that_does() {
    isolate(|| {
        let (main, first, second, free) = (stream(), stream(), stream(), stream());
        let kernel = elementwise(device(), "increment");
        let [mut x, mut y, mut z] = [(); 3].map(|()| zeros(device(), 50));
        let (graph, ()) = with_order(Order::Manual, || {
            main.capture(|_| {
                increment(&kernel, &main, &mut x)?;
                first.wait_stream(&main)?;
                let event = Event::new();
                event.record(&main)?;
                second.wait_event(&event)?;
                increment(&kernel, &first, &mut x)?;
                increment(&kernel, &second, &mut y)?;
                // It takes no part, so this runs.
                increment(&kernel, &free, &mut z)?;
                main.wait_stream(&first)?;
                main.wait_event(&second.record_event()?)
            })
        })
        .expect("it can be captured");
        assert_eq!(read(&z), [1; 50]);
        let exec = graph.instantiate().expect("it is complete");
        exec.launch(&main).expect("the launch is taken");
        exec.launch(&main).expect("the launch is taken");
        assert_eq!((read(&x), read(&y)), (vec![4; 50], vec![2; 50]));
    })
    .run();
}

#[test]
fn other_threads_are_captured_only_where_they_take_over_the_context() {
    isolate(|| {
        let (main, own) = (stream(), stream());
        let kernel = elementwise(device(), "increment");
        let [mut ours, mut theirs] = [(); 2].map(|()| zeros(device(), 50));
        let graph = captured(&main, |_| {
            let context = ExecutionContext::capture();
            std::thread::scope(|scope| {
                let free = scope.spawn(|| increment(&kernel, &own, &mut theirs));
                free.join().expect("no panic")?;
                let worker = scope.spawn(|| {
                    let _entered = context.enter();
                    increment(&kernel, &device().current_stream()?, &mut ours)
                });
                worker.join().expect("no panic")
            })
        });
        assert_eq!((read(&ours), read(&theirs)), (vec![0; 50], vec![1; 50]));
        graph.instantiate().expect("it is complete").launch(&main).expect("it is taken");
        assert_eq!((read(&ours), read(&theirs)), (vec![1; 50], vec![1; 50]));
    })
    .run();
}

#[test]
fn a_guard_captures_until_it_ends_and_a_dropped_one_leaves_nothing() {
    isolate(|| {
        let (stream, kernel) = (stream(), elementwise(device(), "increment"));
        let mut buffer = zeros(device(), 50);
        for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
            let capture = stream.begin_capture(mode).expect("it can be captured");
            increment(&kernel, &stream, &mut buffer).expect("the launch is captured");
            drop(capture);
            let capture = stream.begin_capture(mode).expect("it can be captured");
            increment(&kernel, &stream, &mut buffer).expect("the launch is captured");
            assert_eq!(capture.end().expect("nothing is wrong").nodes().len(), 1);
        }
        assert_eq!(read(&buffer), [0; 50]);
    })
    .run();
}

#[test]
fn a_node_tells_what_it_does_where_it_was_asked_for_and_which_memory_it_uses() {
    isolate(|| {
        let (main, side) = (stream(), stream());
        let kernel = elementwise(device(), "add_to");
        let (x, mut y, mut z) = (zeros(device(), 50), zeros(device(), 50), zeros(device(), 50));
        let mut line = 0;
        let graph = captured(&main, |_| {
            add(&kernel, &side, &x, &mut y)?;
            line = line!() + 1;
            main.copy_dtod(&y, &mut z)
        });
        let [added, copied] = graph.nodes() else { panic!("two nodes") };
        assert_eq!(added.work.to_string(), "kernel `add_to`");
        assert_eq!((added.stream, copied.stream), (side.id(), main.id()));
        assert_eq!(
            *added.accesses,
            [MemoryAccess::read(x.ptr(), 200), MemoryAccess::write(y.ptr(), 200)]
        );
        assert_eq!((copied.place.line(), copied.place.file()), (line, file!()));
        assert_eq!(graph.inputs(), 3);
    })
    .run();
}

/// What was told, but records of events and waits.
#[derive(Default)]
struct Told(Mutex<Vec<(Work, Vec<MemoryAccess>, u32)>>);

impl Observer for Told {
    fn enqueued(&self, operation: &EnqueuedWork<'_>, sequence: Option<u64>) {
        if sequence.is_some() && !matches!(operation.work, Work::Record | Work::Wait) {
            let told =
                (operation.work.clone(), operation.accesses.to_vec(), operation.place.line());
            self.0.lock().expect("no panic").push(told);
        }
    }
}

#[test]
fn observers_hear_of_launches_with_all_that_the_nodes_access_and_not_of_captured_work() {
    isolate(|| {
        let (stream, kernel) = (stream(), elementwise(device(), "add_to"));
        let (x, mut y, mut z) = (zeros(device(), 50), zeros(device(), 50), zeros(device(), 50));
        let told = Arc::new(Told::default());
        let observation = observe(told.clone());
        let graph = captured(&stream, |_| {
            add(&kernel, &stream, &x, &mut y)?;
            add(&kernel, &stream, &y, &mut z)
        });
        assert!(told.0.lock().expect("no panic").is_empty());
        let exec = graph.instantiate().expect("it is complete");
        let line = line!() + 1;
        exec.launch(&stream).expect("the launch is taken");
        drop(observation);
        let told = told.0.lock().expect("no panic").clone();
        let [(work, accesses, at)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((work.to_string().as_str(), *at), ("a graph of 2 nodes", line));
        let Work::Graph { nodes } = work else { panic!("{work:?}") };
        assert_eq!(**nodes, *graph.nodes());
        let mut written: Vec<_> =
            accesses.iter().filter(|access| access.access == Access::Write).collect();
        written.sort_by_key(|access| access.start);
        assert_eq!(written.iter().map(|access| access.bytes).sum::<usize>(), 400);
        assert!(accesses.contains(&MemoryAccess::read(x.ptr(), 200)));
    })
    .run();
}
