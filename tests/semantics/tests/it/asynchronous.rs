//! Asynchronous execution: S14, S17.

use std::sync::mpsc;

use semantics::four_devices;
use tensor::cuda::Stream;
use tensor::{Device, Result, Tensor, cuda};

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
