//! Streams that are held back for certain, and what is done before.

use std::sync::mpsc::{self, Sender};

use tensor::cuda::{self, Stream};
use tensor::{Device, Result};

/// Holds back all later work on a stream until the sender is dropped.
pub(crate) fn hold(stream: &Stream) -> Result<Sender<()>> {
    let (release, held) = mpsc::channel();
    stream.add_callback(move || held.recv().unwrap_or_default())?;
    Ok(release)
}

/// Does once what a test does again while a stream is held, and waits for it. Then its kernels are
/// loaded and its memory is there.
///
/// NVIDIA's driver waits for the whole device when it loads a module, and may do so for memory: also
/// for the callback that holds the stream, which waits for the test. It has one thread for the
/// callbacks of all streams too: while one waits, no other runs.
pub(crate) fn warm_up<T>(device: Device, work: impl FnOnce() -> Result<T>) -> Result<()> {
    drop(work()?);
    cuda::synchronize(device)
}
