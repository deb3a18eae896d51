//! How the devices of a group reach each other.

use tensor::{Device, Error, Result, cuda};

use crate::plan::Links;

/// Gives devices access to each other's memory, where the machine lets them.
///
/// # Errors
/// A device does not exist or cannot be used.
pub(super) fn connect(devices: &[Device]) -> Result<Links> {
    let mut links = Links::Direct;
    for &one in devices {
        for &other in devices.iter().filter(|&&other| other != one) {
            if !is_connected(one, other)? {
                links = Links::Host;
            }
        }
    }
    Ok(links)
}

/// Whether a device reaches another one's memory, which it may from here on.
fn is_connected(one: Device, other: Device) -> Result<bool> {
    if !cuda::can_device_access_peer(one, other)? {
        return Ok(false);
    }
    match cuda::enable_peer_access(one, other) {
        Ok(()) => Ok(true),
        Err(Error::Runtime(
            gpu_runtime::Error::PeerLinkCorrupt { .. }
            | gpu_runtime::Error::PeerAccessUnsupported { .. },
        )) => Ok(false),
        Err(error) => Err(error),
    }
}
