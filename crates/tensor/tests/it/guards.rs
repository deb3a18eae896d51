//! Host memory read through guards, while others want to write it.

use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;

use tensor::cuda::{self, Stream};
use tensor::{Blocking, DType, Device, Error, ReadGuard, Result, Tensor, tensor};
use test_support::isolate;

use crate::devices::{cuda_devices, for_each_device};
use crate::held::{hold, warm_up};
use crate::watchdog::ends;

#[test]
fn a_guard_is_a_slice_of_the_tensors_own_memory() -> Result<()> {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    assert_eq!(&x.read::<f32>()?[..], [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(&x.select(0, 1)?.read::<f32>()?[..], [3.0, 4.0]);
    let (whole, row) = (x.read::<f32>()?, x.select(0, 1)?.read::<f32>()?);
    assert!(std::ptr::eq(&whole[2], &row[0]), "nothing was copied");
    assert!(tensor![true, false]?.read::<bool>()?[0]);
    assert!(x.read::<f64>().is_err(), "another dtype");
    assert!(matches!(x.t()?.read::<f32>(), Err(Error::NotContiguous { .. })));
    let there = Tensor::zeros([2], cuda_devices()[0])?;
    assert!(matches!(there.read::<f32>(), Err(Error::NotOnHost { op: "read", .. })));
    Ok(())
}

#[test]
fn a_guard_of_heap_memory_is_a_snapshot_that_writes_leave_alone() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![1.0, 2.0, 3.0, 4.0]?;
        let (view, guard) = (x.narrow(0, 1, 2)?, x.read::<f32>()?);
        x.add_(1.0)?;
        assert_eq!(view.to_vec::<f32>()?, [3.0, 4.0], "views see the write");
        view.copy_(&Tensor::zeros([2], device)?)?;
        assert_eq!(x.to_vec::<f32>()?, [2.0, 0.0, 0.0, 5.0]);
        let later = x.read::<f32>()?;
        x.zero_()?;
        assert_eq!(
            (&guard[..], &later[..]),
            (&[1.0, 2.0, 3.0, 4.0][..], &[2.0, 0.0, 0.0, 5.0][..])
        );
        assert_eq!(x.to_vec::<f32>()?, [0.0; 4]);
        Ok(())
    })
}

#[test]
fn memory_is_copied_once_per_snapshot_and_not_when_nobody_reads() -> Result<()> {
    let x = Tensor::zeros([4], ())?;
    let first = |x: &Tensor| Ok::<_, Error>(x.read::<f32>()?.as_ptr());
    let before = first(&x)?;
    x.add_(1.0)?;
    assert_eq!(first(&x)?, before, "the guard is gone, so the memory stays");
    let guard = x.read::<f32>()?;
    x.add_(1.0)?;
    let moved = first(&x)?;
    assert_ne!(moved, before);
    x.add_(1.0)?;
    assert_eq!(first(&x)?, moved, "the guard's memory is another already");
    assert_eq!((guard[0], x.select(0, 0)?.item::<f32>()?), (1.0, 3.0));
    Ok(())
}

#[test]
fn a_guard_outlives_its_tensor_and_goes_to_other_threads() -> Result<()> {
    let guard: ReadGuard<f32> = tensor![1.0, 2.0]?.read()?;
    let sum = thread::spawn(move || guard.iter().sum::<f32>()).join().expect("no panic");
    assert_eq!(sum, 3.0);
    Ok(())
}

#[test]
fn a_forgotten_guard_keeps_its_memory_and_disturbs_nobody() -> Result<()> {
    for _ in 0..100 {
        let x = tensor![1.0, 2.0]?;
        test_support::forget(x.read::<f32>()?);
        x.add_(1.0)?;
        drop(x);
        let next = tensor![3.0, 4.0]?;
        next.add_(1.0)?;
        assert_eq!(next.to_vec::<f32>()?, [4.0, 5.0]);
    }
    Ok(())
}

#[test]
fn threads_that_write_what_the_other_reads_end() {
    isolate(|| {
        ends(|| {
            let (a, b) =
                (Tensor::zeros([64], ()).expect("made"), Tensor::zeros([64], ()).expect("made"));
            let both_read = Barrier::new(2);
            thread::scope(|scope| {
                for (read, written) in [(&a, &b), (&b, &a)] {
                    scope.spawn(|| {
                        let guard = read.read::<f32>().expect("on the host");
                        both_read.wait();
                        written.add_(1.0).expect("added");
                        assert_eq!(guard[..], [0.0; 64]);
                    });
                }
            });
            assert_eq!((&a + &b).expect("added").to_vec::<f32>().expect("values"), [2.0; 64]);
        });
    })
    .run();
}

