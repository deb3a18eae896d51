//! Asynchronous execution: S14 to S17, S19.

use std::sync::mpsc;

use semantics::four_devices;
use tensor::cuda::{Event, Stream};
use tensor::{Blocking, Device, Result, Tensor, cuda, tensor};
use test_support::isolate;

/// Holds back everything that is enqueued on `stream` from now on, until the sender is dropped or
/// used.
fn hold(stream: &Stream) -> Result<mpsc::Sender<()>> {
    let (release, held) = mpsc::channel::<()>();
    stream.add_callback(move || _ = held.recv())?;
    Ok(release)
}

#[test]
fn s14_the_host_runs_ahead_of_the_device() -> Result<()> {
    four_devices();
    let device = Device::cuda_at(0);
    let side = Stream::new(device)?;
    let _in = side.enter()?;
    let x = Tensor::ones([1000], device)?;
    let release = hold(&side)?;
    let mut y = x.clone();
    for _ in 0..100 {
        y = (&y + &x)?;
    }
    assert!(!side.query()?, "nothing of this can have run: the stream is held back");
    drop(release);
    assert_eq!(y.to_vec::<f32>()?[999], 101.0);
    Ok(())
}

#[test]
fn s14_copies_wait_for_what_they_read() -> Result<()> {
    four_devices();
    let device = Device::cuda_at(1);
    let side = Stream::new(device)?;
    let _in = side.enter()?;
    let x = Tensor::zeros([4], device)?;
    let release = hold(&side)?;
    x.add_(&Tensor::ones([4], device)?)?;
    let reader = std::thread::spawn({
        let x = x.clone();
        move || -> Result<Vec<f32>> {
            let elsewhere = x.to(Device::cuda_at(2))?;
            elsewhere.add_(&Tensor::ones([4], Device::cuda_at(2))?)?;
            elsewhere.to_vec()
        }
    });
    drop(release);
    assert_eq!(reader.join().expect("the reader ends")?, [2.0; 4]);
    Ok(())
}

#[test]
fn s17_the_current_stream_is_per_thread_and_device_and_restored() -> Result<()> {
    four_devices();
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
fn s17_a_stream_guard_selects_the_streams_device() -> Result<()> {
    four_devices();
    let side = Stream::new(Device::cuda_at(2))?;
    {
        let _in = side.enter()?;
        assert_eq!(cuda::current_device()?, 2);
    }
    assert_eq!(cuda::current_device()?, 0);
    Ok(())
}

#[test]
fn s17_streams_run_at_the_same_time_and_wait_for_each_other_when_told() -> Result<()> {
    four_devices();
    let device = Device::cuda_at(0);
    let (first, second, third) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let release = hold(&first)?;

    let (ran, runs) = mpsc::channel();
    second.add_callback(move || _ = ran.send("second"))?;
    assert_eq!(runs.recv(), Ok("second"), "the second stream does not wait for the first");
    second.synchronize()?;

    third.wait_stream(&first)?;
    assert!(!third.query()?, "the third stream waits for the first");
    let event = first.record_event()?;
    assert!(!event.query()?);
    second.wait_event(&event)?;
    assert!(!second.query()?, "the second stream waits for the event");

    drop(release);
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
        assert!(error.contains("gather_f32"), "{error}");
    })
    .env("GPU_DRIVER", "software:2")
    .env("CUDA_LAUNCH_BLOCKING", "1")
    .run();
}

#[test]
fn s15_a_late_error_names_its_launch_and_the_device_stays_lost() {
    isolate(|| {
        let device = Device::cuda_at(0);
        let late = index_out_of_range().expect("it is only enqueued");
        let first = late.to_vec::<f32>().expect_err("waiting finds the error").to_string();
        assert!(first.contains("gather_f32"), "{first}");
        let later = Tensor::ones([2], device).and_then(|x| &x + &x);
        let later = later.expect_err("the device is lost").to_string();
        assert!(later.contains("cuda:0") && later.contains("gather_f32"), "{later}");
        drop(late);

        let other = Tensor::ones([2], Device::cuda_at(1)).and_then(|x| (&x + &x)?.to_vec::<f32>());
        assert_eq!(other.expect("the other device goes on"), [2.0, 2.0]);
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}

#[test]
fn s16_copies_between_pinned_memory_and_a_device_return_before_they_are_done() -> Result<()> {
    four_devices();
    let device = Device::cuda_at(3);
    let side = Stream::new(device)?;
    let _in = side.enter()?;
    let pinned = Tensor::ones([1000], ())?.pin_memory()?;
    let release = hold(&side)?;
    let on_device = pinned.to_with(device, Blocking::No)?;
    let back = (&on_device + 1.0)?.to_host_async()?;
    assert!(!side.query()?, "neither copy can be done: the stream is held back");
    drop((pinned, on_device));
    drop(release);
    assert_eq!(back.wait()?.to_vec::<f32>()?, [2.0; 1000]);
    Ok(())
}

#[test]
fn s19_events_mark_points_in_streams_and_measure_time_between_them() -> Result<()> {
    four_devices();
    let device = Device::cuda_at(2);
    let side = Stream::new(device)?;
    let (begin, end) = (Event::with_timing(), Event::with_timing());
    assert!(begin.query()?, "an event that was never recorded counts as complete");
    begin.record(&side)?;
    let release = hold(&side)?;
    end.record(&side)?;
    assert!(begin.query()? || begin.synchronize().is_ok());
    assert!(!end.query()?);
    assert!(begin.elapsed_time(&end).is_err(), "the end has not been reached");
    drop(release);
    end.synchronize()?;
    assert!(end.query()?);
    assert!(begin.elapsed_time(&end)? >= 0.0);

    let untimed = side.record_event()?;
    untimed.synchronize()?;
    assert!(begin.elapsed_time(&untimed).is_err(), "it was made without timing");
    Ok(())
}
