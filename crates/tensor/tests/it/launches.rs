//! The number of kernels that calls launch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpu_runtime::{EnqueuedWork, Observation, Observer, StreamId, Work, observe};
use tensor::{Device, Result, cuda};

/// Counts the kernels of a stream of its own.
pub(crate) struct LaunchCounter {
    stream: cuda::Stream,
    count: Arc<StreamCount>,
    _observation: Observation,
}

struct StreamCount {
    stream: StreamId,
    kernels: AtomicUsize,
}

impl LaunchCounter {
    pub(crate) fn new(device: Device) -> Result<LaunchCounter> {
        let stream = cuda::Stream::new(device)?;
        let count = Arc::new(StreamCount { stream: stream.id(), kernels: AtomicUsize::new(0) });
        let _observation = observe(count.clone());
        Ok(LaunchCounter { stream, count, _observation })
    }

    /// The kernels that a call launches, with the counter's stream as the current one.
    pub(crate) fn of<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<usize> {
        let _current = self.stream.enter()?;
        self.count.kernels.store(0, Ordering::SeqCst);
        call()?;
        Ok(self.count.kernels.load(Ordering::SeqCst))
    }
}

impl Observer for StreamCount {
    fn enqueued(&self, operation: &EnqueuedWork<'_>, _: Option<u64>) {
        if operation.stream.id() == self.stream && matches!(operation.work, Work::Kernel { .. }) {
            self.kernels.fetch_add(1, Ordering::SeqCst);
        }
    }
}
