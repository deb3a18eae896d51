//! Asynchronous execution: S14 to S19.

use std::collections::BTreeSet;
use std::sync::mpsc;

use gpu_alloc::policy::BlockState;
use gpu_runtime::{RaceChecker, WaitMode, with_wait_mode};
use semantics::{choose_driver, devices, is_scheduled, last_device, warm_up};
use tensor::cuda::{Event, Stream};
use tensor::{Blocking, Device, Result, Tensor, cuda, tensor};
use test_support::isolate;

/// Holds back everything that is enqueued on a stream after it, until it is dropped.
struct Hold(Option<mpsc::Sender<()>>);

impl Hold {
    /// Where a schedule decides what runs, it does so here too: one piece of work at a time, while
    /// the host waits, so that none may wait for the host.
    fn back(stream: &Stream) -> Result<Hold> {
        if is_scheduled() {
            return Ok(Hold(None));
        }
        let (release, held) = mpsc::channel::<()>();
        stream.add_callback(move || _ = held.recv())?;
        Ok(Hold(Some(release)))
    }

    /// Nothing of what is held can be done.
    fn assert_not(&self, done: bool, why: &str) {
        assert!(self.0.is_none() || !done, "{why}");
    }
}

#[test]
pub(crate) fn s14_the_host_runs_ahead_of_the_device() -> Result<()> {
    choose_driver();
    let device = Device::cuda_at(0);
    let side = Stream::new(device)?;
    let _in = side.enter()?;
    let x = Tensor::ones([1000], device)?;
    warm_up(device, || &x + &x)?;
    let held = Hold::back(&side)?;
    let mut y = x.clone();
    for _ in 0..100 {
        y = (&y + &x)?;
    }
    held.assert_not(side.query()?, "nothing of this can have run: the stream is held back");
    drop(held);
    assert_eq!(y.to_vec::<f32>()?[999], 101.0);
    Ok(())
}

#[test]
pub(crate) fn s14_copies_wait_for_what_they_read() -> Result<()> {
    if !devices(3, s14_copies_wait_for_what_they_read) {
        return Ok(());
    }
    let device = Device::cuda_at(1);
    let side = Stream::new(device)?;
    let _in = side.enter()?;
    let far = Device::cuda_at(2);
    let (x, one) = (Tensor::zeros([4], device)?, Tensor::ones([4], far)?);
    let there = Stream::new(far)?;
    let _there = there.enter()?;
    let held = Hold::back(&side)?;
    x.add_(&Tensor::ones([4], device)?)?;
    let elsewhere = x.to(far)?;
    elsewhere.add_(&one)?;
    held.assert_not(there.query()?, "what the other device adds to has not been copied");
    // A copy to the host would have to wait: asked not to, it is not made.
    let copied = with_wait_mode(WaitMode::Fail, || x.to_vec::<f32>());
    held.assert_not(copied.is_ok(), "what it reads has not been written");
    drop(held);
    assert_eq!(elsewhere.to_vec::<f32>()?, [2.0; 4]);
    assert_eq!(x.to_vec::<f32>()?, [1.0; 4]);
    Ok(())
}

#[test]
pub(crate) fn s17_the_current_stream_is_per_thread_and_device_and_restored() -> Result<()> {
    if !devices(2, s17_the_current_stream_is_per_thread_and_device_and_restored) {
        return Ok(());
    }
    let device = Device::cuda_at(0);
    let default = cuda::current_stream(device)?;
    assert_eq!(default, cuda::default_stream(device)?);
    let side = Stream::new(device)?;
    assert_ne!(side, default);
    {
        let _in = side.enter()?;
        assert_eq!(cuda::current_stream(device)?, side);
        assert_eq!(
            cuda::current_stream(Device::cuda_at(1))?,
            cuda::default_stream(Device::cuda_at(1))?,
            "a stream is current on its own device only"
        );
        let other_thread = std::thread::scope(|scope| {
            scope.spawn(|| cuda::current_stream(device)).join().expect("the thread ends")
        })?;
        assert_eq!(other_thread, default);
    }
    assert_eq!(cuda::current_stream(device)?, default);
    Ok(())
}

#[test]
pub(crate) fn s17_a_stream_guard_selects_the_streams_device() -> Result<()> {
    if !devices(3, s17_a_stream_guard_selects_the_streams_device) {
        return Ok(());
    }
    let side = Stream::new(Device::cuda_at(2))?;
    {
        let _in = side.enter()?;
        assert_eq!(cuda::current_device()?, 2);
    }
    assert_eq!(cuda::current_device()?, 0);
    Ok(())
}