#[test]
fn a_guard_that_is_held_while_its_thread_waits_for_a_writer_holds_nobody_up() {
    isolate(|| {
        ends(|| {
            let x = tensor![1.0].expect("made");
            let guard = x.read::<f32>().expect("on the host");
            let writer = thread::spawn({
                let x = x.clone();
                move || x.fill_(5.0).expect("written").item::<f32>().expect("its value")
            });
            assert_eq!((writer.join().expect("no panic"), guard[0]), (5.0, 1.0));
        });
    })
    .run();
}

#[test]
fn a_gradient_that_somebody_reads_is_added_to_and_asked_for() {
    isolate(|| {
        ends(|| {
            let w = Tensor::ones([4], ()).expect("made").requires_grad_(true).expect("a leaf");
            let backward = |w: &Tensor| w.sum(()).and_then(|sum| sum.backward()).expect("computed");
            backward(&w);
            let gradient = w.grad().expect("computed");
            let guard = gradient.read::<f32>().expect("on the host");
            let trainer = thread::spawn({
                let w = w.clone();
                move || backward(&w)
            });
            trainer.join().expect("no panic");
            assert_eq!(w.grad().expect("computed").to_vec::<f32>().expect("values"), [2.0; 4]);
            assert_eq!(guard[..], [1.0; 4]);
        });
    })
    .run();
}

#[test]
fn backward_passes_of_several_threads_lose_no_gradient() -> Result<()> {
    let w = Tensor::ones([4], ())?.requires_grad_(true)?;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    w.sum(()).and_then(|sum| sum.backward()).expect("computed");
                    assert!(
                        w.grad().expect("computed").read::<f32>().expect("on the host")[0] >= 1.0
                    );
                }
            });
        }
    });
    assert_eq!(w.grad().expect("computed").to_vec::<f32>()?, [200.0; 4]);
    Ok(())
}

/// Threads that read without a pause, and one that writes: it gets its turn.
#[test]
fn a_writer_gets_its_turn_among_readers_that_overlap() {
    isolate(|| {
        ends(|| {
            let w = Tensor::ones([1 << 20], ()).expect("made");
            let (written, end) = mpsc::channel();
            thread::scope(|scope| {
                for _ in 0..3 {
                    let (w, end) = (&w, written.clone());
                    scope.spawn(move || {
                        // Each sees the writer's number before it may stop.
                        while w.sum(()).expect("computed").item::<f32>().expect("its value") < 2e6 {
                        }
                        end.send(()).expect("the test waits");
                    });
                }
                w.add_(1.0).expect("added");
            });
            assert_eq!(end.try_iter().count(), 3);
        });
    })
    .run();
}

#[test]
fn threads_that_write_each_others_operands_neither_deadlock_nor_lose_additions() -> Result<()> {
    let (a, b) = (Tensor::zeros([64], DType::I64)?, Tensor::zeros([64], DType::I64)?);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (a, b) = if thread % 2 == 0 { (&a, &b) } else { (&b, &a) };
            scope.spawn(move || {
                for _ in 0..50 {
                    let guard = b.read::<i64>().expect("on the host");
                    a.add_(1).expect("added");
                    b.sub(a).expect("both are read");
                    assert!(guard.iter().all(|&element| element == guard[0]), "torn");
                }
            });
        }
    });
    assert_eq!(a.add(&b)?.to_vec::<i64>()?, [400; 64]);
    Ok(())
}

/// The place of a guard that an error names.
fn held_at(result: Result<Tensor>) -> u32 {
    match result {
        Err(Error::GuardHeld { location, .. }) if location.file() == file!() => location.line(),
        other => panic!("a guard lives: {other:?}"),
    }
}

#[test]
fn a_write_of_page_locked_memory_is_refused_to_every_thread_while_a_guard_lives() -> Result<()> {
    for device in cuda_devices() {
        let (x, there) = (tensor![1.0, 2.0]?.pin_memory()?, Tensor::ones([2], device)?);
        let (line, guard) = (line!(), x.read::<f32>()?);
        assert_eq!(held_at(x.add_(1.0)), line);
        assert_eq!(held_at(x.copy_(&there)), line);
        assert_eq!(held_at(x.copy_with(&there, Blocking::No)), line);
        let elsewhere = thread::scope(|scope| scope.spawn(|| held_at(x.zero_())).join());
        assert_eq!(elsewhere.expect("no panic"), line);
        there.copy_with(&x, Blocking::No)?;
        assert_eq!((&x + &x)?.to_vec::<f32>()?, [2.0, 4.0], "reading goes on");
        let later = x.read::<f32>()?;
        drop(guard);
        assert_eq!(held_at(x.narrow(0, 1, 1)?.fill_(3.0)), line + 8, "the second one lives");
        assert_eq!(later[..], [1.0, 2.0]);
        // In another thread than the one that took it.
        thread::spawn(move || drop(later)).join().expect("no panic");
        assert_eq!(x.add_(1.0)?.to_vec::<f32>()?, [2.0, 3.0]);
        assert_eq!(there.to_vec::<f32>()?, [1.0, 2.0]);
    }
    Ok(())
}

