//! The streams of each device: the default stream, and all that exist.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::handle::{Stream, StreamInner};
use crate::device::{PerDevice, TryOnce};
use crate::error::Result;
use crate::types::{Device, LaunchRecord};

/// The streams of one device.
struct DeviceStreams {
    default: TryOnce<Stream>,
    all: Mutex<Vec<Weak<StreamInner>>>,
    next_ordinal: AtomicU64,
}

static STREAMS: PerDevice<DeviceStreams> = PerDevice::new();

impl Default for DeviceStreams {
    fn default() -> DeviceStreams {
        DeviceStreams {
            default: TryOnce::new(),
            all: Mutex::default(),
            // 0 is the default stream.
            next_ordinal: AtomicU64::new(1),
        }
    }
}

/// The default stream of a device, which `create` creates at its first use.
///
/// # Errors
/// Those of `create`; the next caller tries again.
#[inline]
pub(super) fn default_stream(
    device: Device,
    create: impl FnOnce() -> Result<Stream>,
) -> Result<&'static Stream> {
    STREAMS.of(device).default.get_or_try_init(create)
}

/// The default stream of a device, if it was used.
pub(crate) fn existing_default_stream(device: Device) -> Option<&'static Stream> {
    STREAMS.of(device).default.get()
}

/// A number that no other stream of the device has.
pub(super) fn next_ordinal(device: Device) -> u64 {
    STREAMS.of(device).next_ordinal.fetch_add(1, Ordering::Relaxed)
}

/// Notes a stream, so that errors and waits which concern the whole device find it.
pub(super) fn register(stream: &Stream) {
    let all = &STREAMS.of(stream.device()).all;
    let mut streams = all.lock();
    // Only a full list is searched for dead streams: creating n streams then takes O(n) steps.
    if streams.len() == streams.capacity() {
        streams.retain(|stream| stream.strong_count() > 0);
    }
    streams.push(stream.downgrade());
}

/// The streams of a device that still exist.
pub(crate) fn streams(device: Device) -> Vec<Stream> {
    let streams = STREAMS.of(device).all.lock();
    streams.iter().filter_map(Stream::upgrade).collect()
}

/// The work on a device that is not known to be done, as far as the streams' ledgers remember it.
pub(crate) fn unfinished_work(device: Device) -> Vec<LaunchRecord> {
    streams(device).iter().flat_map(Stream::unfinished).collect()
}
