//! Streams that are held back while work is enqueued, so that only the enqueuing is measured.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use gpu_runtime::Stream;

use crate::error::Result;

/// Calls that are made before what they enqueued is done, so few that no driver's queue is full.
const ENQUEUED: u32 = 200;

/// The work of a sample, which is enqueued on a few streams.
pub(super) trait Enqueues {
    /// All streams that it enqueues on.
    fn streams(&self) -> &[Stream];

    /// The time of so many calls that enqueue something. The streams do nothing meanwhile: no
    /// worker of the driver competes for its locks, and no work is done before somebody would wait
    /// for it.
    fn sample(
        &mut self,
        calls: u32,
        mut call: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<Duration> {
        let mut time = Duration::ZERO;
        let mut left = calls;
        while left > 0 {
            let now = left.min(ENQUEUED);
            let held = hold(self.streams())?;
            let start = Instant::now();
            for _ in 0..now {
                call(self)?;
            }
            time += start.elapsed();
            drop(held);
            self.streams().iter().try_for_each(Stream::synchronize)?;
            left -= now;
        }
        Ok(time)
    }
}

/// Holds streams back until the result is dropped.
fn hold(streams: &[Stream]) -> Result<mpsc::Sender<()>> {
    let (held, released) = mpsc::channel();
    if let [first, ..] = streams {
        let gate = Stream::new(first.device())?;
        gate.add_callback(move || {
            // Nothing is ever sent.
            let _ = released.recv();
        })?;
        streams.iter().try_for_each(|stream| stream.wait_stream(&gate))?;
    }
    Ok(held)
}