#[test]
pub(crate) fn s17_streams_run_at_the_same_time_and_wait_for_each_other_when_told() -> Result<()> {
    choose_driver();
    let device = Device::cuda_at(0);
    let (first, second, third) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let x = Tensor::zeros([1], device)?;
    let on_the_second = |value: f32| {
        let _in = second.enter()?;
        x.fill_(value)?.item::<f32>()
    };
    warm_up(device, || on_the_second(1.0))?;
    let held = Hold::back(&first)?;

    assert_eq!(on_the_second(2.0)?, 2.0, "the second stream does not wait for the first");
    second.synchronize()?;

    third.wait_stream(&first)?;
    held.assert_not(third.query()?, "the third stream waits for the first");
    let event = first.record_event()?;
    held.assert_not(event.query()?, "the event comes after what is held back");
    second.wait_event(&event)?;
    held.assert_not(second.query()?, "the second stream waits for the event");

    drop(held);
    cuda::synchronize(device)?;
    assert!(first.query()? && second.query()? && third.query()? && event.query()?);
    Ok(())
}

/// An operation that fails on the device, some time after it was enqueued.
fn index_out_of_range() -> Result<Tensor> {
    let device = Device::cuda_at(0);
    let x = Tensor::ones([3], device)?;
    x.gather(0, &tensor![7]?.to(device)?)
}

#[test]
fn s15_with_launch_blocking_the_call_that_caused_an_error_returns_it() {
    isolate(|| {
        let error = index_out_of_range().expect_err("index 7 of 3 elements").to_string();
        assert!(error.contains("kernel `gather_"), "{error}");
    })
    .env("GPU_DRIVER", "software:2")
    .env("CUDA_LAUNCH_BLOCKING", "1")
    .run();
}

