//! Copies between two devices, in order with the streams of both.

use std::panic::Location;
use std::sync::Arc;

use super::{MemoryUse, ordered};
use crate::error::Result;
use crate::observe::at_place;
use crate::stream::{Stream, captures};

/// Enqueues a copy between two devices on the stream of the one that sends, as
/// [`ordered`](crate::ordered) does, and in order with all work of the stream of the one that receives,
/// whatever the order mode is: after what that was given before, and before what it is given later.
///
/// So a copy is one piece of work of both streams. It is what PyTorch does with the current streams of
/// the two devices, and what a program relies on that keeps order by itself
/// ([`Order::Manual`](crate::Order)): it sees one copy and no second stream. Where one of the streams is
/// being captured and the other is not, they have no common order.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
/// use gpu_runtime::{Access, Device, DeviceBuffer, Order, ordered_between, with_order};
///
/// let [here, there] = [Device::get(0)?, Device::get(1)?];
/// let (sender, receiver) = (here.default_stream()?, there.default_stream()?);
/// with_order(Order::Manual, || {
///     let source = sender.copy_htod(&[7u32; 100])?;
///     let copy = DeviceBuffer::<u32>::zeroed(&receiver, 100)?;
///     let uses = [(source.uses(), Access::Read), (copy.uses(), Access::Write)];
///     ordered_between(&sender, &receiver, &uses, || {
///         // SAFETY: both have 400 bytes, and their uses keep them until the copy is done.
///         unsafe { sender.enqueue_peer(copy.ptr(), there, source.ptr(), here, 400) }
///     })?;
///     assert_eq!(receiver.copy_dtoh(&copy)?.wait()?, [7; 100]);
///     Ok::<(), gpu_runtime::Error>(())
/// })?;
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
///
/// # Errors
/// As [`ordered`](crate::ordered), and the driver's for either stream.
#[track_caller]
pub fn ordered_between<'a, R, O: Into<MemoryUse<'a>> + Copy>(
    sender: &Stream,
    receiver: &Stream,
    operands: &[O],
    enqueue: impl FnOnce() -> Result<R>,
) -> Result<R> {
    at_place(Location::caller(), || {
        come_after(sender, receiver)?;
        let enqueued = ordered(sender, operands, enqueue);
        // Also after a failure: the copy may be on its way.
        let met = come_after(receiver, sender);
        enqueued.and_then(|result| met.map(|()| result))
    })
}

/// Makes later work on a stream come after another one's.
fn come_after(stream: &Stream, other: &Stream) -> Result<()> {
    let is_common = match (captures::joined(stream)?, captures::joined(other)?) {
        (None, None) => true,
        (Some(capture), Some(of_other)) => Arc::ptr_eq(&capture, &of_other),
        _ => false,
    };
    if is_common { stream.wait_stream(other) } else { Ok(()) }
}
