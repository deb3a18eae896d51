//! The links between devices: whether what one sends arrives at the other as it was.

use std::sync::atomic::AtomicBool;

use super::host_staging::HostStaging;
use crate::device::{CachedItem, PerDevice, TryOnce};
use crate::error::{Error, Result};
use crate::memory::DeviceBuffer;
use crate::order::{MemoryUse, ordered};
use crate::order_mode::{Order, with_order};
use crate::stream::Stream;
use crate::types::{Access, Device};

/// The words of the pattern that is sent. Links break by the packet; this is many.
const WORDS: usize = 1 << 14;

/// The way from one device to another one.
struct PeerLink {
    /// Whether the driver lets this device access the other one's memory.
    open: AtomicBool,
    /// Whether the program lets kernels of this device do so.
    enabled: AtomicBool,
    /// The result of the test of the way. Of two devices, the one with the lower index has it for both.
    state: TryOnce<LinkState>,
}

/// The ways from each device to each other one.
static LINKS: PerDevice<PerDevice<PeerLink>> = PerDevice::new();

/// The result of testing the way between two devices.
enum LinkState {
    Sound,
    /// The bytes that are sent arrive as others. Copies are staged in the host: from the device with the
    /// lower index to the other, and back.
    Corrupt([HostStaging; 2]),
}

impl Default for PeerLink {
    fn default() -> PeerLink {
        let switch = || AtomicBool::new(false);
        PeerLink { open: switch(), enabled: switch(), state: TryOnce::new() }
    }
}

/// Whether the driver lets a device access another one's memory: a switch, which is changed by whoever
/// has changed it in the driver.
pub(super) fn open(of: Device, to: Device) -> &'static AtomicBool {
    &LINKS.of(of).of(to).open
}

/// Whether the program lets kernels of a device access another one's memory, which needs an open link.
pub(super) fn access(of: Device, to: Device) -> &'static AtomicBool {
    &LINKS.of(of).of(to).enabled
}

/// Tells of what a device keeps for copies that are staged in the host.
pub(crate) fn tell_cached(device: Device, tell: &mut dyn FnMut(CachedItem)) {
    for link in LINKS.of(device).all() {
        if let Some(LinkState::Corrupt(both)) = link.state.get() {
            both.iter().for_each(|staging| staging.tell_cached(tell));
        }
    }
}

/// Whether the way between two devices was tested.
pub(crate) fn is_tested(one: Device, other: Device) -> bool {
    link(one, other).state.get().is_some()
}

/// Whether the way between two devices can be trusted, in both directions. The first call sends a
/// pattern each way, and blocks until it has arrived.
pub(crate) fn is_sound(one: Device, other: Device) -> Result<bool> {
    let state = link(one, other).state.get_or_try_init(|| test(one.min(other), one.max(other)));
    state.map(|state| matches!(state, LinkState::Sound))
}

/// The staging that copies from one device to another must take, if the direct way is not sound.
#[inline]
pub(crate) fn staging(from: Device, to: Device) -> Option<&'static HostStaging> {
    match link(from, to).state.get()? {
        LinkState::Sound => None,
        LinkState::Corrupt(both) => Some(&both[usize::from(from > to)]),
    }
}

fn link(one: Device, other: Device) -> &'static PeerLink {
    LINKS.of(one.min(other)).of(one.max(other))
}

fn test(lower: Device, upper: Device) -> Result<LinkState> {
    let sound = with_order(Order::Automatic, || {
        Ok::<_, Error>(delivers(lower, upper)? && delivers(upper, lower)?)
    })?;
    if sound {
        return Ok(LinkState::Sound);
    }
    tracing::warn!(
        %lower,
        %upper,
        "what one of the two devices sends to the other arrives as something else: copies between \
         them go through the host from now on, and neither gets access to the other's memory"
    );
    Ok(LinkState::Corrupt([HostStaging::new(lower, upper)?, HostStaging::new(upper, lower)?]))
}

/// Whether a pattern arrives as it was sent.
fn delivers(from: Device, to: Device) -> Result<bool> {
    /// Spreads the bits of small numbers (2^32 divided by the golden ratio).
    const SPREAD: u32 = 0x9E37_79B9;
    let pattern: Vec<u32> = (1..=WORDS as u32).map(|word| word.wrapping_mul(SPREAD)).collect();
    let (sender, receiver) = (Stream::new(from)?, Stream::new(to)?);
    let sent = sender.copy_htod(&pattern)?;
    let received = DeviceBuffer::<u32>::zeroed(&receiver, WORDS)?;
    let uses =
        [MemoryUse::new(sent.uses(), Access::Read), MemoryUse::new(received.uses(), Access::Write)];
    ordered(&receiver, &uses, || {
        // SAFETY: both buffers free their memory only when their uses are over.
        unsafe {
            receiver.enqueue_peer_directly(received.ptr(), to, sent.ptr(), from, sent.bytes())
        }
    })?;
    Ok(receiver.copy_dtoh(&received)?.wait()? == pattern)
}