#[test]
fn s15_a_late_error_names_its_launch_and_the_device_stays_lost() {
    isolate(|| {
        let device = Device::cuda_at(0);
        let x = Tensor::ones([3], device).expect("memory");
        cuda::synchronize(device).expect("nothing is wrong yet");
        // Of the kernels in flight it is neither the oldest nor the newest, nor alone on its stream.
        let older = Stream::new(device).expect("a stream");
        let held = Hold::back(&older).expect("held");
        let _waits = {
            let _in = older.enter().expect("entered");
            x.exp().expect("it is only enqueued")
        };
        let _before = (&x + &x).expect("it is only enqueued");
        let late = index_out_of_range().expect("it is only enqueued");
        let after = x.tanh();
        let first = late.to_vec::<f32>().expect_err("waiting finds the error").to_string();
        drop((held, after));
        assert!(first.contains("kernel `gather_"), "{first}");
        let later = Tensor::ones([2], device).and_then(|x| &x + &x);
        let later = later.expect_err("the device is lost").to_string();
        assert!(later.contains("cuda:0") && later.contains("kernel `gather_"), "{later}");
        drop(late);

        let other = Tensor::ones([2], Device::cuda_at(1)).and_then(|x| (&x + &x)?.to_vec::<f32>());
        assert_eq!(other.expect("the other device goes on"), [2.0, 2.0]);
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}

#[test]
pub(crate) fn s16_copies_between_pinned_memory_and_a_device_return_before_they_are_done()
-> Result<()> {
    choose_driver();
    let device = last_device();
    let side = Stream::new(device)?;
    let _in = side.enter()?;
    let pinned = Tensor::ones([1000], ())?.pin_memory()?;
    let there_and_back = || {
        let on_device = pinned.to_with(device, Blocking::No)?;
        (&on_device + 1.0)?.to_host_async()
    };
    warm_up(device, || there_and_back()?.wait())?;
    let held = Hold::back(&side)?;
    let back = there_and_back()?;
    held.assert_not(side.query()?, "neither copy can be done: the stream is held back");
    drop(pinned);
    drop(held);
    assert_eq!(back.wait()?.to_vec::<f32>()?, [2.0; 1000]);
    Ok(())
}

/// The seeds' incorrect program: fill on one stream, `sum` on another, and nobody waits.
pub(crate) fn sum_of_ones_filled_elsewhere() -> Result<f32> {
    let device = Device::cuda_at(0);
    let side = Stream::new(device)?;
    let a = Tensor::zeros([300], device)?;
    a.fill_(1.0)?;
    let _in = side.enter()?;
    a.sum(())?.item()
}

#[test]
pub(crate) fn s18_the_seeds_incorrect_program_is_correct() -> Result<()> {
    choose_driver();
    assert_eq!(sum_of_ones_filled_elsewhere()?, 300.0);
    Ok(())
}

#[test]
fn s18_in_manual_mode_it_is_a_race_that_checked_mode_reports_with_both_operations() {
    isolate(|| {
        let sum = cuda::with_order(cuda::Order::Manual, sum_of_ones_filled_elsewhere);
        let error = sum.and_then(|_| cuda::synchronize(Device::cuda_at(0)));
        let error = error.expect_err("it is a race").to_string();
        assert!(error.contains("race between operations"), "{error}");
        assert!(error.contains("fill_f32") && error.contains("sum_f32"), "{error}");
    })
    .env("GPU_DRIVER", "software:4")
    .env("CUDA_SIM_CHECK", "streams")
    .run();
}

#[test]
fn s18_in_manual_mode_it_is_a_race_that_the_race_checker_reports_with_both_operations() {
    isolate(|| {
        let checker = RaceChecker::start();
        let sum = cuda::with_order(cuda::Order::Manual, sum_of_ones_filled_elsewhere);
        sum.expect("nobody stops it");
        let races = checker.finish();
        let [race] = races.as_slice() else { panic!("{races:?}") };
        let report = race.to_string();
        assert!(report.contains("fill_f32") && report.contains("sum_f32"), "{report}");
        let places = [race.earlier.place, race.later.place].map(|place| place.file());
        assert_eq!(places, [file!(); 2], "{report}");
    })
    .env("GPU_DRIVER", "software:4")
    .env("CUDA_SIM_CHECK", "off")
    .run();
}

#[test]
pub(crate) fn s18_in_manual_mode_a_copy_between_devices_comes_in_order_on_both() -> Result<()> {
    if !devices(3, s18_in_manual_mode_a_copy_between_devices_comes_in_order_on_both) {
        return Ok(());
    }
    let [from, to] = [1, 2].map(Device::cuda_at);
    let (sender, receiver) = (Stream::new(from)?, Stream::new(to)?);
    let (_in, _and) = (sender.enter()?, receiver.enter()?);
    for late in [&sender, &receiver] {
        cuda::with_order(cuda::Order::Manual, || -> Result<()> {
            let held = Hold::back(late)?;
            let x = Tensor::full([1000], 7.0, from)?;
            let there = Tensor::full([1000], 3.0, to)?;
            let before = (&there + &there)?;
            there.copy_(&x)?;
            // What the sender does next must not reach the copy, nor the receiver go before it.
            x.fill_(5.0)?;
            let after = (&there + &there)?;
            let ends = [sender.query()?, receiver.query()?];
            held.assert_not(ends[0] || ends[1], "the copy is work of both, and one is held back");
            drop(held);
            let values = [x, before, after].map(|x| x.to_vec::<f32>());
            for (values, expected) in values.into_iter().zip([5.0, 6.0, 14.0]) {
                assert_eq!(values?, [expected; 1000]);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The addresses of the blocks that tensors hold.
fn held_addresses() -> Result<BTreeSet<u64>> {
    let segments = cuda::memory_snapshot()?.segments;
    let blocks = segments.into_iter().flat_map(|segment| segment.blocks);
    let held = blocks.filter(|block| block.state == BlockState::ActiveAllocated);
    Ok(held.map(|block| block.address).collect())
}

/// What is dropped while a stream is held back, with `record_stream` or without; whether the next
/// tensor gets its memory meanwhile.
fn is_reused_while_held(recorded: bool) -> Result<bool> {
    let device = last_device();
    let side = Stream::new(device)?;
    let a = Tensor::ones([100_000], device)?;
    let of_a = held_addresses()?;
    let held = Hold::back(&side)?;
    if recorded {
        a.record_stream(&side)?;
    }
    drop(a);
    let b = Tensor::zeros([100_000], device)?;
    let is_reused = held_addresses()? == of_a;
    drop(held);
    assert_eq!(b.to_vec::<f32>()?, [0.0; 100_000]);
    Ok(is_reused)
}

#[test]
fn s18_with_record_stream_the_memory_of_a_dropped_tensor_waits_for_the_stream() {
    isolate(|| {
        choose_driver();
        assert!(is_reused_while_held(false).expect("it works"), "nobody else uses the memory");
        let is_reused = is_reused_while_held(true).expect("it works");
        assert!(is_scheduled() || !is_reused, "the stream may still use the memory");
        let on_the_cpu = Tensor::ones([1], ()).expect("memory");
        let side = Stream::new(last_device()).expect("a stream");
        assert!(on_the_cpu.record_stream(&side).is_err(), "no device uses this memory");
    })
    .run();
}

#[test]
pub(crate) fn s19_events_mark_points_in_streams_and_measure_time_between_them() -> Result<()> {
    choose_driver();
    let device = last_device();
    let side = Stream::new(device)?;
    let (begin, end) = (Event::with_timing(), Event::with_timing());
    assert!(begin.query()?, "an event that was never recorded counts as complete");
    begin.record(&side)?;
    let held = Hold::back(&side)?;
    end.record(&side)?;
    begin.synchronize()?;
    assert!(begin.query()?, "what is held back comes after it");
    held.assert_not(end.query()?, "the end comes after what is held back");
    held.assert_not(begin.elapsed_time(&end).is_ok(), "the end has not been reached");
    drop(held);
    end.synchronize()?;
    assert!(end.query()?);
    assert!(begin.elapsed_time(&end)? >= 0.0);

    let untimed = side.record_event()?;
    untimed.synchronize()?;
    assert!(begin.elapsed_time(&untimed).is_err(), "it was made without timing");
    Ok(())
}
