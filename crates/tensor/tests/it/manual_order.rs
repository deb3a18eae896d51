//! Manual order: what the program forgets is its race on the device, and never the host's.

use std::sync::mpsc;

use gpu_runtime::{WaitMode, with_wait_mode};
use tensor::cuda::{self, Order, Stream};
use tensor::{Blocking, Error, Result, Tensor};

use crate::devices::cuda_devices;

#[test]
fn the_host_reads_what_copies_of_several_streams_have_written_once_all_are_done() -> Result<()> {
    let device = cuda_devices()[0];
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let (ones, twos) = (Tensor::ones([1024], device)?, Tensor::full([1024], 2.0f32, device)?);
    let host = Tensor::zeros([1024], ())?.pin_memory()?;
    cuda::synchronize(device)?;
    let (release, held) = mpsc::channel::<()>();
    first.add_callback(move || _ = held.recv())?;
    cuda::with_order(Order::Manual, || -> Result<()> {
        for (stream, source) in [(&first, &ones), (&second, &twos)] {
            let _in = stream.enter()?;
            host.copy_with(source, Blocking::No)?;
        }
        Ok(())
    })?;
    second.synchronize()?;
    // Whoever would have to wait is told so instead.
    let early = with_wait_mode(WaitMode::Fail, || host.read::<f32>().map(|guard| guard[0]));
    let is_refused = matches!(early, Err(Error::Runtime(gpu_runtime::Error::WaitRefused { .. })));
    assert!(is_refused, "the copy on the first stream still has to write: {early:?}");
    drop(release);
    assert_eq!(host.read::<f32>()?[..], [1.0; 1024], "the held copy comes last");
    Ok(())
}
