//! The execution context of a thread, which a thread that it starts should have too.

use std::marker::PhantomData;

use crate::current;
use crate::order_mode::{self, Order};
use crate::stream::Stream;
use crate::stream::captures::{self, EnteredCapture};
use crate::wait::{WaitMode, mode};

/// The calling thread's current device, current streams, order mode and wait mode, and the capture
/// that it is in, to be entered elsewhere.
///
/// A new thread begins on device 0, on default streams, with automatic order. Work that belongs to
/// the thread which started it should run where that one would run it:
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
/// use gpu_runtime::{Device, ExecutionContext};
///
/// let _one = Device::get(1)?.enter()?;
/// let context = ExecutionContext::capture();
/// std::thread::spawn(move || {
///     let _entered = context.enter();
///     assert_eq!(Device::current().unwrap().index(), 1);
/// })
/// .join()
/// .unwrap();
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ExecutionContext {
    device: u32,
    streams: Vec<Option<Stream>>,
    order: Order,
    wait_mode: Option<WaitMode>,
    capture: EnteredCapture,
}

/// Restores, when dropped, all that [`ExecutionContext::enter`] replaced. As with the other guards,
/// the last one dropped decides, and a forgotten one never restores.
#[must_use = "the context holds only until the guard is dropped"]
#[derive(Debug)]
pub struct ExecutionContextGuard {
    previous: Option<ExecutionContext>,
    _of_this_thread: PhantomData<*const ()>,
}

impl ExecutionContext {
    /// The context of the calling thread. It needs no driver and makes no call to one.
    pub fn capture() -> ExecutionContext {
        ExecutionContext {
            device: current::device_index(),
            streams: current::streams(),
            order: order_mode::current(),
            wait_mode: mode::mode_of_thread(),
            capture: captures::entered(),
        }
    }

    /// Makes this the context of the calling thread until the guard is dropped.
    pub fn enter(&self) -> ExecutionContextGuard {
        let previous = Some(self.clone().replace());
        ExecutionContextGuard { previous, _of_this_thread: PhantomData }
    }

    fn replace(self) -> ExecutionContext {
        ExecutionContext {
            device: current::replace_device(self.device),
            streams: current::replace_streams(self.streams),
            order: order_mode::replace(self.order),
            wait_mode: mode::replace_mode(self.wait_mode),
            capture: captures::replace(self.capture),
        }
    }
}

impl Drop for ExecutionContextGuard {
    fn drop(&mut self) {
        if let Some(previous) = self.previous.take() {
            for stream in previous.replace().streams.iter().flatten() {
                stream.mark();
            }
        }
    }
}
