//! Virtual time: asking for it, and telling what the driver cannot know.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::error::ControlError;
use crate::queue::in_host_function;
use crate::time::{self, KernelWork, OperationId};

/// The calling thread's virtual clock: what its calls, and the work that it has waited for, would
/// have taken since `cuInit` or the last reset.
///
/// ```
/// use std::time::Duration;
///
/// use cuda_sim::control::{self, Config, Time, TimeModel};
///
/// let time = Time::Virtual(TimeModel::H200);
/// control::configure(Config { time, ..Config::default() })?;
/// # unsafe { (cuda_sim::driver().cuInit)(0).ok()? };
/// let before = control::virtual_now()?;
/// let mut count = 0;
/// // SAFETY: `count` is writable.
/// unsafe { (cuda_sim::driver().cuDeviceGetCount)(&mut count).ok()? };
/// control::spend(Duration::from_millis(3))?;
/// let call = Duration::from_nanos(TimeModel::H200.call);
/// assert_eq!(control::virtual_now()? - before, call + Duration::from_millis(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ControlError::RealTime`], and [`ControlError::InHostFunction`], which has no clock.
pub fn virtual_now() -> Result<Duration, ControlError> {
    check()?;
    time::now().map(Duration::from_nanos).ok_or(ControlError::RealTime)
}

/// Says that the program does something that takes so long, between its calls of the driver. What
/// is not declared takes no time.
///
/// # Errors
/// As [`virtual_now`].
pub fn spend(duration: Duration) -> Result<(), ControlError> {
    check()?;
    time::spend(nanoseconds(duration));
    Ok(())
}

/// Says that the calling thread goes on no earlier than at that time: it has waited for another
/// thread whose clock said so.
///
/// ```
/// # use cuda_sim::control::{self, Config, Time, TimeModel};
/// # let time = Time::Virtual(TimeModel::H200);
/// # control::configure(Config { time, ..Config::default() })?;
/// # unsafe { (cuda_sim::driver().cuInit)(0).ok()? };
/// let worker = std::thread::spawn(|| {
///     control::spend(std::time::Duration::from_millis(5))?;
///     control::virtual_now()
/// });
/// let ended = worker.join().expect("no panic")?;
/// control::wait_until(ended)?;
/// assert!(control::virtual_now()? >= ended);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`virtual_now`].
pub fn wait_until(time: Duration) -> Result<(), ControlError> {
    check()?;
    time::advance(nanoseconds(time));
    Ok(())
}

/// Says how many host threads will call the driver, so that nothing is decided before each has
/// begun. A program that starts threads and wants the same times in each run says so first.
///
/// # Errors
/// As [`virtual_now`].
pub fn expect_host_threads(count: usize) -> Result<(), ControlError> {
    check()?;
    time::expect_threads(count);
    Ok(())
}

/// Says what launches of the kernels of that name do, given grid, block and parameter buffer, until
/// the next [`reset`](super::reset). Of kernels of which nothing is said, the driver counts each
/// instruction and each access once for each thread, as if loops ran once.
///
/// ```
/// use cuda_sim::control::{self, KernelWork};
///
/// // A product of square matrices, whose size is the last parameter.
/// control::declare_kernel("matmul", |_grid, _block, parameters| {
///     let size = parameters.last_chunk().copied().map_or(0, u32::from_le_bytes);
///     let size = u64::from(size);
///     KernelWork { bytes: 3 * 4 * size * size, instructions: size * size * size }
/// });
/// ```
pub fn declare_kernel(
    name: &str,
    work: impl Fn([u32; 3], [u32; 3], &[u8]) -> KernelWork + Send + Sync + 'static,
) {
    time::declare(name, Arc::new(work));
}

/// Makes the driver remember when operations begin and end, or no longer. While it does, ask now
/// and then ([`take_operation_times`]): nothing is forgotten before.
///
/// ```
/// use cuda_sim::control::{self, Config, Time, TimeModel};
///
/// let time = Time::Virtual(TimeModel::H200);
/// control::configure(Config { time, ..Config::default() })?;
/// let driver = cuda_sim::driver();
/// let (mut context, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
/// // SAFETY: what is written to is writable, and the handles are the driver's.
/// unsafe {
///     (driver.cuInit)(0).ok()?;
///     (driver.cuDevicePrimaryCtxRetain)(&mut context, 0).ok()?;
///     (driver.cuCtxSetCurrent)(context).ok()?;
///     (driver.cuStreamCreate)(&mut stream, 0).ok()?;
///     let mut memory = 0;
///     (driver.cuMemAlloc_v2)(&mut memory, 1000).ok()?;
///     control::tell_operation_times(true)?;
///     (driver.cuMemsetD8Async)(memory, 7, 1000, stream).ok()?;
///     let fill = control::take_last_operation().expect("it was enqueued");
///     (driver.cuStreamSynchronize)(stream).ok()?;
///     let times = control::take_operation_times()?;
///     let (_, time) = times.iter().find(|(operation, _)| *operation == fill).expect("it is done");
///     assert!(time.end - time.start >= std::time::Duration::from_nanos(TimeModel::H200.min_kernel));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`virtual_now`].
pub fn tell_operation_times(told: bool) -> Result<(), ControlError> {
    check()?;
    time::tell_spans(told);
    Ok(())
}

/// The operation that the calling thread has enqueued last, unless this was asked since; nothing
/// where time is real.
///
/// The launch of a graph is two operations of its stream, one right after the other: the first begins
/// it, and the second, which this gives, ends it.
pub fn take_last_operation() -> Option<OperationId> {
    time::take_last()
}

/// The times at which operations began and ended, of which that was decided since this was asked
/// last: all that come before what any thread has waited for, and perhaps more. Times are from
/// `cuInit` or the last reset, as [`virtual_now`] has them. An operation that waits begins when it
/// need not any more.
///
/// # Errors
/// As [`virtual_now`].
pub fn take_operation_times() -> Result<Vec<(OperationId, Range<Duration>)>, ControlError> {
    check()?;
    Ok(time::take_spans())
}

fn check() -> Result<(), ControlError> {
    match (in_host_function(), time::is_virtual()) {
        (true, _) => Err(ControlError::InHostFunction),
        (false, false) => Err(ControlError::RealTime),
        (false, true) => Ok(()),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