#[test]
fn a_forgotten_guard_of_page_locked_memory_disturbs_no_other_tensor() {
    isolate(|| {
        cuda_devices();
        for _ in 0..100 {
            let pinned = |x: Result<Tensor>| x.and_then(|x| x.pin_memory()).expect("made");
            let x = pinned(tensor![1.0, 2.0]);
            test_support::forget(x.read::<f32>().expect("on the host"));
            assert!(matches!(x.add_(1.0), Err(Error::GuardHeld { .. })));
            drop(x);
            let next = pinned(tensor![3.0, 4.0]).add_(1.0).expect("added");
            assert_eq!(next.to_vec::<f32>().expect("values"), [4.0, 5.0]);
        }
    })
    .run();
}

/// A thread reads what a stream is about to write. The stream waits for this thread, and this one
/// uses the same memory first: if the reader held that while it waits, nobody would go on.
#[test]
fn nothing_is_held_while_a_device_is_waited_for() {
    type Reader = fn(&Tensor, &Tensor) -> Vec<f32>;
    let readers: [Reader; 4] = [
        |pinned, _| pinned.to_vec().expect("values"),
        |pinned, _| pinned.add(0.0).and_then(|sum| sum.to_vec()).expect("values"),
        |pinned, heap| {
            heap.copy_(pinned).expect("copied");
            heap.to_vec().expect("values")
        },
        |pinned, heap| {
            let sum = heap.add_(pinned).expect("added");
            sum.to_vec().expect("values")
        },
    ];
    isolate(move || {
        ends(move || {
            for (device, reader) in
                cuda_devices().into_iter().flat_map(|device| readers.map(|reader| (device, reader)))
            {
                let [stream, side] = [(); 2].map(|()| Stream::new(device).expect("a stream"));
                let ones = Tensor::ones([4], device).expect("made");
                let copy = Tensor::zeros([4], device).expect("made");
                let pinned = Tensor::zeros([4], ()).and_then(|x| x.pin_memory()).expect("made");
                let heap = Tensor::zeros([4], ()).expect("made");
                cuda::synchronize(device).expect("it works");
                let release = hold(&stream).expect("taken");
                {
                    let _in = stream.enter().expect("its device works");
                    pinned.copy_with(&ones, Blocking::No).expect("enqueued");
                }
                thread::scope(|scope| {
                    let reader = scope.spawn(|| reader(&pinned, &heap));
                    // Whether the reader waits by now or not: both must be possible.
                    heap.add_(0.0).expect("nobody holds it");
                    let _in = side.enter().expect("its device works");
                    copy.copy_with(&pinned, Blocking::No).expect("enqueued");
                    drop(release);
                    assert_eq!(reader.join().expect("no panic"), [1.0; 4]);
                });
            }
        });
    })
    .run();
}

/// As above, for copies between a device and ordinary memory, which wait for the device: others write
/// what is copied, and whoever uses what is copied to comes after the copy.
#[test]
fn nothing_is_held_while_a_copy_of_ordinary_memory_waits_for_its_device() {
    isolate(|| {
        ends(|| {
            for device in cuda_devices() {
                for to_device in [true, false] {
                    let stream = Stream::new(device).expect("a stream");
                    let there = Tensor::ones([4], device).expect("made");
                    let here = Tensor::full([4], 5.0, ()).expect("made");
                    let snapshot = here.read::<f32>().expect("on the host");
                    warm_up(device, || {
                        let _in = stream.enter()?;
                        there.add(1.0)?.to(Device::Cpu)
                    })
                    .expect("its device works");
                    let release = hold(&stream).expect("taken");
                    let (begins, begun) = mpsc::channel();
                    thread::scope(|scope| {
                        let (stream, here, there) = (&stream, &here, &there);
                        let copies = scope.spawn(move || {
                            let _in = stream.enter().expect("its device works");
                            let (target, source) =
                                if to_device { (there, here) } else { (here, there) };
                            begins.send(()).expect("the test waits");
                            target.copy_(source).expect("copied");
                        });
                        begun.recv().expect("the thread runs");
                        // Whether the copy is enqueued by now or not.
                        match to_device {
                            true => here.add_(1.0).expect("nobody holds it"),
                            false => there.add_(1.0).expect("nobody holds it"),
                        };
                        drop(release);
                        copies.join().expect("no panic");
                    });
                    let values = |tensor: &Tensor| tensor.to_vec::<f32>().expect("values");
                    let (here, there) = (values(&here), values(&there));
                    match to_device {
                        true => assert!(here == [6.0; 4] && [5.0, 6.0].contains(&there[0])),
                        false => assert!(there == [2.0; 4] && [1.0, 2.0].contains(&here[0])),
                    }
                    assert_eq!(snapshot[..], [5.0; 4]);
                }
            }
        });
    })
    .run();
}
