//! Whether what one device sends to another arrives as it was.

use std::sync::atomic::AtomicBool;

use crate::buffer::DeviceBuffer;
use crate::device::Device;
use crate::error::Result;
use crate::once::TryOnce;
use crate::order::{Access, Operand, Order, ordered, with_order};
use crate::relay::Relay;
use crate::software::Kept;
use crate::stream::Stream;

/// How many words the pattern has that is sent. Links break by the packet; this is many.
const WORDS: usize = 1 << 14;

/// What a device knows of its way to another one.
pub(crate) struct PeerLink {
    /// Whether kernels of this device may access the other one's memory.
    pub(crate) enabled: AtomicBool,
    /// Of two devices, the one with the lower index knows this for both.
    verdict: TryOnce<Verdict>,
}

/// What a test of the way between two devices found.
enum Verdict {
    Sound,
    /// What is sent arrives as something else. Copies take the relays: from the device with the
    /// lower index to the other, and back.
    Lying([Relay; 2]),
}

impl PeerLink {
    /// Tells of what is kept for copies that take the way through the host.
    pub(crate) fn tell_kept(&self, tell: &mut dyn FnMut(Kept)) {
        if let Some(Verdict::Lying(relays)) = self.verdict.get() {
            relays.iter().for_each(|relay| relay.tell_kept(tell));
        }
    }

    pub(crate) const fn new() -> PeerLink {
        PeerLink { enabled: AtomicBool::new(false), verdict: TryOnce::new() }
    }
}

/// Whether the way between two devices was tested.
pub(crate) fn is_tested(one: Device, other: Device) -> bool {
    link(one, other).verdict.get().is_some()
}

/// Whether the way between two devices can be trusted, in both directions. The first call sends a
/// pattern each way, and blocks until it has arrived.
pub(crate) fn is_sound(one: Device, other: Device) -> Result<bool> {
    let verdict = link(one, other).verdict.get_or_try_init(|| test(one.min(other), one.max(other)));
    verdict.map(|verdict| matches!(verdict, Verdict::Sound))
}

/// The way that copies from one device to another must take, if it is not the direct one.
#[inline]
pub(crate) fn relay(from: Device, to: Device) -> Option<&'static Relay> {
    match link(from, to).verdict.get()? {
        Verdict::Sound => None,
        Verdict::Lying(relays) => Some(&relays[usize::from(from > to)]),
    }
}

fn link(one: Device, other: Device) -> &'static PeerLink {
    &one.min(other).state().links[one.max(other).index()]
}

fn test(lower: Device, upper: Device) -> Result<Verdict> {
    let sound = with_order(Order::Automatic, || {
        Ok::<_, crate::Error>(delivers(lower, upper)? && delivers(upper, lower)?)
    })?;
    if sound {
        return Ok(Verdict::Sound);
    }
    tracing::warn!(
        %lower,
        %upper,
        "what one of the two devices sends to the other arrives as something else: copies between \
         them go through the host from now on, and neither gets access to the other's memory"
    );
    Ok(Verdict::Lying([Relay::new(lower, upper)?, Relay::new(upper, lower)?]))
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
        [Operand::new(sent.uses(), Access::Read), Operand::new(received.uses(), Access::Write)];
    ordered(&receiver, &uses, || {
        // SAFETY: both buffers free their memory only when their uses are over.
        unsafe {
            receiver.enqueue_peer_directly(received.ptr(), to, sent.ptr(), from, sent.bytes())
        }
    })?;
    Ok(receiver.copy_dtoh(&received)?.wait()? == pattern)
}
